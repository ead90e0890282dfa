import { describe, expect, it, onTestFinished } from 'vitest'
import { type AppController, app, App, openAppEnvironment } from '../../../test/app-operator.ts'
import { configMap, crds, embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { ConfigMap, Pod, Secret } from '../../kube/kinds.ts'
import { type Controller, defineController } from '../../operator/controller.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { defineOperator } from '../../operator/operator.ts'
import { labelled } from '../../operator/view/input.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { hostOperator } from '../hosting/host.ts'
import type { TestEnvironment } from './test-environment.ts'

async function opened(options: AppController): Promise<TestEnvironment> {
  const environment = await openAppEnvironment(options)
  onTestFinished(() => environment.close())
  return environment
}

const at = { name: 'p', namespace: 'default' }
const pod = (labels: Readonly<Record<string, string>> = {}): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...at, labels },
  spec: { nodeName: 'one', containers: [{ name: 'a', image: 'i:1', env: [{ name: 'E', value: '1' }] }] },
})

describe('a controller that reads some fields', () => {
  it('sees these and metadata, and is woken by their changes only', async () => {
    const seen: unknown[] = []
    const environment = await opened({
      reads: [fields(Pod, ['spec.nodeName', 'spec.containers.image', 'status.phase'])],
      check: ({ view }) => void seen.push(view.get(Pod, at)),
    })
    await environment.create(Pod, pod())
    await environment.create(App, app('a'))
    await environment.settle()
    expect(seen).toMatchObject([
      { apiVersion: 'v1', kind: 'Pod', metadata: { ...at, uid: expect.any(String) as string } },
    ])
    const { metadata, ...rest } = seen[0] as UntypedObject
    expect(rest).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      spec: { nodeName: 'one', containers: [{ image: 'i:1' }] },
      status: { phase: 'Pending' },
    })
    expect(metadata).not.toHaveProperty('managedFields')

    const { client } = environment
    const merge = { type: 'merge' } as const
    const status = { ...merge, subresource: 'status' }
    await client.patch(Pod, at, { status: { message: 'not asked for' } }, status)
    await client.patch(Pod, at, { spec: { activeDeadlineSeconds: 100 } }, merge)
    await environment.settle()
    expect(seen).toHaveLength(1)
    await client.patch(Pod, at, { status: { phase: 'Running' } }, status)
    await environment.settle()
    expect(seen).toHaveLength(2)
    await client.patch(Pod, at, { metadata: { annotations: { note: 'x' } } }, merge)
    await environment.settle()
    expect(seen).toHaveLength(3)
    expect(seen[2]).toMatchObject({ metadata: { annotations: { note: 'x' } }, status: { phase: 'Running' } })
  })

  it('sees no more than metadata without fields', async () => {
    const seen: unknown[] = []
    const helm = labelled(Secret, { labels: { owner: 'helm' } })
    const environment = await opened({
      reads: [fields(helm, [])],
      check: ({ view }) => void seen.push(...view.list(Secret)),
    })
    await environment.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'release', namespace: 'default', labels: { owner: 'helm' } },
      data: { release: 'eA==' },
    })
    await environment.create(App, app('a'))
    await environment.settle()
    expect(seen).toMatchObject([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'release' } }])
    expect(seen[0]).not.toHaveProperty('data')
    expect(seen[0]).not.toHaveProperty('type')
    await environment.client.patch(
      Secret,
      { name: 'release', namespace: 'default' },
      { data: { more: 'eA==' } },
      { type: 'merge' },
    )
    await environment.settle()
    expect(seen).toHaveLength(1)
  })

  it('sees its own dependents whole', async () => {
    const seen: unknown[] = []
    const dependent = defineDependent({
      for: App,
      kind: ConfigMap,
      fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }),
    })
    const environment = await opened({
      dependents: [dependent],
      reads: [fields(ConfigMap, [])],
      status: ({ view }) => {
        seen.length = 0
        seen.push(...view.list(ConfigMap).map(({ metadata: { name }, data }) => [name, data]))
        return {}
      },
    })
    await environment.create(ConfigMap, configMap('other', { color: 'red' }))
    await environment.create(App, app('a', { text: 'first' }))
    await environment.settle()
    expect(Object.fromEntries(seen as [string, unknown][])).toMatchObject({ a: { text: 'first' }, other: undefined })
  })

  it('compares a dependent that has lost its label with the whole object', async () => {
    const dependent = defineDependent({
      for: App,
      kind: ConfigMap,
      fromCR: ({ cr }) => ({ data: { text: cr.spec.text } }),
    })
    const environment = await opened({ dependents: [dependent], reads: [fields(ConfigMap, [])] })
    const { client } = environment
    const name = { name: 'a', namespace: 'default' }
    await environment.create(App, app('a', { text: 'first' }))
    await environment.settle()
    const label = 'app.kubernetes.io/managed-by'
    await client.patch(ConfigMap, name, { metadata: { labels: { [label]: null } } }, { type: 'merge' })
    await environment.settle()
    const found = await client.get(ConfigMap, name)
    expect(found).toMatchObject({ metadata: { labels: { [label]: 'kit' } }, data: { text: 'first' } })
    const written = environment.writes.length
    await environment.settle()
    expect(environment.writes).toHaveLength(written)
  })
})

