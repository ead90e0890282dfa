/** An operator whose webhooks and conversions do what the object tells them, however bad: for tests. */
import { invalidValue } from '../../../kube/validation/cause.ts'
import { defineController } from '../../../operator/controller.ts'
import { defineConversion } from '../../../operator/kind/conversion.ts'
import { integer, optional, string } from '../../../operator/kind/field.ts'
import { defineKind } from '../../../operator/kind/kind.ts'
import { defineOperator, type Operator } from '../../../operator/operator.ts'
import { defineWebhook } from '../../../operator/kind/webhook.ts'

const before = { version: 'v1beta1', spec: { amount: integer({ default: 0 }), how: optional(string()) } }
const Gate = defineKind({
  group: 'test.example.com',
  version: 'v1',
  kind: 'Gate',
  spec: { size: integer({ default: 0 }), how: optional(string()) },
  otherVersions: [before],
})

function misbehave(how: string | undefined): void {
  if (how === 'spin') for (;;);
  if (how === 'throw') throw new RangeError('on purpose')
}

export const operator: Operator = defineOperator({
  name: 'misbehaving-webhooks',
  controllers: [defineController({ for: Gate })],
  webhooks: [
    defineWebhook({
      for: Gate,
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      timeoutSeconds: 7,
      matchConditions: [{ name: 'own', expression: 'true' }],
      objectSelector: { matchLabels: { asked: 'yes' } },
      validate({ object, old, operation, user, now, ...rest }) {
        misbehave(object.spec.how)
        if (object.spec.how === 'nonsense') return 'well' as never
        const seen = JSON.stringify({ operation, old: old?.spec.size, user: [...user.extra], now, ...rest })
        const refusals = object.spec.size > 10 ? [invalidValue('spec.size', object.spec.size, 'is too much')] : []
        return { refusals, warnings: [seen] }
      },
      mutate({ object }) {
        if (object.spec.how === 'rename') return { ...object, metadata: { ...object.metadata, name: 'other' } }
        if (object.spec.size === 0) return undefined
        return { ...object, metadata: { ...object.metadata, labels: { size: String(object.spec.size) } } }
      },
    }),
  ],
  conversions: [
    defineConversion(Gate, before, {
      toStored({ spec }) {
        misbehave(spec.how)
        return { spec: { ...spec, size: spec.amount } }
      },
      fromStored: ({ spec, metadata }) => ({
        spec: { ...spec, amount: spec.size },
        metadata: { ...metadata, uid: 'another', annotations: { stored: 'v1' } },
      }),
    }),
  ],
})
