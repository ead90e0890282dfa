/** The shared cache of one cluster: a feed a resource, made when the first consumer asks and gone with the last. */
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import type { Client, ObjectRef } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { Recall } from '../kube/recall.ts'
import { labelSelector, parseFields } from '../kube/selector.ts'
import {
  ResourceInformer,
  type Subscriber,
  type SubscriberOptions,
  type ScopeListener,
  visibleTo,
} from './resource-informer.ts'
import { createInternPool } from './intern.ts'
import { cacheKey, refOf } from './key.ts'
import { describeWatch, matchesAll, mayConcern, mayMeet, type Need, scopeOf } from './need.ts'
import { defaultReflectorOptions, type Freshness, type ReflectorOptions, type ServerTraits } from './reflector.ts'
import type { ConsumerProblem, SubscribeOptions, Subscription, SyncOptions } from './subscription.ts'
import type { Informer } from './informer.ts'
import { createWarmUp } from './warm-up.ts'
import { mostWatches as mostWatchesByDefault } from './watch-plan.ts'
import { createWriter, type Writer } from './writer.ts'

export interface SharedCacheOptions {
  readonly client: Client
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly reflector?: Partial<ReflectorOptions> | undefined
  /** Watches a resource may have before several are made one; `watch-plan.ts` has the rule. @default 50 */
  readonly mostWatches?: number | undefined
  /** What was decoded before, of caches that are made over and over: in a simulation. @default nothing */
  readonly recall?: Recall | undefined
  /** What consumers' code threw. It was contained; say it somewhere. @default ignored */
  readonly onProblem?: ((problem: ConsumerProblem) => void) | undefined
}

/** How one resource stands: for health checks, metrics and the console. */
export interface InformerReport {
  readonly resource: Resource
  readonly freshness: Freshness
  /** Watches open or being opened. */
  readonly watches: number
  readonly cover: string
  readonly objects: number
  /** Estimated memory of the copy. */
  readonly bytes: number
  readonly consumers: readonly ConsumerReport[]
}

export interface ConsumerReport {
  readonly consumer: string
  /** Objects that this consumer sees. */
  readonly objects: number
  /** Its part of the memory: what each object costs, divided among those who see it. */
  readonly bytes: number
}

export interface SharedCache {
  subscribe<T extends KubeObject = UntypedObject>(resource: Resource, options: SubscribeOptions<T>): Subscription<T>
  /**
   * Verbs whose answers enter the cache, in the name of a consumer. `through` is a client of the same cluster that acts as
   * somebody else. @default the cache's own
   */
  writer(consumer: string, through?: Client): Writer
  report(): readonly InformerReport[]
  /** Ends all watches; subscriptions fail from now on. */
  close(): void
}

export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { client, clock = systemClock, random = systemRandom, onProblem = () => undefined } = options
  const { mostWatches = mostWatchesByDefault, recall } = options
  const reflector: ReflectorOptions = { ...defaultReflectorOptions, ...options.reflector }
  const pool = createInternPool()
  const warmUp = createWarmUp()
  const traits: ServerTraits = { streamsLists: true }
  const feeds = new Map<string, ResourceInformer>()
  const resources = new Map<string, Resource>()
  let isClosed = false

  const feedOf = (resource: Resource): ResourceInformer => {
    const key = formatResource(resource)
    let feed = feeds.get(key)
    if (!feed) {
      const shared = { client, clock, random, pool, warmUp, traits, options: reflector, onProblem, mostWatches }
      feed = new ResourceInformer({ resource, recall, ...shared })
      feeds.set(key, feed)
      resources.set(key, resource)
    }
    return feed
  }

  return {
    subscribe<T extends KubeObject>(resource: Resource, wish: SubscribeOptions<T>): Subscription<T> {
      if (isClosed) throw new MusterError('CacheClosed', `${formatResource(resource)}: the cache is closed.`)
      const feed = feedOf(resource)
      return new InformerSubscription(resource, wish, feed, clock, () => {
        const key = formatResource(resource)
        if (feed.members.size === 0 && feeds.get(key) === feed) feeds.delete(key)
      })
    },
    writer(consumer, through = client) {
      return createWriter(through, (resource, ref) => feeds.get(formatResource(resource))?.beginWrite(ref, consumer))
    },
    report: () => [...feeds].map(([key, feed]) => reportFeed(resources.get(key)!, feed)),
    close() {
      isClosed = true
      for (const feed of feeds.values()) for (const member of feed.members) feed.leave(member)
      feeds.clear()
    },
  }
}