describe('two controllers that read different fields of a kind', () => {
  it('share one watch, and each sees its own fields', async () => {
    const { clock, client } = embedded()
    await client.create(crds, App.crd() as unknown as UntypedObject)
    await client.create(App, app('a'))
    await client.create(Pod, pod())
    const seen = new Map<string, unknown>()
    const reader = (name: string, paths: readonly ('spec.nodeName' | 'status.phase')[]) =>
      defineController({
        for: App,
        name,
        reads: [fields(Pod, paths)],
        check: ({ view }) =>
          void seen.set(
            name,
            view.list(Pod).map(({ spec, status }) => ({ spec, status })),
          ),
      })
    const one = reader('one', ['spec.nodeName'])
    const two = reader('two', ['status.phase'])
    const whole = defineController({
      for: App,
      name: 'whole',
      reads: [Pod],
      check: ({ view }) =>
        void seen.set(
          'whole',
          view.list(Pod).map(({ spec }) => spec?.containers.length),
        ),
    })
    const cache = createSharedCache({ client, clock })
    const podWatches = (): readonly unknown[] =>
      cache
        .report()
        .filter(({ resource }) => resource.plural === 'pods')
        .map(({ cover, watches }) => [watches, cover])
    const start = async (operator: string, controller: Controller<App>): Promise<void> => {
      const host = hostOperator({
        operator: defineOperator({ name: operator, controllers: [controller] }),
        client,
        cache,
        clock,
      })
      let isStarted = false
      void host.start().then(() => (isStarted = true))
      await clock.until(() => isStarted)
      await clock.advance(1000)
      onTestFinished(() => host.stop())
    }
    await start('first', one)
    await start('second', two)
    expect(podWatches()).toEqual([[1, '*[][] spec.nodeName,status.phase']])
    expect(seen.get('one')).toEqual([{ spec: { nodeName: 'one' }, status: undefined }])
    expect(seen.get('two')).toEqual([{ spec: undefined, status: { phase: 'Pending' } }])
    await start('third', whole)
    expect(podWatches()).toEqual([[1, '*[][] full']])
    expect(seen.get('whole')).toEqual([1])
    await client.patch(Pod, at, { metadata: { labels: { x: 'y' } } }, { type: 'merge' })
    await clock.advance(1000)
    expect(seen.get('one')).toEqual([{ spec: { nodeName: 'one' }, status: undefined }])
    expect(seen.get('two')).toEqual([{ spec: undefined, status: { phase: 'Pending' } }])
  })
})
