/**
 * What the cache promises about needs, held against random ones that come and go while objects change, enter and leave
 * selections, and watches lag behind each other, end, and have to list again.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { configMap, configMaps, type Embedded, embedded, namespaces } from '../../test/embedded.ts'
import { type Random, seededRandom } from '../clock/random.ts'
import type { VirtualClock } from '../clock/virtual-clock.ts'
import { createClient } from '../client/create-client.ts'
import { inProcessTransport } from '../client/in-process.ts'
import type { Transport } from '../transport/transport.ts'
import type { KubeObject } from '../kube/object.ts'
import { matchFields, matchLabels, parseFields, parseLabels } from '../kube/selector/selector.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import type { CacheEvent, SubscribeOptions, Subscription } from './subscription.ts'

const most = 3
const places = ['a', 'b', 'c'] as const
const names = ['one', 'other', 'two', 'ten'] as const

interface Wish {
  readonly where: readonly string[] | undefined
  readonly labels: string
  readonly name: string | undefined
  readonly prefix: string | undefined
  readonly detail: 'full' | 'metadata'
}

type Step =
  | { readonly type: 'subscribe'; readonly wish: Wish }
  | { readonly type: 'close'; readonly at: number }
  | { readonly type: 'put'; readonly where: string; readonly name: string; readonly app: string; readonly tier: string }
  | { readonly type: 'delete'; readonly where: string; readonly name: string }
  | { readonly type: 'end' }
  | { readonly type: 'expire' }
  | { readonly type: 'pass'; readonly ms: number }

const place = fc.constantFrom(...places)
const name = fc.constantFrom(...names)
const wish: fc.Arbitrary<Wish> = fc.record({
  where: fc.option(fc.uniqueArray(place, { minLength: 1, maxLength: 2 }), { nil: undefined }),
  labels: fc.constantFrom('', 'app=x', 'app=y', 'tier=z', 'app=x,tier=z', '!app', 'app in (x,y)'),
  name: fc.option(name, { nil: undefined }),
  prefix: fc.option(fc.constantFrom('o', 't'), { nil: undefined, freq: 3 }),
  detail: fc.constantFrom('full', 'full', 'metadata'),
})
const put = fc.record({
  type: fc.constant('put' as const),
  where: place,
  name,
  app: fc.constantFrom('x', 'y', ''),
  tier: fc.constantFrom('z', ''),
})
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ type: fc.constant('subscribe' as const), wish }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('close' as const), at: fc.nat(20) }) },
    { weight: 6, arbitrary: put },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('delete' as const), where: place, name }) },
    { weight: 1, arbitrary: fc.constant({ type: 'end' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'expire' as const }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.nat(4000) }) },
  ),
  { minLength: 10, maxLength: 40 },
)

/** Each answer comes piece by piece, at its own pace. */
function lagging(transport: Transport, clock: VirtualClock, random: Random): Transport {
  async function* slowly(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      if (random.next() < 0.4) await clock.sleep(Math.floor(random.next() * 3000))
      yield chunk
    }
  }
  return {
    ...transport,
    async send(request) {
      const response = await transport.send(request)
      return { ...response, body: slowly(response.body), whole: undefined }
    },
  }
}

/** A consumer that believes events and nothing else. */
class Believer {
  readonly known = new Map<string, KubeObject>()
  readonly nonsense: string[] = []
  readonly wish: Wish
  readonly subscription: Subscription
  readonly #latest = new Map<string, number>()

  constructor(cache: SharedCache, each: Wish, index: number) {
    this.wish = each
    const options: SubscribeOptions = {
      consumer: `c${index}`,
      namespaces: each.where,
      labels: each.labels,
      fields: each.name === undefined ? undefined : `metadata.name=${each.name}`,
      namePrefix: each.prefix,
      detail: each.detail,
      onEvent: (event) => this.#told(event),
    }
    this.subscription = cache.subscribe(configMaps, options)
  }

  wants(object: KubeObject): boolean {
    const { where, labels, name: only, prefix = '' } = this.wish
    const { metadata } = object
    return (
      (!where || where.includes(metadata.namespace!)) &&
      matchLabels(parseLabels(labels), metadata.labels) &&
      matchFields(parseFields(only === undefined ? '' : `metadata.name=${only}`), object) &&
      metadata.name!.startsWith(prefix)
    )
  }