function needOf<T extends KubeObject>(resource: Resource, wish: SubscribeOptions<T>): Need {
  const labels = labelSelector(wish.labels ?? '')
  const fields = parseFields(wish.fields ?? '')
  const namespaces = resource.namespaced ? new Set(wish.namespaces ?? [undefined]) : [undefined]
  const { namePrefix: prefix, detail = 'full', managedFields = false } = wish
  return {
    scopes: [...namespaces].map((namespace) => scopeOf({ namespace, labels, fields, prefix })),
    shape: { detail, managedFields },
  }
}

/** What a consumer holds: a member of a feed, seen as a subscription. */
class InformerSubscription<T extends KubeObject> implements Subscription<T> {
  readonly resource: Resource
  readonly #feed: ResourceInformer
  readonly #clock: Clock
  readonly #member: Subscriber
  readonly #onLeave: () => void
  #waiting: Set<() => void> | undefined

  constructor(
    resource: Resource,
    wish: SubscribeOptions<T>,
    feed: ResourceInformer,
    clock: Clock,
    onLeave: () => void,
  ) {
    this.resource = resource
    this.#feed = feed
    this.#clock = clock
    this.#onLeave = onLeave
    // The feed knows objects, the consumer knows their kind: the casts are where the two meet.
    this.#member = feed.join({
      consumer: wish.consumer,
      need: needOf(resource, wish),
      onEvent: wish.onEvent as SubscriberOptions['onEvent'],
      onFreshness: wish.onFreshness,
      wake: () => this.#wake(),
      indexes: wish.indexes ?? noIndexes,
    })
  }

  get consumer(): string {
    return this.#member.consumer
  }

  get freshness(): Freshness {
    return this.#feed.freshnessOf(this.#member)
  }

  get(ref: ObjectRef): T | undefined {
    this.#check()
    for (const { scope, slice, sees } of this.#member.seats) {
      const object = mayConcern(scope, ref) ? slice?.store.get(ref.namespace, ref.name) : undefined
      if (object && sees(object)) return object as T
    }
    return undefined
  }

  list(namespace?: string): readonly T[] {
    this.#check()
    return this.#gather((seat) => visibleTo(seat, namespace))
  }

  byOwner(uid: string): readonly T[] {
    this.#check()
    return this.#gather(({ slice, sees }) => slice!.store.byOwner(uid).filter(sees))
  }

  byIndex(index: string, key: string): readonly T[] {
    const { indexes, consumer } = this.#member
    const keysOf = indexes[index]
    if (!keysOf) throw new MusterError('IndexNotFound', `${this.#name}: ${consumer} declared no index "${index}".`)
    this.#check()
    return this.#gather(({ slice, sees }) => slice!.store.byIndex(keysOf, key).filter(sees))
  }

  synced({ timeoutMs, signal }: SyncOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.#waiting?.delete(look)
        timer?.cancel()
        signal?.removeEventListener('abort', abort)
        act()
      }
      const look = (): void => {
        if (this.#member.isAdmitted) settle(resolve)
        else if (!this.#isOpen)
          settle(() => reject(new MusterError('CacheClosed', `${this.#name}: closed while waiting.`)))
      }
      const abort = (): void => settle(() => reject(signal!.reason as Error))
      const expire = (): void => {
        const { reason = 'the server has not answered yet' } = this.freshness
        settle(() =>
          reject(new MusterError('SyncTimeout', `${this.#name}: not synced after ${timeoutMs} ms: ${reason}`)),
        )
      }
      const timer = timeoutMs === undefined ? undefined : this.#clock.after(timeoutMs, expire)
      if (signal?.aborted) {
        abort()
        return
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#waiting ??= new Set()
      this.#waiting.add(look)
      look()
    })
  }

  close(): void {
    if (!this.#isOpen) return
    this.#feed.leave(this.#member)
    this.#onLeave()
  }

  get #name(): string {
    return formatResource(this.resource)
  }

  get #isOpen(): boolean {
    return this.#feed.members.has(this.#member)
  }

  #wake(): void {
    for (const look of this.#waiting ?? []) look()
  }

  #check(): void {
    if (this.#isOpen) this.#feed.check(this.#member)
    else throw new MusterError('CacheClosed', `${this.#name}: the subscription of ${this.consumer} is closed.`)
  }

  /** The scopes of a need differ in their namespaces: no object comes twice. */
  #gather(read: (seat: ScopeListener) => readonly KubeObject[]): readonly T[] {
    const { seats } = this.#member
    return (seats.length === 1 ? read(seats[0]!) : seats.flatMap(read)) as readonly T[]
  }
}

