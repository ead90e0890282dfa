import { describe, expect, it } from 'vitest'
import { hostileServer, type HostileServer, type Thing } from '../../test/hostile-server.ts'
import { seededRandom } from '../clock/random.ts'
import { type VirtualClock, virtualClock } from '../clock/virtual-clock.ts'
import { createClient } from '../client/create-client.ts'
import { inProcessTransport } from '../client/in-process.ts'
import type { Resource } from '../kube/kind.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import type { CacheEvent, ConsumerProblem, SubscribeOptions, Subscription } from './subscription.ts'
import { mostWatches } from './watch-plan.ts'

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

interface Bench {
  readonly clock: VirtualClock
  readonly server: HostileServer
  readonly cache: SharedCache
  readonly problems: ConsumerProblem[]
}

function bench(): Bench {
  const clock = virtualClock()
  const server = hostileServer({ clock })
  const client = createClient({ transport: inProcessTransport(server), clock, random: seededRandom(1) })
  const problems: ConsumerProblem[] = []
  const cache = createSharedCache({
    client,
    clock,
    random: seededRandom(2),
    onProblem: (problem) => problems.push(problem),
  })
  return { clock, server, cache, problems }
}

interface Watcher {
  readonly subscription: Subscription<Thing>
  /** `added a`, `updated a`, `deleted a` since it was last emptied. */
  readonly events: string[]
}

function watcher(cache: SharedCache, consumer: string, options: Partial<SubscribeOptions<Thing>> = {}): Watcher {
  const events: string[] = []
  const onEvent = ({ type, object }: CacheEvent<Thing>): void => void events.push(`${type} ${object.metadata.name}`)
  return { events, subscription: cache.subscribe<Thing>(configMaps, { consumer, onEvent, ...options }) }
}

const names = (things: readonly Thing[]): readonly string[] => things.map(({ metadata }) => metadata.name!).toSorted()

describe('subscribing', () => {
  it('shows what exists, then each change, in order', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const { subscription, events } = watcher(cache, 'one')
    expect(() => subscription.list()).toThrow('has not been listed')
    await clock.settle()
    await subscription.synced()
    server.put('b')
    server.put('a', { v: '2' })
    server.remove('b')
    await clock.settle()
    expect(events).toEqual(['added a', 'added b', 'updated a', 'deleted b'])
    expect(subscription.get({ namespace: 'default', name: 'a' })?.data).toEqual({ v: '2' })
    expect(names(subscription.list())).toEqual(['a'])
    expect(subscription.freshness.state).toBe('synced')
  })

  it('returns the same frozen object to every consumer', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const [one, two] = [watcher(cache, 'one').subscription, watcher(cache, 'two').subscription]
    await clock.settle()
    const ref = { namespace: 'default', name: 'a' }
    expect(one.get(ref)).toBe(two.get(ref))
    expect(Object.isFrozen(one.get(ref))).toBe(true)
    expect(Object.isFrozen(one.get(ref)!.data)).toBe(true)
    expect(one.get(ref)!.metadata.managedFields).toBeUndefined()
  })

  it('opens one watch for fifty consumers', async () => {
    const { clock, server, cache } = bench()
    server.put('a')
    const consumers = Array.from({ length: 50 }, (_, index) => watcher(cache, `c${index}`))
    await clock.settle()
    expect(server.watches).toHaveLength(1)
    for (const { events } of consumers) expect(events).toEqual(['added a'])
    for (const { subscription } of consumers) subscription.close()
    await clock.settle()
    expect(server.watches).toHaveLength(0)
    expect(cache.report()).toEqual([])
  })

  it('serves a later consumer from memory, without a request', async () => {
    const { clock, server, cache } = bench()
    server.put('a')
    watcher(cache, 'early')
    await clock.settle()
    const before = { ...server.requests }
    const late = watcher(cache, 'late')
    await late.subscription.synced()
    expect(late.events).toEqual(['added a'])
    expect(server.requests).toEqual(before)
  })

  it('pages where the server does not stream lists', async () => {
    const { clock, server, cache } = bench()
    server.streamsLists = false
    for (let i = 0; i < 1200; i++) server.put(`thing-${i}`)
    const { subscription } = watcher(cache, 'one')
    await clock.settle()
    await clock.settle()
    expect(subscription.list()).toHaveLength(1200)
    expect(server.requests.lists).toBe(3)
    server.put('more')
    await clock.settle()
    expect(subscription.list()).toHaveLength(1201)
  })

  it('contains errors of consumer callbacks, and reports them with the consumer', async () => {
    const { clock, server, cache, problems } = bench()
    server.put('a')
    watcher(cache, 'bad', {
      onEvent: () => {
        throw new Error('oops')
      },
      indexes: {
        broken: () => {
          throw new Error('no index')
        },
      },
    })
    const good = watcher(cache, 'good')
    await clock.settle()
    expect(good.events).toEqual(['added a'])
    expect(new Set(problems.map(({ consumer, where }) => `${consumer} ${where}`))).toEqual(
      new Set(['bad onEvent', 'bad index']),
    )
  })

  it('reports why it is not synced when waiting times out', async () => {
    const { clock, server, cache } = bench()
    server.fault = () => ({ kind: 'status', code: 403, reason: 'Forbidden' })
    const { subscription } = watcher(cache, 'one')
    const failure = subscription.synced({ timeoutMs: 10_000 }).catch((error: Error) => error.message)
    await clock.advance(10_000)
    expect(await failure).toMatch(/not synced after 10000 ms.*MUS1303/)
    server.fault = undefined
    await clock.advance(60_000)
    expect(subscription.freshness.state).toBe('synced')
  })

  it('fails reads and waits after it is closed', async () => {
    const { clock, cache } = bench()
    const { subscription } = watcher(cache, 'one')
    const failure = subscription.synced().catch((error: Error) => error.message)
    subscription.close()
    expect(await failure).toContain('closed while waiting')
    await clock.settle()
    expect(() => subscription.list()).toThrow('is closed')
    cache.close()
    expect(() => watcher(cache, 'late')).toThrow('the cache is closed')
  })
})

