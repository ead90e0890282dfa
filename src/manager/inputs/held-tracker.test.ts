import { describe, expect, it, onTestFinished } from 'vitest'
import { configMaps, crds, deployments, embedded } from '../../../test/embedded.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import { seededRandom } from '../../clock/random.ts'
import type { VirtualClock } from '../../clock/virtual-clock.ts'
import type { Client } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import { createHeldTracker, type HeldTracker } from './held-tracker.ts'

const label = 'example.com/holder'
const things: Resource = { group: 'example.org', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true }
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.org' },
  spec: {
    group: 'example.org',
    names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

interface Opened {
  readonly tracker: HeldTracker
  readonly client: Client
  readonly clock: VirtualClock
  readonly cache: SharedCache
  /** The keys woken by a changed object, and those woken by a changed kind. */
  readonly changes: string[][]
  readonly kinds: string[][]
  /** What is watched, beside CRDs. */
  readonly watched: () => readonly string[]
  /** Asks for these kinds on behalf of a key, as one reconcile. */
  readonly ask: (key: string, resources: readonly Resource[], hasFailed?: boolean) => Promise<void>
  readonly soon: <T>(promise: Promise<T>) => Promise<T>
}

function opened(change: (client: Client) => Client = (client) => client): Opened {
  const { client: own, clock } = embedded()
  const client = change(own)
  const cache = createSharedCache({ client, clock, random: seededRandom(1) })
  const changes: string[][] = []
  const kinds: string[][] = []
  const tracker = createHeldTracker({
    client,
    cache,
    clock,
    consumer: 'test',
    label,
    userOf: ({ namespace, name }) => `system:serviceaccount:${namespace}:${name}`,
    onChange: (_change, keys) => void changes.push([...keys]),
    onKind: (keys) => void kinds.push([...keys]),
  })
  onTestFinished(() => cache.close())
  const soon: Opened['soon'] = async (promise) => {
    let isOver = false
    const noting = promise.then(
      () => (isOver = true),
      () => (isOver = true),
    )
    await clock.until(() => isOver)
    await noting
    return await promise
  }
  return {
    tracker,
    client,
    clock,
    cache,
    changes,
    kinds,
    soon,
    watched: () =>
      cache
        .report()
        .map(({ resource }) => resource.plural)
        .filter((plural) => plural !== crds.plural)
        .toSorted(),
    async ask(key, resources, hasFailed = false) {
      const session = tracker.open(key)
      for (const resource of resources) {
        await soon(session.resourceOf(resource))
        await soon(session.list(resource, key, 'metadata'))
      }
      session.close(hasFailed)
    },
  }
}

const configMap = (name: string, holder: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', labels: { [label]: holder } },
})

describe('a kind', () => {
  it('is watched from the first question until the last key that asked is forgotten', async () => {
    const { ask, watched, tracker } = opened()
    expect(watched()).toEqual([])
    await ask('a', [configMaps])
    await ask('b', [configMaps, deployments])
    expect(watched()).toEqual(['configmaps', 'deployments'])
    tracker.forget('a')
    expect(watched()).toEqual(['configmaps', 'deployments'])
    tracker.forget('b')
    expect(watched()).toEqual([])
  })

  it('is watched no longer when a reconcile does not ask for it again, unless it failed', async () => {
    const { ask, watched } = opened()
    await ask('a', [configMaps, deployments])
    await ask('a', [configMaps], true)
    expect(watched()).toEqual(['configmaps', 'deployments'])
    await ask('a', [configMaps])
    expect(watched()).toEqual(['configmaps'])
  })

  it('whose CRD is deleted is watched no longer, and the keys that asked are told; likewise when it is back', async () => {
    const { ask, watched, client, clock, kinds } = opened()
    await client.create(crds, definition)
    await clock.advance(5000)
    await ask('a', [things])
    await ask('b', [configMaps])
    expect(watched()).toEqual(['configmaps', 'things'])
    kinds.length = 0
    await client.delete(crds, { name: 'things.example.org' })
    await clock.advance(5000)
    expect(watched()).toEqual(['configmaps'])
    expect(kinds.at(-1)).toEqual(['a'])
    kinds.length = 0
    await client.create(crds, definition)
    await clock.advance(5000)
    expect(kinds.at(-1)).toEqual(['a'])
    await ask('a', [things])
    expect(watched()).toEqual(['configmaps', 'things'])
  })
})

