/** The shared cache of one cluster: a feed a resource, made when the first consumer asks and gone with the last. */
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import type { Client, ObjectRef } from '../client/client.ts'
import type { Store } from './store.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { labelSelector, parseFields } from '../kube/selector.ts'
import type { Member } from './delivery.ts'
import { Feed } from './feed.ts'
import { createInternPool } from './intern.ts'
import { describeCover, type Need } from './need.ts'
import { defaultReflectorOptions, type Freshness, type ReflectorOptions, type ServerTraits } from './reflector.ts'
import type { ConsumerProblem, SubscribeOptions, Subscription, SyncOptions } from './subscription.ts'
import { createWarmUp } from './warm-up.ts'
import { createWriter, type Writer } from './writer.ts'

export interface SharedCacheOptions {
  readonly client: Client
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly reflector?: Partial<ReflectorOptions> | undefined
  /** What consumers' code threw. It was contained; say it somewhere. @default ignored */
  readonly onProblem?: ((problem: ConsumerProblem) => void) | undefined
}

/** How one resource stands: for health checks, metrics and the console. */
export interface FeedReport {
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
  report(): readonly FeedReport[]
  /** Ends all watches; subscriptions fail from now on. */
  close(): void
}

export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { client, clock = systemClock, random = systemRandom, onProblem = () => undefined } = options
  const reflector: ReflectorOptions = { ...defaultReflectorOptions, ...options.reflector }
  const pool = createInternPool()
  const warmUp = createWarmUp()
  const traits: ServerTraits = { streamsLists: true }
  const feeds = new Map<string, Feed>()
  const resources = new Map<string, Resource>()
  let isClosed = false

  const feedOf = (resource: Resource): Feed => {
    const key = formatResource(resource)
    let feed = feeds.get(key)
    if (!feed) {
      feed = new Feed({ client, clock, random, resource, pool, warmUp, traits, options: reflector, onProblem })
      feeds.set(key, feed)
      resources.set(key, resource)
    }
    return feed
  }

  return {
    subscribe<T extends KubeObject>(resource: Resource, wish: SubscribeOptions<T>): Subscription<T> {
      if (isClosed) throw new MusterError('CacheClosed', `${formatResource(resource)}: the cache is closed.`)
      const feed = feedOf(resource)
      return new FeedSubscription(resource, wish, feed, clock, () => {
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
  const namespaces = resource.namespaced ? (wish.namespaces ?? [undefined]) : [undefined]
  return {
    scopes: namespaces.map((namespace) => ({ namespace, labels, fields })),
    detail: wish.detail ?? 'full',
    managedFields: wish.managedFields ?? false,
  }
}

/** What a consumer holds: a member of a feed, seen as a subscription. */
class FeedSubscription<T extends KubeObject> implements Subscription<T> {
  readonly resource: Resource
  readonly #feed: Feed
  readonly #clock: Clock
  readonly #member: Member
  readonly #onLeave: () => void
  #waiting: Set<() => void> | undefined

  constructor(resource: Resource, wish: SubscribeOptions<T>, feed: Feed, clock: Clock, onLeave: () => void) {
    this.resource = resource
    this.#feed = feed
    this.#clock = clock
    this.#onLeave = onLeave
    // The feed knows objects, the consumer knows their kind: the casts are where the two meet.
    this.#member = {
      consumer: wish.consumer,
      need: needOf(resource, wish),
      onEvent: wish.onEvent as Member['onEvent'],
      onFreshness: wish.onFreshness,
      wake: () => this.#wake(),
      indexes: wish.indexes ?? noIndexes,
      filter: undefined,
    }
    feed.join(this.#member)
  }

  get consumer(): string {
    return this.#member.consumer
  }

  get freshness(): Freshness {
    return this.#feed.freshness()
  }

  get({ namespace, name }: ObjectRef): T | undefined {
    const object = this.#store().get(namespace, name)
    return object && this.#member.filter!(object) ? (object as T) : undefined
  }

  list(namespace?: string): readonly T[] {
    return this.#visible(this.#store().list(namespace))
  }

  byOwner(uid: string): readonly T[] {
    return this.#visible(this.#store().byOwner(uid))
  }

  byIndex(index: string, key: string): readonly T[] {
    const { indexes, consumer } = this.#member
    const keysOf = indexes[index]
    if (!keysOf) throw new MusterError('IndexNotFound', `${this.#name}: ${consumer} declared no index "${index}".`)
    return this.#visible(this.#store().byIndex(keysOf, key))
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
        if (this.#member.filter) settle(resolve)
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

  #store(): Store {
    if (this.#isOpen) return this.#feed.storeFor(this.#member)
    throw new MusterError('CacheClosed', `${this.#name}: the subscription of ${this.consumer} is closed.`)
  }

  #visible(objects: Iterable<KubeObject>): readonly T[] {
    const filter = this.#member.filter!
    const seen: T[] = []
    for (const object of objects) if (filter(object)) seen.push(object as T)
    return seen
  }
}

const noIndexes = {}

function reportFeed(resource: Resource, feed: Feed): FeedReport {
  const { store } = feed
  const members = [...feed.members]
  const shares = members.map(({ consumer }) => ({ consumer, objects: 0, bytes: 0 }))
  const each = store && store.size > 0 ? store.bytes / store.size : 0
  for (const object of store?.list() ?? []) {
    const viewers = members.map((member, index) => (member.filter?.(object) ? index : -1)).filter((index) => index >= 0)
    for (const index of viewers) {
      shares[index]!.objects++
      shares[index]!.bytes += each / viewers.length
    }
  }
  return {
    resource,
    freshness: feed.freshness(),
    watches: feed.watches,
    cover: describeCover(feed.cover),
    objects: store?.size ?? 0,
    bytes: store?.bytes ?? 0,
    consumers: shares,
  }
}