describe('watches', () => {
  it('is the smallest selector that covers all consumers, and follows their changes', async () => {
    const { clock, server, cache } = bench()
    server.put('web', {}, { labels: { app: 'web' } })
    server.put('db', {}, { labels: { app: 'db' } })
    server.put('other', {}, { labels: { app: 'other' } })
    const web = watcher(cache, 'web', { labels: 'app=web' })
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 1, watches: 1, cover: expect.stringContaining('app=web') })

    const db = watcher(cache, 'db', { labels: 'app=db' })
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 2, watches: 1 })
    expect(names(web.subscription.list())).toEqual(['web'])
    expect(names(db.subscription.list())).toEqual(['db'])
    expect(web.events).toEqual(['added web'])
    expect(db.events).toEqual(['added db'])

    web.subscription.close()
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 1, watches: 1, cover: expect.stringContaining('app=db') })
    expect(server.watches).toHaveLength(1)
  })

  it('is no wider than the subscriptions, and neither is the cache, where selections overlap', async () => {
    const { clock, server, cache } = bench()
    server.put('web', {}, { labels: { app: 'web' } })
    server.put('x', {}, { labels: { app: 'web' } })
    for (let i = 0; i < 10; i++) server.put(`beside-${i}`)
    const web = watcher(cache, 'web', { labels: 'app=web' })
    const x = watcher(cache, 'x', { namespaces: ['default'], fields: 'metadata.name=x' })
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({
      objects: 2,
      watches: 2,
      cover: '*[app=web][] full, default[][metadata.name=x] full',
      consumers: [{ objects: 2 }, { objects: 1 }],
    })
    const ref = { namespace: 'default', name: 'x' }
    expect(web.subscription.get(ref)).toBe(x.subscription.get(ref))
    // It leaves one selection, and stays in the other; and it comes back.
    server.put('x', {}, { labels: { app: 'db' } })
    await clock.settle()
    expect([names(web.subscription.list()), names(x.subscription.list())]).toEqual([['web'], ['x']])
    server.put('x', {}, { labels: { app: 'web' } })
    server.remove('x')
    await clock.settle()
    expect(web.events).toEqual(['added web', 'added x', 'deleted x', 'added x', 'deleted x'])
    expect(x.events).toEqual(['added x', 'updated x', 'updated x', 'deleted x'])
    web.subscription.close()
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 0, watches: 1, cover: 'default[][metadata.name=x] full' })
  })

  it('drops unselected objects on arrival, and selected ones when their last consumer leaves', async () => {
    const { clock, server, cache } = bench()
    for (const name of ['a-1', 'a-2', 'b-1', 'c-1']) server.put(name)
    const a = watcher(cache, 'a', { namePrefix: 'a-' })
    const b = watcher(cache, 'b', { namePrefix: 'b-' })
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 3, watches: 1 })
    server.put('c-2')
    server.put('b-2')
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 4, watches: 1 })
    const { lists, watches } = server.requests
    b.subscription.close()
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 2, watches: 1 })
    expect(server.requests).toMatchObject({ lists, watches })
    // What was dropped is not there to be shown to another: that takes a new list.
    const all = watcher(cache, 'all')
    await clock.settle()
    expect(names(all.subscription.list())).toEqual(['a-1', 'a-2', 'b-1', 'b-2', 'c-1', 'c-2'])
    expect(a.events).toEqual(['added a-1', 'added a-2'])
    expect(cache.report()[0]).toMatchObject({ objects: 6, watches: 1 })
  })

  it('is metadata only, where no consumer needs more, even if other objects are needed in full', async () => {
    const { clock, server, cache } = bench()
    for (const name of ['a', 'b']) server.put(name, { secret: name })
    const all = watcher(cache, 'all', { detail: 'metadata' })
    const one = watcher(cache, 'one', { namespaces: ['default'], fields: 'metadata.name=a' })
    await clock.settle()
    expect(all.subscription.get({ namespace: 'default', name: 'b' })?.data).toBeUndefined()
    expect(one.subscription.get({ namespace: 'default', name: 'a' })?.data).toEqual({ secret: 'a' })
  })

  it('moves a consumer to another watch only when that has caught up: it never sees an earlier state', async () => {
    const { clock, server, cache } = bench()
    server.put('web', {}, { labels: { app: 'web' } })
    const web = watcher(cache, 'web', { labels: 'app=web' })
    await clock.settle()
    const all = watcher(cache, 'all')
    const late = new Promise<void>((resolve) => {
      server.fault = ({ query }) => {
        if (query.get('labelSelector')) return undefined
        server.fault = undefined
        queueMicrotask(() => queueMicrotask(resolve))
        return undefined
      }
    })
    await late
    // The wide watch has been answered, but what it brought is on its way.
    const resume = server.watches.at(-1)?.delay()
    server.put('new', {}, { labels: { app: 'web' } })
    server.remove('web')
    await clock.settle()
    expect(web.events).toEqual(['added web', 'added new', 'deleted web'])
    resume?.()
    await clock.settle()
    expect(names(all.subscription.list())).toEqual(['new'])
    expect(web.events).toEqual(['added web', 'added new', 'deleted web'])
    await clock.advance(61_000)
    expect(server.watches).toHaveLength(1)
  })

  it('is what the account may read: a forbidden watch does not affect other consumers', async () => {
    const { clock, server, cache } = bench()
    server.put('x')
    server.fault = ({ query }) =>
      query.get('fieldSelector') ? undefined : { kind: 'status', code: 403, reason: 'Forbidden' }
    const all = watcher(cache, 'all')
    const x = watcher(cache, 'x', { namespaces: ['default'], fields: 'metadata.name=x' })
    await clock.advance(5000)
    expect(x.events).toEqual(['added x'])
    expect(x.subscription.freshness.state).toBe('synced')
    expect(all.subscription.freshness).toMatchObject({ state: 'syncing', reason: expect.stringContaining('MUS1303') })
    // When it may, one watch serves both.
    server.fault = undefined
    await clock.advance(60_000)
    expect(all.events).toEqual(['added x'])
    expect(x.events).toEqual(['added x'])
    expect(cache.report()[0]).toMatchObject({ watches: 1, freshness: { state: 'synced' } })
  })

  it('is split again where the account may only read the parts', async () => {
    const { clock, server, cache } = bench()
    server.fault = ({ query }) =>
      query.get('fieldSelector') ? undefined : { kind: 'status', code: 403, reason: 'Forbidden' }
    const many = Array.from({ length: mostWatches + 1 }, (_, index) => `x${index}`)
    for (const name of many) server.put(name)
    const watchers = many.map((name) =>
      watcher(cache, name, { namespaces: ['default'], fields: `metadata.name=${name}` }),
    )
    await clock.advance(5000)
    expect(watchers.flatMap(({ events }) => events)).toEqual(many.map((name) => `added ${name}`))
    expect(cache.report()[0]).toMatchObject({ watches: many.length, objects: many.length })
  })

  it('is one watch per namespace until a consumer subscribes to all of them', async () => {
    const { clock, server, cache } = bench()
    for (const namespace of ['a', 'b', 'c']) server.put('x', {}, { namespace })
    const some = watcher(cache, 'some', { namespaces: ['a', 'b'] })
    await clock.settle()
    expect(server.watches).toHaveLength(2)
    expect(some.subscription.list()).toHaveLength(2)
    const all = watcher(cache, 'all')
    await clock.settle()
    expect(server.watches).toHaveLength(1)
    expect(all.subscription.list()).toHaveLength(3)
    expect(some.subscription.list()).toHaveLength(2)
    expect(some.subscription.list('b')).toHaveLength(1)
    expect(some.subscription.get({ namespace: 'c', name: 'x' })).toBeUndefined()
    server.put('y', {}, { namespace: 'c' })
    server.put('y', {}, { namespace: 'a' })
    await clock.settle()
    expect(some.events).toEqual(['added x', 'added x', 'added y'])
  })

  it('notifies a consumer of objects that enter and leave its selection', async () => {
    const { clock, server, cache } = bench()
    watcher(cache, 'all')
    const web = watcher(cache, 'web', { labels: 'app=web' })
    server.put('x', {}, { labels: { app: 'db' } })
    await clock.settle()
    server.put('x', {}, { labels: { app: 'web' } })
    server.put('x', { v: '2' }, { labels: { app: 'web' } })
    server.put('x', {}, { labels: { app: 'db' } })
    await clock.settle()
    expect(web.events).toEqual(['added x', 'updated x', 'deleted x'])
  })

  it('keeps only the fields of an object that consumers need', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { keep: 'yes', drop: 'no' })
    const lean = watcher(cache, 'lean', { detail: ['data.keep'] })
    await clock.settle()
    const ref = { namespace: 'default', name: 'a' }
    expect(lean.subscription.get(ref)?.data).toEqual({ keep: 'yes' })
    const full = watcher(cache, 'full', { managedFields: true })
    await clock.settle()
    expect(full.subscription.get(ref)?.data).toEqual({ keep: 'yes', drop: 'no' })
    expect(full.subscription.get(ref)?.metadata.managedFields).toHaveLength(1)
    expect(lean.events).toEqual(['added a'])
  })

  it('answers indexed reads, by owner and by the author’s own keys', async () => {
    const { clock, server, cache } = bench()
    const owner = { apiVersion: 'v1', kind: 'Thing', name: 'boss', uid: 'uid-boss' }
    server.put('a', { team: 'red' }, { ownerReferences: [owner] })
    server.put('b', { team: 'red' })
    const { subscription } = watcher(cache, 'one', {
      indexes: { team: ({ data }) => (data?.['team'] ? [data['team']] : []) },
    })
    await clock.settle()
    expect(names(subscription.byIndex('team', 'red'))).toEqual(['a', 'b'])
    expect(names(subscription.byOwner('uid-boss'))).toEqual(['a'])
    server.put('b', { team: 'blue' })
    await clock.settle()
    expect(names(subscription.byIndex('team', 'red'))).toEqual(['a'])
    expect(names(subscription.byIndex('team', 'blue'))).toEqual(['b'])
    expect(() => subscription.byIndex('colour', 'red')).toThrow('no index "colour"')
  })

  it('accounts for memory by resource and consumer, and gives it back', async () => {
    const { clock, server, cache } = bench()
    for (let i = 0; i < 100; i++) server.put(`thing-${i}`, { text: `some text ${i}` })
    watcher(cache, 'one')
    watcher(cache, 'two')
    await clock.settle()
    const [full] = cache.report()
    expect(full!.bytes).toBeGreaterThan(100 * 100)
    expect(full!.consumers.map(({ objects }) => objects)).toEqual([100, 100])
    expect(full!.consumers[0]!.bytes + full!.consumers[1]!.bytes).toBeCloseTo(full!.bytes)
    for (let i = 0; i < 100; i++) server.remove(`thing-${i}`)
    await clock.settle()
    expect(cache.report()[0]).toMatchObject({ objects: 0, bytes: 0 })
  })
})

