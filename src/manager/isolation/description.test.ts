import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/errors.ts'
import { parseJson, stringifyJson } from '../../kube/json.ts'
import { defineConfig } from '../../operator/config.ts'
import { type Controller, defineController } from '../../operator/controller.ts'
import { integer } from '../../operator/field.ts'
import { describeInput, exactly, generated, labelled, referenced } from '../../operator/input.ts'
import { defineKind } from '../../operator/kind.ts'
import { ConfigMap, Deployment, Secret, Service } from '../../operator/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { inRole, placementRoleOf } from '../../operator/placement-role.ts'
import { defineDependent } from '../../operator/dependent.ts'
import { roleOf } from '../../operator/role.ts'
import { describeOperator, operatorFrom } from './description.ts'

const Thing = defineKind({
  group: 'told.example.com',
  version: 'v1',
  kind: 'Thing',
  spec: { size: integer({ default: 1 }) },
})

const resources = [
  defineDependent({ for: Thing, kind: ConfigMap, name: () => 'owned', fromCR: () => ({}) }),
  defineDependent({ for: Thing, kind: inRole(Deployment, 'management'), name: () => 'placed', fromCR: () => ({}) }),
]
const reads = [
  Secret,
  exactly(Service, { namespace: 'default', name: 'kubernetes' }),
  labelled(inRole(Service, 'userWorkload'), { namespace: 'shared', labels: { tier: 'db' } }),
  referenced(Secret, { from: Thing, namePath: '$.spec.secret', namespacePath: '$.metadata.namespace' }),
]
const writes = [generated(ConfigMap, { namespace: 'default', prefix: 'made-' })]

/** Every way to say something of oneself. */
const controllers: Readonly<Record<string, () => Controller>> = {
  'resources and inputs of every form': () => defineController({ for: Thing, resources, reads }),
  'precise outputs beside resources': () => defineController({ for: Thing, resources, writes }),
  'a reconcile of its own': () => defineController({ for: Thing, writes: [ConfigMap], reconcile: () => ({}) }),
  'a finalizer': () => defineController({ for: Thing, resources, finalize: () => undefined } as never),
  'one object alone': () =>
    defineController({ for: exactly(Thing, { namespace: 'default', name: 'only' }), resources }),
  'objects with a label': () => defineController({ for: labelled(Thing, { labels: { a: 'b' } }), resources }),
  'times of its own': () => defineController({ for: Thing, backOff: { firstMs: 7, mostMs: 77 }, timeoutMs: 777 }),
}

const nobody = (): Promise<never> => Promise.reject(new Error('nobody is asked'))

/** All that follows from a declaration. */
function consequences(operator: Operator): unknown {
  return {
    name: operator.name,
    inputs: operator.declaredInputs.map((input) => [describeInput(input), placementRoleOf(input.resource)]),
    outputs: operator.declaredOutputs.map((output) => [describeInput(output), placementRoleOf(output.resource)]),
    crds: operator.kinds.map((kind) => kind.crd()),
    role: roleOf(operator),
    config: operator.config?.read({}),
    controllers: operator.controllers.map(({ name, own, finalizes, reports, backOff, timeoutMs }) => [
      name,
      describeInput(own),
      finalizes,
      reports,
      backOff,
      timeoutMs,
    ]),
  }
}

describe('an operator as data', () => {
  it.each(Object.keys(controllers))('is the same at the other end: %s', (what) => {
    const operator = defineOperator({
      name: 'told',
      controllers: [controllers[what]!()],
      config: defineConfig({ replicas: integer({ default: 3 }) }),
    })
    const there = operatorFrom(parseJson(stringifyJson(describeOperator(operator))), nobody)
    expect(consequences(there)).toEqual(consequences(operator))
  })

  it('is refused, and never by accident, when it makes no sense', () => {
    const fine = parseJson(
      stringifyJson(describeOperator(defineOperator({ name: 'told', controllers: [controllers['a finalizer']!()] }))),
    ) as { readonly controllers: readonly object[] }
    const crooked = fc.oneof(
      fc.jsonValue(),
      fc.record(members(fine), { requiredKeys: [] }),
      fc
        .record(members(fine.controllers[0]!), { requiredKeys: [] })
        .map((controller) => ({ name: 'told', controllers: [controller] })),
    )
    fc.assert(
      fc.property(crooked, (told) => {
        expect(['operator', 'InvalidController']).toContain(whatIsMadeOf(told))
      }),
    )
  })
})

function whatIsMadeOf(told: unknown): string {
  try {
    return operatorFrom(told, nobody).controllers.length > 0 ? 'operator' : 'nothing'
  } catch (error) {
    return isMusterError(error) ? error.name : String(error)
  }
}

/** Each member as it should be, or anything. */
function members(object: object): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, fc.oneof(fc.constant(value), fc.jsonValue())]),
  )
}
