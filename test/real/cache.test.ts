/** The shared cache on a real kube-apiserver: restarts, compaction, silence and older data, with nothing lost. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSharedCache, type SharedCache } from '../../src/cache/shared-cache.ts'
import type { CacheEvent, Subscription } from '../../src/cache/subscription.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import type { Resource } from '../../src/kube/kind.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { type Cluster, startCluster } from './cluster.ts'

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }
const namespace = 'default'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const configMap = (name: string, data: Readonly<Record<string, string>>, labels = { suite: 'cache' }): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels },
  data,
})

/** Waits for an event or a state, asked for at every event and freshness report. */
interface Observer {
  readonly subscription: Subscription<ConfigMap>
  readonly events: CacheEvent<ConfigMap>[]
  until(done: () => boolean): Promise<void>
}

function observe(cache: SharedCache, consumer: string, labels = 'suite=cache'): Observer {
  const events: CacheEvent<ConfigMap>[] = []
  const waiting = new Set<() => void>()
  const look = (): void => {
    for (const one of waiting) one()
  }
  const subscription = cache.subscribe<ConfigMap>(configMaps, {
    consumer,
    labels,
    onEvent(event) {
      events.push(event)
      look()
    },
    onFreshness: look,
  })
  const until = (done: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!done()) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
  return { subscription, events, until }
}

let cluster: Cluster
let client: Client

beforeAll(async () => {
  cluster = await startCluster()
  const connection = await connectionFromKubeconfig(cluster.access.kubeconfig)
  client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
}, 120_000)

afterAll(async () => {
  await client?.close()
  await cluster?.stop()
})

/** Quick to notice, so that the suite is quick too. */
const reflector = { idleMs: 5000, answerMs: 5000, backoff: { firstMs: 100, maxMs: 1000 } }

async function truth(): Promise<readonly string[]> {
  const { items } = await client.list<ConfigMap>(configMaps, { namespace, labelSelector: 'suite=cache' })
  return items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()
}

const seen = ({ subscription }: Observer): readonly string[] =>
  subscription
    .list()
    .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
    .toSorted()

/** The objects as a consumer knows them from the events alone. */
const believed = ({ events }: Observer): readonly string[] => {
  const known = new Map<string, ConfigMap>()
  for (const { type, object } of events) {
    if (type === 'deleted') known.delete(object.metadata.name!)
    else known.set(object.metadata.name!, object)
  }
  return [...known.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted()
}

describe('the shared cache on a real server', () => {
  it('streams the initial list, follows changes, and reads own writes', { timeout: 60_000 }, async () => {
    await client.create(configMaps, configMap('first', { v: '1' }))
    const cache = createSharedCache({ client, reflector })
    const mine = observe(cache, 'me')
    const theirs = observe(cache, 'you')
    await mine.subscription.synced({ timeoutMs: 20_000 })
    const writer = cache.writer('me')
    const ref = { namespace, name: 'second' }
    await writer.create(configMaps, configMap('second', { v: '1' }))
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '1' })
    await writer.patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '2' })
    const object = { ...configMap('second', { v: '3' }), metadata: { name: 'second', namespace } }
    await writer.apply(configMaps, object, { fieldManager: 'me', force: true })
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '3' })
    // A change by another client: once its event arrives, all earlier events have arrived.
    await client.patch(configMaps, ref, { data: { foreign: 'yes' } }, { type: 'merge' })
    await mine.until(() => mine.subscription.get(ref)?.data?.['foreign'] === 'yes')
    expect(
      mine.events.filter(({ object: { metadata } }) => metadata.name === 'second').map(({ type }) => type),
    ).toEqual(['updated'])
    const held = (finalizers: readonly string[]) =>
      writer.patch(configMaps, ref, { metadata: { finalizers } }, { type: 'merge' })
    await held(['example.com/held'])
    await writer.delete(configMaps, ref)
    expect(mine.subscription.get(ref)?.metadata.deletionTimestamp).toBeDefined()
    await held([])
    expect(mine.subscription.get(ref)).toBeUndefined()
    expect(believed(theirs)).toEqual(await truth())
    cache.close()
  })

  it('survives kills, restarts, compaction and silence of the server', { timeout: 180_000 }, async () => {
    const cache = createSharedCache({ client, reflector })
    const watcher = observe(cache, 'watcher')
    await watcher.subscription.synced({ timeoutMs: 20_000 })
    const isTrue = async (): Promise<void> => {
      const now = await truth()
      await watcher.until(() => seen(watcher).join() === now.join())
      expect(believed(watcher)).toEqual(now)
    }
    await client.create(configMaps, configMap('steady', { v: '0' }))
    await client.create(configMaps, configMap('victim', { v: '0' }))
    await isTrue()

    await cluster.restart('kill')
    await client.patch(configMaps, { namespace, name: 'steady' }, { data: { v: '1' } }, { type: 'merge' })
    await isTrue()

    await client.delete(configMaps, { namespace, name: 'victim' })
    await cluster.compact()
    await cluster.restart('gracefully')
    await client.create(configMaps, configMap('newcomer', { v: '0' }))
    await isTrue()

    await cluster.pause()
    await watcher.until(() => watcher.subscription.freshness.state === 'stale')
    cluster.resume()
    await client.patch(configMaps, { namespace, name: 'steady' }, { data: { v: '2' } }, { type: 'merge' })
    await isTrue()
    cache.close()
  })

  it('accepts the older data of a restored server', { timeout: 180_000 }, async () => {
    const cache = createSharedCache({ client, reflector })
    const snapshot = await cluster.snapshot()
    const watcher = observe(cache, 'watcher')
    await watcher.subscription.synced({ timeoutMs: 60_000 })
    for (let i = 0; i < 20; i++) await cache.writer('watcher').create(configMaps, configMap(`lost-${i}`, { v: '0' }))
    expect(seen(watcher)).toEqual(await truth())
    await cluster.restore(snapshot)
    const older = await truth()
    expect(older.some((line) => line.startsWith('lost-'))).toBe(false)
    await watcher.until(() => seen(watcher).join() === older.join())
    await client.create(configMaps, configMap('after', { v: '0' }))
    const now = await truth()
    await watcher.until(() => seen(watcher).join() === now.join())
    cache.close()
  })
})