  /** Events must make sense one after the other, show nothing that was not asked for, and never go back in time. */
  #told(event: CacheEvent): void {
    const { object, type } = event
    const key = idOf(object)
    const version = Number(object.metadata.resourceVersion)
    const before = this.known.get(key)
    if ((type === 'added') === (before !== undefined))
      this.nonsense.push(`${type} ${key}, knew ${before && stateOf(before)}`)
    if (!this.wants(object)) this.nonsense.push(`${type} ${key}, which it did not ask for`)
    if (type === 'updated' && before && event.previous.metadata.resourceVersion !== before.metadata.resourceVersion)
      this.nonsense.push(`updated ${key} from ${stateOf(event.previous)}, knew ${stateOf(before)}`)
    if (type === 'deleted') this.known.delete(key)
    else {
      if (version <= (this.#latest.get(key) ?? 0))
        this.nonsense.push(`${type} ${key} ${version} after ${this.#latest.get(key)}`)
      this.#latest.set(key, version)
      this.known.set(key, object)
    }
  }
}

const idOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`
const stateOf = (object: KubeObject): string =>
  `${idOf(object)} ${object.metadata.uid} ${object.metadata.resourceVersion}`
const statesOf = (objects: Iterable<KubeObject>): readonly string[] => [...objects].map(stateOf).toSorted()

class World {
  readonly cluster: Embedded = embedded()
  readonly cache: SharedCache
  readonly believers = new Set<Believer>()
  readonly past: Believer[] = []
  #count = 0

  constructor(seed: number) {
    const { clock, server } = this.cluster
    const random = seededRandom(seed)
    const transport = lagging(inProcessTransport(server), clock, random)
    const client = createClient({ transport, clock, random })
    this.cache = createSharedCache({ client, clock, random, mostWatches: most })
  }

  async start(): Promise<void> {
    for (const each of places) {
      await this.cluster.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: each } })
    }
  }

  async take(step: Step): Promise<void> {
    const { client, clock, server } = this.cluster
    if (step.type === 'subscribe') this.believers.add(new Believer(this.cache, step.wish, this.#count++))
    else if (step.type === 'close') this.#close([...this.believers][step.at % Math.max(1, this.believers.size)])
    else if (step.type === 'put') {
      const labels = { ...(step.app ? { app: step.app } : {}), ...(step.tier ? { tier: step.tier } : {}) }
      const object = configMap(step.name, { n: String(this.#count++) }, { namespace: step.where, labels })
      const found = await client.get(configMaps, { namespace: step.where, name: step.name }).catch(() => undefined)
      if (found) await client.update(configMaps, object)
      else await client.create(configMaps, object)
    } else if (step.type === 'delete') {
      await client.delete(configMaps, { namespace: step.where, name: step.name }).catch(() => undefined)
    } else if (step.type === 'pass') await clock.advance(step.ms)
    else {
      server.endWatches()
      if (step.type === 'expire') server.compact()
    }
  }

  #close(believer: Believer | undefined): void {
    if (!believer) return
    believer.subscription.close()
    this.believers.delete(believer)
    this.past.push(believer)
  }

  /** Nothing happens any more, for longer than bookmarks take. */
  async quiet(): Promise<void> {
    await this.cluster.clock.advance(200_000)
  }
}

/** At rest. */
async function expectTruth({ cluster, cache, believers: all, past }: World): Promise<void> {
  const { items } = await cluster.client.list(configMaps)
  const [report] = cache.report()
  const believers = [...all]
  for (const believer of believers) {
    const { subscription, known } = believer
    const wanted = statesOf(items.filter((object) => believer.wants(object)))
    expect(statesOf(subscription.list())).toEqual(wanted)
    expect(statesOf(known.values())).toEqual(wanted)
    expect(subscription.freshness.state).toBe('synced')
  }
  for (const { nonsense } of [...believers, ...past]) expect(nonsense).toEqual([])
  // The cache holds the objects that a consumer wants, and the figures of its report add up.
  const held = items.filter((object) => believers.some((one) => one.wants(object)))
  expect(report?.objects ?? 0).toBe(held.length)
  expect(report?.consumers.map(({ objects }) => objects) ?? []).toEqual(
    believers.map((one) => items.filter((object) => one.wants(object)).length),
  )
  const bytes = report?.consumers.reduce((sum, one) => sum + one.bytes, 0) ?? 0
  expect(bytes).toBeCloseTo(report?.bytes ?? 0, 3)
  // As few watches as the rule says, and no two alike.
  const watches = report?.cover.split(', ') ?? []
  expect(new Set(watches).size).toBe(watches.length)
  expect(report?.watches ?? 0).toBe(watches.length)
  expect(watches.length).toBeLessThanOrEqual(most)
}

describe('with changing subscriptions', () => {
  it('the cache holds their union; each consumer sees exactly its selection, and each change once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (all, seed) => {
        const world = new World(seed)
        await world.start()
        for (const [index, step] of all.entries()) {
          await world.take(step)
          if (index % 15 === 14) {
            await world.quiet()
            await expectTruth(world)
          }
        }
        await world.quiet()
        await expectTruth(world)
        world.cache.close()
      }),
      { numRuns: 40 },
    )
  }, 60_000)
})
