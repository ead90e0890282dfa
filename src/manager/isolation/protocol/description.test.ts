import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../../kube/muster-error.ts'
import { parseJson, stringifyJson } from '../../../kube/json.ts'
import { defineConfig } from '../../../operator/config.ts'
import { type Controller, defineController } from '../../../operator/controller.ts'
import { integer } from '../../../operator/kind/field.ts'
import { describeInput, exactly, generated, labelled, referenced } from '../../../operator/view/input.ts'
import { fields } from '../../../operator/view/projected-input.ts'
import { defineKind } from '../../../operator/kind/kind.ts'
import { ConfigMap, Deployment, Namespace, Pod, Secret, Service } from '../../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../../operator/operator.ts'
import { inRole, placementRoleOf } from '../../../operator/placement-role.ts'
import { defineDependent } from '../../../operator/dependent/dependent.ts'
import { roleOf } from '../../../operator/role.ts'
import { defineCoordinator } from '../../../operator/coordinator/coordinator.ts'
import { defineTask } from '../../../operator/task/task.ts'
import { describeOperator, operatorFrom } from './description.ts'

const Thing = defineKind({
  group: 'told.example.com',
  version: 'v1',
  kind: 'Thing',
  spec: { size: integer({ default: 1 }) },
})

const dependents = [
  defineDependent({ for: Thing, kind: ConfigMap, name: () => 'owned', fromCR: () => ({}) }),
  defineDependent({ for: Thing, kind: inRole(Deployment, 'management'), name: () => 'placed', fromCR: () => ({}) }),
]
const reads = [
  Secret,
  exactly(Service, { namespace: 'default', name: 'kubernetes' }),
  labelled(inRole(Service, 'userWorkload'), { namespace: 'shared', labels: { tier: 'db' } }),
  referenced(Secret, { from: Thing, namePath: '$.spec.secret', namespacePath: '$.metadata.namespace' }),
  fields(Pod, ['spec.nodeName', 'status.phase']),
  fields(labelled(Namespace, { labels: { a: 'b' } }), []),
]
const writes = [generated(ConfigMap, { namespace: 'default', prefix: 'made-' })]

/** Every way to say something of oneself. */
const controllers: Readonly<Record<string, () => Controller>> = {
  'dependents and inputs of every form': () => defineController({ for: Thing, dependents, reads }),
  'precise outputs beside dependents': () => defineController({ for: Thing, dependents, writes }),
  'a reconcile of its own': () => defineController({ for: Thing, writes: [ConfigMap], reconcile: () => ({}) }),
  'a finalizer': () => defineController({ for: Thing, dependents, finalize: () => undefined } as never),
  'one object alone': () =>
    defineController({ for: exactly(Thing, { namespace: 'default', name: 'only' }), dependents }),
  'objects with a label': () => defineController({ for: labelled(Thing, { labels: { a: 'b' } }), dependents }),
  'times of its own': () => defineController({ for: Thing, backOff: { firstMs: 7, mostMs: 77 }, timeoutMs: 777 }),
}

const neverAsked = (): Promise<never> => Promise.reject(new Error('nobody is asked'))

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
  it.each(Object.keys(controllers))('round-trips: %s', (what) => {
    const operator = defineOperator({
      name: 'told',
      controllers: [controllers[what]!()],
      config: defineConfig({ replicas: integer({ default: 3 }) }),
    })
    const there = operatorFrom(parseJson(stringifyJson(describeOperator(operator))), neverAsked)
    expect(consequences(there)).toEqual(consequences(operator))
  })

  it('is rejected with a clear error when it is invalid', () => {
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
    return operatorFrom(told, neverAsked).controllers.length > 0 ? 'operator' : 'nothing'
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

it('refuses an operator with a coordinator, and says why and what to do', () => {
  const parts = { start: () => ({}), take: () => undefined, decide: () => ({ decisions: [] }) }
  const queue = defineCoordinator({ name: 'queue', reads: [Thing], ...parts })
  const controller = defineController({ for: Thing, coordinators: [queue], reconcile: () => ({}) })
  expect(() => describeOperator(defineOperator({ name: 'queueing', controllers: [controller] }))).toThrow(
    "Operator queueing has the coordinator queue: coordinators run in the manager's process. Set isolation: inline for it.",
  )
})

it('refuses an operator with a task, and says why and what to do', () => {
  const task = defineTask({ name: 'example.com/fetch', run: () => null })
  const operator = defineOperator({ name: 'fetching', controllers: [defineController({ for: Thing, tasks: [task] })] })
  expect(() => describeOperator(operator)).toThrow(
    "Operator fetching has the task example.com/fetch: tasks run in the manager's process. Set isolation: inline for it.",
  )
})