const noIndexes = {}

function reportFeed(resource: Resource, feed: ResourceInformer): InformerReport {
  const slices = [...feed.slices]
  const members = [...feed.members]
  const shares = members.map(({ consumer }) => ({ consumer, objects: 0, bytes: 0 }))
  let [objects, bytes] = [0, 0]
  for (const held of holdings(slices, members)) {
    objects += held.objects
    bytes += held.bytes
    for (const index of held.viewers) {
      shares[index]!.objects += held.objects
      shares[index]!.bytes += held.bytes / held.viewers.size
    }
  }
  const freshness = members.map((member) => feed.freshnessOf(member))
  return {
    resource,
    freshness: freshness.reduce(worseOf),
    watches: slices.length,
    cover: slices.map(({ watch }) => describeWatch(watch)).join(', '),
    objects,
    bytes,
    consumers: shares,
  }
}

/** Objects that are held, what they cost, and who sees them. */
interface Holding {
  readonly objects: number
  readonly bytes: number
  readonly viewers: Set<number>
}

/**
 * Each object once: where slices overlap, they share it. Objects are looked at one by one only where that is so, or where
 * somebody sees some of them: health is asked for every few seconds, and caches may be large.
 */
function* holdings(slices: readonly Informer[], members: readonly Subscriber[]): Generator<Holding> {
  const shared = new Map<string, Holding>()
  for (const slice of slices) {
    const { store, watch } = slice
    if (store.size === 0) continue
    const seats = members.flatMap((member, index) =>
      member.seats.filter((seat) => seat.slice === slice).map(({ sees }) => ({ index, sees })),
    )
    const isAlone = slices.every((other) => other === slice || !mayMeet(other.watch.scope, watch.scope))
    if (isAlone && seats.every(({ sees }) => sees === matchesAll)) {
      yield { objects: store.size, bytes: store.bytes, viewers: new Set(seats.map(({ index }) => index)) }
      continue
    }
    const bytes = store.bytes / store.size
    for (const object of store.list()) {
      const viewers = seats.filter(({ sees }) => sees(object)).map(({ index }) => index)
      if (isAlone) yield { objects: 1, bytes, viewers: new Set(viewers) }
      else {
        const key = cacheKey(refOf(object))
        const known = shared.get(key)
        if (known) for (const index of viewers) known.viewers.add(index)
        else shared.set(key, { objects: 1, bytes, viewers: new Set(viewers) })
      }
    }
  }
  yield* shared.values()
}

function worseOf(a: Freshness, b: Freshness): Freshness {
  const rank = { synced: 0, stale: 1, syncing: 2 }
  return rank[b.state] > rank[a.state] ? b : a
}
