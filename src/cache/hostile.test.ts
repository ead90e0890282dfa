/** The watch engine against a server that misbehaves in every way we know of. Virtual time throughout. */
import { describe, expect, it } from 'vitest'
import {
  errorLine,
  eventLine,
  type Fault,
  hostileServer,
  type HostileServer,
  type Thing,
} from '../../test/hostile-server.ts'
import { type Random, seededRandom } from '../clock/random.ts'
import { type VirtualClock, virtualClock } from '../clock/virtual-clock.ts'
import { createClient } from '../client/create-client.ts'
import { inProcessTransport } from '../client/in-process.ts'
import type { Resource } from '../kube/kind.ts'
import { createSharedCache } from './shared-cache.ts'
import type { CacheEvent, Subscription } from './subscription.ts'

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

/** A consumer that believes only events, and checks that they make sense one after the other. */
interface Believer {
  readonly known: Map<string, Thing>
  readonly nonsense: string[]
  readonly states: string[]
}

interface Scene extends Believer {
  readonly clock: VirtualClock
  readonly server: HostileServer
  readonly subscription: Subscription<Thing>
}

async function scene(prepare: (server: HostileServer) => void = () => undefined): Promise<Scene> {
  const clock = virtualClock()
  const server = hostileServer({ clock })
  prepare(server)
  const client = createClient({ transport: inProcessTransport(server), clock, random: seededRandom(1) })
  const cache = createSharedCache({ client, clock, random: seededRandom(2) })
  const known = new Map<string, Thing>()
  const nonsense: string[] = []
  const states: string[] = []
  const onEvent = (event: CacheEvent<Thing>): void => {
    const { name = '', uid } = event.object.metadata
    const before = known.get(name)
    if (event.type === 'added' ? before : before?.metadata.uid !== uid)
      nonsense.push(`${event.type} ${name} after ${before?.metadata.uid}`)
    if (event.type === 'deleted') known.delete(name)
    else known.set(name, event.object)
  }
  const onFreshness = ({ state }: { readonly state: string }): void => void states.push(state)
  const subscription = cache.subscribe<Thing>(configMaps, { consumer: 'believer', onEvent, onFreshness })
  await clock.settle()
  return { clock, server, subscription, known, nonsense, states }
}

