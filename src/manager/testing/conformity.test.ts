/** An author who desires a field that its kind does not have reads which one, where, and what was meant. */
import { describe, expect, it } from 'vitest'
import {
  App as AppKind,
  app,
  type AppController,
  conditionsOf,
  since,
  openAppEnvironment,
} from '../../../test/app-operator.ts'
import { integer, optional } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import { defineDependent, type DependentOverlay } from '../../operator/dependent/dependent.ts'

const Gadget = defineKind({
  group: 'test.example.com',
  version: 'v1',
  kind: 'Gadget',
  spec: { count: optional(integer()) },
})

/** What a compiler would refuse: authors write YAML, JavaScript, and objects of unknown type. */
function loose<T>(value: object): DependentOverlay<T> {
  return value as DependentOverlay<T>
}

const selector = { matchLabels: { app: 'a' } }
const podSpec = (container: object): object => ({
  spec: { selector, template: { metadata: { labels: { app: 'a' } }, spec: { containers: [container] } } },
})
const deployment = (options: object): AppController => ({
  dependents: [defineDependent({ for: AppKind, kind: Deployment, ...options })],
})

const mistakes: readonly (readonly [string, AppController, string])[] = [
  [
    'initial as YAML',
    deployment({ initial: 'spec: { replica: 3 }' }),
    'Dependent deployment, in initial: Deployment of apps/v1 has no field spec.replica. Did you mean "replicas"?',
  ],
  [
    'fromCR, in an item of a keyed list',
    deployment({ fromCR: () => podSpec({ name: 'app', imge: 'app:1' }) }),
    'Dependent deployment, in fromCR: Deployment of apps/v1 has no field spec.template.spec.containers[name="app"].imge. Did you mean "image"?',
  ],
  [
    'metadata',
    deployment({ initial: { metadata: { label: { a: 'b' } } } }),
    'Deployment of apps/v1 has no field metadata.label. Did you mean "labels"?',
  ],
  [
    'a value of another type',
    deployment({ initial: { spec: { replicas: '3' } } }),
    'Dependent deployment, in initial: spec.replicas: expected numeric (int or float), got string.',
  ],
  [
    'several at once',
    deployment({ initial: { spec: { replica: 3, pause: true }, sepc: {} } }),
    'has no field spec.pause. Did you mean "paused"? Deployment of apps/v1 has no field sepc. Did you mean "spec"?',
  ],
  [
    'a scope',
    deployment({ initial: podSpec({ name: 'app', image: 'app:1' }), scope: { except: ['spec.replica'] } }),
    'Dependent deployment, in scope: Deployment of apps/v1 has no field spec.replica. Did you mean "replicas"?',
  ],
  [
    'a custom kind',
    { dependents: [defineDependent({ for: AppKind, kind: Gadget, initial: loose({ spec: { cuont: 1 } }) })] },
    'Dependent gadget, in initial: Gadget of test.example.com/v1 has no field spec.cuont. Did you mean "count"?',
  ],
  [
    'an object of a free-style controller',
    {
      writes: [ConfigMap],
      reconcile: () => ({
        objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' }, dta: {} }],
      }),
    },
    'Dependent ConfigMap/b, in initial: ConfigMap of v1 has no field dta. Did you mean "data"?',
  ],
  [
    'an object that a step desires',
    {
      dependents: [defineDependent({ for: AppKind, kind: ConfigMap, initial: { data: { a: 'b' } } })],
      steps: {
        Mutator: async (context, next) => {
          await next()
          const { wanted, want } = context
          want('configMap', { ...wanted.get('configMap')!, dta: {} })
        },
      },
    },
    'Dependent configMap, in want(): ConfigMap of v1 has no field dta. Did you mean "data"?',
  ],
]

describe('a field that a kind does not have', () => {
  it.each(mistakes)('is reported to the author: %s', async (_, controller, message) => {
    const testEnv = await openAppEnvironment(controller)
    await testEnv.create(AppKind, app('a'))
    await testEnv.settle()
    const { Reconciled } = await conditionsOf(testEnv.client, 'a')
    expect(Reconciled).toMatchObject({ status: 'False', reason: 'InvalidDependent' })
    expect(Reconciled?.message).toContain(message)
    const { writes } = since(testEnv)
    await testEnv.settle(60_000)
    expect(writes()).toEqual([])
    await testEnv.close()
  })

  const misspelt: object = { sean: 'x' }
  const reports: readonly (readonly [string, AppController])[] = [
    ['status()', { status: () => misspelt }],
    ['reconcile()', { reconcile: () => ({ status: misspelt }) }],
  ]
  it.each(reports)(
    'is reported for a status as well, in the conditions that are still written: %s',
    async (_, controller) => {
      const testEnv = await openAppEnvironment(controller)
      await testEnv.create(AppKind, app('a'))
      await testEnv.settle()
      const { Reconciled } = await conditionsOf(testEnv.client, 'a')
      expect(Reconciled).toMatchObject({ status: 'False', reason: 'InvalidController' })
      expect(Reconciled?.message).toContain(
        'in its status: App of test.example.com/v1 has no field status.sean. Did you mean "seen"?',
      )
      await testEnv.close()
    },
  )
})