describe('discovery that lags behind a CRD', () => {
  const lagging = (isBehind: () => boolean) =>
    opened((client) => {
      const { discovery } = client
      const resources: typeof discovery.resources = async (limits) => {
        const all = await discovery.resources(limits)
        return isBehind() ? all.filter(({ group }) => group !== 'example.org') : all
      }
      return { ...client, discovery: { ...discovery, resources } }
    })

  it('wakes the keys that asked once more when it shows the kind, and is not asked for ever', async () => {
    let isBehind = true
    const { tracker, client, clock, kinds, soon } = lagging(() => isBehind)
    const served = async (): Promise<readonly string[]> => {
      const session = tracker.open('a')
      const answers = await soon(session.served(['example.org/v1']))
      session.close(false)
      return answers
    }
    expect(await served()).toEqual([])
    await client.create(crds, definition)
    await clock.advance(100)
    expect(await served()).toEqual([])
    kinds.length = 0
    await clock.advance(10_000)
    expect(kinds).toEqual([])
    isBehind = false
    await clock.advance(30_000)
    expect(kinds).toEqual([['a']])
    expect(await served()).toEqual(['example.org/v1'])

    isBehind = true
    await client.patch(crds, { name: 'things.example.org' }, { metadata: { labels: { a: 'b' } } }, { type: 'merge' })
    await clock.advance(120_000)
    kinds.length = 0
    isBehind = false
    await clock.advance(3_600_000)
    expect(kinds).toEqual([])
  })
})

describe('a changed object', () => {
  it('is reported to the keys of its holder alone, also when it changes its holder', async () => {
    const { ask, client, clock, changes } = opened()
    await ask('a', [configMaps])
    await ask('b', [configMaps])
    await client.create(configMaps, configMap('one', 'a'))
    await clock.advance(100)
    expect(changes).toEqual([['a']])
    await client.patch(configMaps, { name: 'one', namespace: 'default' }, configMap('one', 'b'), { type: 'merge' })
    await clock.advance(100)
    expect(changes.at(-1)?.toSorted()).toEqual(['a', 'b'])
  })
})

describe('a confirmation', () => {
  it('shows what the API server has, whether it is watched or not', async () => {
    const { tracker, client, soon, watched } = opened()
    await client.create(configMaps, configMap('one', 'a'))
    await client.create(configMaps, configMap('two', 'b'))
    const found = await soon(tracker.open('a').confirm(configMaps, 'a'))
    expect(found).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } }])
    expect(watched()).toEqual([])
  })
})

describe('after the end', () => {
  it('of a key, a reconcile of it that is still under way leaves no watch behind', async () => {
    const { tracker, watched, soon } = opened()
    const session = tracker.open('a')
    tracker.forget('a')
    await soon(session.list(configMaps, 'a', 'metadata'))
    session.close(true)
    expect(watched()).toEqual([])
  })

  it('of the tracker nothing is watched, and questions are refused', async () => {
    const { tracker, ask, cache, soon } = opened()
    await ask('a', [configMaps])
    const session = tracker.open('b')
    tracker.stop()
    expect(cache.report()).toEqual([])
    await expect(soon(session.list(configMaps, 'b', 'metadata'))).rejects.toThrow('it is stopped')
    await expect(soon(session.resourceOf(deployments))).rejects.toThrow('it is stopped')
    session.close(false)
    expect(cache.report()).toEqual([])
  })
})

describe('objects by any author', () => {
  it('are read from the API server, one or page by page, and nothing is watched', async () => {
    const { tracker, client, watched, soon } = opened()
    for (const name of ['a', 'b', 'c']) await soon(client.create(configMaps, configMap(name, 'other')))
    const session = tracker.open('key')
    const found = await soon(session.read(configMaps, { name: 'a', namespace: 'default' }))
    expect(found?.metadata.name).toBe('a')
    expect(await soon(session.read(configMaps, { name: 'missing', namespace: 'default' }))).toBeUndefined()
    const first = await soon(session.page(configMaps, { namespace: 'default', limit: 2 }))
    const second = await soon(session.page(configMaps, { namespace: 'default', limit: 2, after: first.next }))
    expect([...first.items, ...second.items].map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c'])
    expect(second.next).toBeUndefined()
    expect(watched()).toEqual([])
  })

  it('are read on behalf of an account, within its rights', async () => {
    const { tracker, soon } = opened()
    const session = tracker.open('key')
    const as = { name: 'stranger', namespace: 'default' }
    await expect(soon(session.read(configMaps, { name: 'a', namespace: 'default' }, { as }))).rejects.toThrow(
      'system:serviceaccount:default:stranger',
    )
    await expect(soon(session.page(configMaps, { as }))).rejects.toThrow('system:serviceaccount:default:stranger')
  })
})