const summary = (things: Iterable<Thing>): readonly string[] =>
  [...things]
    .map(({ metadata, data }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion} ${JSON.stringify(data)}`)
    .toSorted()

function expectTruth({ server, subscription, known, nonsense }: Scene): void {
  expect(summary(subscription.list())).toEqual(summary(server.objects))
  expect(summary(known.values())).toEqual(summary(server.objects))
  expect(nonsense).toEqual([])
  expect(subscription.freshness.state).toBe('synced')
}

/** Fails the next `count` requests that `matches` picks. */
function failing(
  count: number,
  answer: ReturnType<Fault>,
  matches: Parameters<typeof Array.prototype.filter>[0] = () => true,
): Fault {
  let left = count
  return (request) => (left > 0 && (matches as (r: unknown) => boolean)(request) ? (left--, answer) : undefined)
}

describe('a watch engine with failures', () => {
  it('continues from the last version when the connection breaks', async () => {
    const s = await scene((server) => server.put('a'))
    s.server.watches[0]!.cut()
    s.server.put('b')
    await s.clock.advance(60_000)
    expectTruth(s)
    expect(s.server.watches[0]!.startedAt).not.toBe('')
    expect(s.states).toContain('stale')
  })

  it('does not accept an incomplete object', async () => {
    const s = await scene((server) => server.put('a', { v: '1' }))
    s.server.watches[0]!.cut(true)
    s.server.put('a', { v: '2' })
    await s.clock.advance(60_000)
    expectTruth(s)
  })

  it('detects a silent socket', async () => {
    const s = await scene((server) => server.put('a'))
    s.server.watches[0]!.mute()
    s.server.put('b')
    s.server.remove('a')
    await s.clock.advance(200_000)
    expectTruth(s)
  })

  it('relists after 410, and still delivers missed deletes', async () => {
    const s = await scene((server) => {
      server.put('gone')
      server.put('stays')
    })
    s.server.watches[0]!.mute()
    s.server.remove('gone')
    s.server.put('new')
    s.server.compact()
    s.server.watches[0]!.cut()
    await s.clock.advance(60_000)
    expectTruth(s)
  })

  it('distinguishes two objects of the same name by uid', async () => {
    const s = await scene((server) => server.put('a'))
    s.server.watches[0]!.mute()
    s.server.remove('a')
    s.server.put('a', { life: 'second' })
    s.server.compact()
    s.server.watches[0]!.cut()
    await s.clock.advance(60_000)
    expectTruth(s)
  })

  it('survives a series of 410 without a hot loop', async () => {
    const s = await scene((server) => server.put('a'))
    s.server.fault = ({ isWatch }) => (isWatch ? { kind: 'status', code: 410, reason: 'Expired' } : undefined)
    s.server.watches[0]!.cut()
    const before = s.server.requests.lists + s.server.requests.watches
    await s.clock.advance(600_000)
    expect(s.server.requests.lists + s.server.requests.watches - before).toBeLessThan(150)
    expect(s.subscription.freshness.state).not.toBe('synced')
    s.server.fault = undefined
    s.server.put('b')
    await s.clock.advance(120_000)
    expectTruth(s)
  })

  it.each([
    ['429', { kind: 'status', code: 429, reason: 'TooManyRequests', retryAfter: 7 }],
    ['500', { kind: 'status', code: 500, reason: 'InternalError' }],
    ['503', { kind: 'status', code: 503, reason: 'ServiceUnavailable' }],
    ['401', { kind: 'status', code: 401, reason: 'Unauthorized' }],
    ['403', { kind: 'status', code: 403, reason: 'Forbidden' }],
    ['404', { kind: 'status', code: 404, reason: 'NotFound' }],
    ['a refused connection', { kind: 'refuse' }],
    ['no response', { kind: 'never' }],
    ['a truncated response', { kind: 'half' }],
  ] as const)('recovers from %s, on the first list and later', async (_name, answer) => {
    const s = await scene((server) => {
      server.put('a')
      server.fault = failing(5, answer)
    })
    await s.clock.advance(400_000)
    expectTruth(s)
    s.server.fault = failing(5, answer)
    s.server.compact()
    s.server.watches[0]!.cut()
    s.server.put('b')
    await s.clock.advance(400_000)
    expectTruth(s)
  })

  it('waits as long as the server asks', async () => {
    const s = await scene((server) => {
      server.fault = () => ({ kind: 'status', code: 429, reason: 'TooManyRequests', retryAfter: 120 })
    })
    await s.clock.advance(119_000)
    expect(s.server.requests.watches + s.server.requests.lists).toBe(1)
  })

  it.each([
    ['nonsense', 'this is no JSON\n'],
    ['truncated JSON', '{"type":"MODIFIED","object":{"metadata":{"name":"a"\n'],
    ['an event without an object', '{"type":"MODIFIED"}\n'],
    ['an event of unknown type', eventLine('EXPLODED', {})],
    [
      'an object without a version',
      eventLine('ADDED', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'b' } }),
    ],
    ['an error', errorLine(500, 'InternalError')],
    ['a very long empty line', `${' '.repeat(100_000)}\n`],
  ])('recovers from %s in the stream', async (_name, text) => {
    const s = await scene((server) => server.put('a', { v: '1' }))
    s.server.watches[0]!.raw(text)
    await s.clock.settle()
    s.server.put('a', { v: '2' })
    await s.clock.advance(60_000)
    expectTruth(s)
  })

  it('ignores events from the past', async () => {
    const s = await scene((server) => server.put('a', { v: '1' }))
    const old = s.server.get('a')
    s.server.put('a', { v: '2' })
    s.server.remove('a')
    s.server.put('b')
    await s.clock.settle()
    s.server.watches[0]!.raw(eventLine('MODIFIED', old))
    await s.clock.advance(60_000)
    expectTruth(s)
  })

  it('never shows a partial list', async () => {
    const s = await scene((server) => {
      server.streamsLists = false
      for (let i = 0; i < 1200; i++) server.put(`thing-${i}`)
    })
    await s.clock.advance(1000)
    const sizes = new Set<number>()
    s.server.fault = ({ isWatch }) => {
      sizes.add(s.subscription.list().length)
      return isWatch ? undefined : { kind: 'slow', ms: 3000 }
    }
    s.server.compact()
    s.server.watches[0]!.cut()
    for (let i = 0; i < 20; i++) {
      await s.clock.advance(1000)
      sizes.add(s.subscription.list().length)
    }
    expect([...sizes]).toEqual([1200])
    expectTruth(s)
  })

  it('lists without pages after a continue token expired', async () => {
    const s = await scene((server) => {
      server.streamsLists = false
      for (let i = 0; i < 1200; i++) server.put(`thing-${i}`)
      server.fault = ({ query }) => {
        if (query.has('continue')) return { kind: 'status', code: 410, reason: 'Expired' }
        return undefined
      }
    })
    await s.clock.advance(10_000)
    expectTruth(s)
  })

  it('accepts a server that was restarted with older data', async () => {
    const s = await scene((server) => server.put('a', { v: 'old' }))
    const restore = s.server.snapshot()
    s.server.put('a', { v: 'lost' })
    s.server.put('b')
    await s.clock.settle()
    restore()
    await s.clock.advance(300_000)
    expectTruth(s)
    expect(s.known.get('a')?.data).toEqual({ v: 'old' })
    s.server.put('c')
    await s.clock.advance(1000)
    expectTruth(s)
  })

  it('does not loop when watches end at once', async () => {
    const s = await scene((server) => server.put('a'))
    const before = s.server.requests.watches
    for (let i = 0; i < 600; i++) {
      for (const watch of s.server.watches) watch.end()
      await s.clock.advance(1000)
    }
    expect(s.server.requests.watches - before).toBeLessThan(700)
    s.server.put('b')
    await s.clock.advance(60_000)
    expectTruth(s)
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8])('loses nothing and never stalls in an hour of faults (seed %i)', async (seed) => {
    const random = seededRandom(seed)
    const s = await scene((server) => {
      server.streamsLists = seed % 2 === 0
      for (let i = 0; i < 30; i++) server.put(`thing-${i}`)
    })
    for (let second = 0; second < 3600; second += 5) {
      stir(s.server, random)
      await s.clock.advance(5000)
    }
    s.server.fault = undefined
    await s.clock.advance(300_000)
    expectTruth(s)
    expect(s.states.filter((state) => state === 'stale').length).toBeGreaterThan(10)
  })
})

const faults: readonly ReturnType<Fault>[] = [
  { kind: 'status', code: 429, reason: 'TooManyRequests', retryAfter: 3 },
  { kind: 'status', code: 500, reason: 'InternalError' },
  { kind: 'status', code: 503, reason: 'ServiceUnavailable' },
  { kind: 'status', code: 410, reason: 'Expired' },
  { kind: 'refuse' },
  { kind: 'never' },
  { kind: 'half' },
  { kind: 'slow', ms: 8000 },
]

/** A few seconds in the life of a bad server. */
function stir(server: HostileServer, random: Random): void {
  const pick = (count: number): number => Math.floor(random.next() * count)
  for (let i = pick(5); i > 0; i--) {
    const name = `thing-${pick(40)}`
    if (random.next() < 0.3) server.remove(name)
    else server.put(name, { v: String(pick(1000)) })
  }
  const watch = server.watches[pick(server.watches.length)]
  const evils = [
    () => watch?.cut(),
    () => watch?.cut(true),
    () => watch?.mute(),
    () => watch?.end(),
    () => server.compact(),
    () => watch?.raw('{"type":"MODIFIED","object":{"meta\n'),
    () => watch?.raw(eventLine('MODIFIED', server.objects[0])),
    () => (server.fault = failing(1 + pick(4), faults[pick(faults.length)])),
    () => {
      const restore = server.snapshot()
      server.put(`thing-${pick(40)}`, { v: 'lost' })
      restore()
    },
  ]
  if (random.next() < 0.3) evils[pick(evils.length)]!()
}
