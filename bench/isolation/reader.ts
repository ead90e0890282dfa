/** An operator that reads as often as its CR says and writes nothing: the rest is the cost of reading. */
import { defineController } from '../../src/operator/controller.ts'
import { type Field, integer } from '../../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../../src/operator/kind/kind.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { defineOperator, type Operator } from '../../src/operator/operator.ts'

type Spec = { readonly reads: Field<number, number, 'defaulted'> }

const Reader: Kind<Spec> = defineKind<Spec>({
  group: 'bench.example.com',
  version: 'v1',
  kind: 'Reader',
  spec: { reads: integer({ default: 0 }) },
})

export const operator: Operator = defineOperator({
  name: 'reader',
  controllers: [
    defineController({
      for: Reader,
      reads: [ConfigMap],
      reconcile({ cr, view }) {
        for (let i = 0; i < cr.spec.reads; i++) view.get(ConfigMap, { namespace: 'default', name: `n${i}` })
        return {}
      },
    }),
  ],
})