describe('own writes', () => {
  const ref = { namespace: 'default', name: 'a' }

  it('can be read by every consumer as soon as the write returns, whatever the watch has delivered', async () => {
    const { clock, server, cache } = bench()
    const mine = watcher(cache, 'me')
    const theirs = watcher(cache, 'you')
    await clock.settle()
    for (const watch of server.watches) watch.mute()
    await cache
      .writer('me')
      .create<Thing>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref, data: { v: '1' } })
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '1' })
    expect(theirs.subscription.get(ref)?.data).toEqual({ v: '1' })
    expect(theirs.events).toEqual(['added a'])
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '2' })
    await cache.writer('me').delete(configMaps, ref)
    expect(mine.subscription.get(ref)).toBeUndefined()
    expect(theirs.events).toEqual(['added a', 'updated a', 'deleted a'])
    expect(mine.events).toEqual([])
  })

  it.each(['echo after the answer', 'echo before the answer'])('do not wake the writer (%s)', async (order) => {
    const { clock, server, cache } = bench()
    const mine = watcher(cache, 'me')
    const theirs = watcher(cache, 'you')
    await clock.settle()
    if (order === 'echo before the answer') server.beforeAnswer = () => clock.settle()
    const writer = cache.writer('me')
    await writer.create<Thing>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref })
    await writer.patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await writer.delete(configMaps, ref)
    await clock.settle()
    expect(theirs.events).toEqual(['added a', 'updated a', 'deleted a'])
    expect(mine.events).toEqual([])
    expect(mine.subscription.list()).toEqual([])
  })

  it('that remove the last finalizer are deletes, though the response has no new version', async () => {
    const { clock, server, cache } = bench()
    server.put('a', {}, { finalizers: ['mine', 'yours'] })
    const mine = watcher(cache, 'me')
    const theirs = watcher(cache, 'you')
    await clock.settle()
    const writer = cache.writer('me')
    await writer.delete(configMaps, ref)
    expect(mine.subscription.get(ref)?.metadata.deletionTimestamp).toBeDefined()
    const resume = server.watches[0]!.delay()
    const release = (finalizers: readonly string[]) =>
      writer.patch<Thing>(configMaps, ref, { metadata: { finalizers } }, { type: 'merge' })
    await release(['yours'])
    expect(mine.subscription.get(ref)?.metadata.finalizers).toEqual(['yours'])
    const { metadata } = await release([])
    expect(metadata.finalizers).toEqual([])
    expect(mine.subscription.get(ref)).toBeUndefined()
    expect(theirs.subscription.get(ref)).toBeUndefined()
    resume()
    await clock.settle()
    expect(theirs.events).toEqual(['added a', 'updated a', 'updated a', 'deleted a'])
    expect(mine.events).toEqual(['added a'])
  })

  it('let a foreign change through that arrives while the write is in flight', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    server.beforeAnswer = async () => {
      server.beforeAnswer = undefined
      server.put('a', { v: 'foreign' })
      await clock.settle()
    }
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await clock.settle()
    expect(mine.events).toEqual(['updated a'])
    expect(mine.subscription.get(ref)?.data).toEqual({ v: 'foreign' })
  })

  it('let a foreign change through that an own, later write hides', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    server.put('a', { foreign: 'yes' })
    const writing = cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await writing
    await clock.settle()
    expect(mine.events).toEqual(['updated a'])
    expect(mine.subscription.get(ref)?.data).toEqual({ foreign: 'yes', v: '2' })
  })

  it('let a foreign change through that the watch delivers after the response of a later, own write', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    const resume = server.watches[0]!.delay()
    server.put('a', { foreign: 'yes' })
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await cache.writer('me').patch(configMaps, ref, { data: { v: '3' } }, { type: 'merge' })
    await clock.settle()
    expect(mine.events).toEqual([])
    resume()
    await clock.settle()
    expect(mine.events).toEqual(['updated a'])
    expect(mine.subscription.get(ref)?.data).toEqual({ foreign: 'yes', v: '3' })
    server.put('a', { v: '4' })
    await clock.settle()
    expect(mine.events).toEqual(['updated a', 'updated a'])
  })

  it('are not undone by late events of a deleted object with the same name', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    const resume = server.watches[0]!.delay()
    server.put('a', { v: '2' })
    await cache.writer('me').delete(configMaps, ref)
    expect(mine.subscription.get(ref)).toBeUndefined()
    resume()
    await clock.settle()
    expect(mine.subscription.get(ref)).toBeUndefined()
    expect(mine.events).toEqual(['added a'])
    server.put('a', { life: 'second' })
    await clock.settle()
    expect(mine.subscription.get(ref)?.data).toEqual({ life: 'second' })
  })

  it('give way to a server that has lost them', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    const restore = server.snapshot()
    for (const watch of server.watches) watch.mute()
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await clock.advance(10)
    restore()
    await clock.advance(300_000)
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '1' })
  })

  it('notify of foreign changes that a relist may have hidden', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    for (const watch of server.watches) watch.mute()
    server.put('a', { foreign: 'yes' })
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    expect(mine.events).toEqual([])
    server.compact()
    for (const watch of server.watches) watch.cut()
    await clock.advance(60_000)
    expect(mine.events).toEqual(['updated a'])
  })

  it('are not undone by a list that began before them', async () => {
    const { clock, server, cache } = bench()
    server.streamsLists = false
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    server.compact()
    server.fault = ({ isWatch }) => (isWatch ? undefined : { kind: 'slow', ms: 5000 })
    for (const watch of server.watches) watch.cut()
    await clock.advance(1500)
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await clock.advance(60_000)
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '2' })
    expect(mine.subscription.freshness.state).toBe('synced')
  })

  it('that fail leave every event to be delivered', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    server.beforeAnswer = async () => {
      await clock.settle()
      throw new Error('the answer got lost')
    }
    await expect(cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })).rejects.toThrow(
      'the answer got lost',
    )
    await clock.settle()
    expect(mine.events).toEqual(['updated a'])
  })

  it('do not restore an object if the response comes after the watch delivered its deletion', async () => {
    const { clock, server, cache } = bench()
    const mine = watcher(cache, 'me')
    await clock.settle()
    server.beforeAnswer = async () => {
      server.remove('a')
      await clock.settle()
    }
    await cache.writer('me').create<Thing>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref })
    await clock.settle()
    expect(mine.subscription.get(ref)).toBeUndefined()
    expect(mine.events).toEqual(['deleted a'])
  })

  it('do not restore an object if a delete overtook the response of an earlier write', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    server.watches[0]!.delay()
    server.beforeAnswer = () => clock.sleep(1000)
    const patching = cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await clock.settle()
    server.beforeAnswer = undefined
    await cache.writer('me').delete(configMaps, ref)
    await clock.advance(1000)
    await patching
    expect(mine.subscription.get(ref)).toBeUndefined()
  })

  it('that delete an object the watch has not delivered do not show its predecessor of the same name', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { life: 'first' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    const resume = server.watches[0]!.delay()
    server.put('a', { life: 'still the first' })
    server.remove('a')
    server.put('a', { life: 'second' })
    await cache.writer('me').delete(configMaps, ref)
    expect(mine.subscription.get(ref)).toBeUndefined()
    resume()
    await clock.settle()
    expect(mine.subscription.get(ref)).toBeUndefined()
    // Another writer deleted the first object of that name.
    expect(mine.events).toEqual(['added a', 'deleted a'])
  })

  it('do not wake the writer when it deletes and recreates before the watch delivers', async () => {
    const { clock, server, cache } = bench()
    server.put('a')
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    const resume = server.watches[0]!.delay()
    await cache.writer('me').delete(configMaps, ref)
    await cache.writer('me').create<Thing>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref })
    resume()
    await clock.settle()
    expect(mine.events).toEqual([])
  })

  it('do not wake the writer when the responses of two writes arrive in reverse order', async () => {
    const { clock, server, cache } = bench()
    server.put('a')
    const mine = watcher(cache, 'me')
    await clock.settle()
    mine.events.length = 0
    server.beforeAnswer = () => clock.sleep(1000)
    const first = cache.writer('me').patch(configMaps, ref, { data: { v: '1' } }, { type: 'merge' })
    await clock.settle()
    server.beforeAnswer = undefined
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge' })
    await clock.advance(1000)
    await first
    expect(mine.events).toEqual([])
  })

  it('do not mix up two objects of one name that were created while the write was in flight', async () => {
    const { clock, server, cache } = bench()
    const lives: (string | undefined)[] = []
    const onEvent = ({ type, object }: CacheEvent<Thing>): void => void lives.push(`${type} ${object.metadata.uid}`)
    watcher(cache, 'me', { onEvent })
    await clock.settle()
    server.beforeAnswer = async () => {
      server.remove('a')
      server.put('a')
      await clock.settle()
    }
    await cache.writer('me').create<Thing>(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref })
    expect(lives).toEqual(['deleted uid-1', 'added uid-2'])
  })

  it('made as a dry run have no effect', async () => {
    const { clock, server, cache } = bench()
    server.put('a', { v: '1' })
    const mine = watcher(cache, 'me')
    await clock.settle()
    for (const watch of server.watches) watch.mute()
    await cache.writer('me').patch(configMaps, ref, { data: { v: '2' } }, { type: 'merge', dryRun: true })
    expect(mine.subscription.get(ref)?.data).toEqual({ v: '1' })
  })
})
