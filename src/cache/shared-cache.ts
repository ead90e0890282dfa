/** The shared cache of one cluster: a feed a resource, made when the first consumer asks and gone with the last. */
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import type { Client } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import { labelSelector, parseFields } from '../kube/selector.ts'
import type { Member } from './delivery.ts'
import { Feed } from './feed.ts'
import { createInternPool } from './intern.ts'
import { describeCover, type Need } from './need.ts'
import { defaultReflectorOptions, type Freshness, type ReflectorOptions, type ServerTraits } from './reflector.ts'
import type { ConsumerProblem, IndexFunction, SubscribeOptions, Subscription } from './subscription.ts'
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
  /** Verbs whose answers enter the cache, in the name of a consumer. */
  writer(consumer: string): Writer
  report(): readonly FeedReport[]
  /** Ends all watches; subscriptions fail from now on. */
  close(): void
}

export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { client, clock = systemClock, random = systemRandom, onProblem = () => undefined } = options
  const reflector: ReflectorOptions = { ...defaultReflectorOptions, ...options.reflector }
  const pool = createInternPool()
  const traits: ServerTraits = { streamsLists: true }
  const feeds = new Map<string, Feed>()
  const resources = new Map<string, Resource>()
  let isClosed = false

  const feedOf = (resource: Resource): Feed => {
    const key = formatResource(resource)
    let feed = feeds.get(key)
    if (!feed) {
      feed = new Feed({ client, clock, random, resource, pool, traits, options: reflector, onProblem })
      feeds.set(key, feed)
      resources.set(key, resource)
    }
    return feed
  }

  return {
    subscribe<T extends KubeObject>(resource: Resource, wish: SubscribeOptions<T>): Subscription<T> {
      if (isClosed) throw new MusterError('CacheClosed', `${formatResource(resource)}: the cache is closed.`)
      const feed = feedOf(resource)
      const leave = (member: Member): void => {
        feed.leave(member)
        const key = formatResource(resource)
        if (feed.members.size === 0 && feeds.get(key) === feed) feeds.delete(key)
      }
      return createSubscription(resource, wish, feed, leave, clock)
    },
    writer(consumer) {
      return createWriter(client, (resource, ref) => feeds.get(formatResource(resource))?.beginWrite(ref, consumer))
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

function createSubscription<T extends KubeObject>(
  resource: Resource,
  wish: SubscribeOptions<T>,
  feed: Feed,
  leave: (member: Member) => void,
  clock: Clock,
): Subscription<T> {
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const look of waiting) look()
  }
  // The feed knows objects, the consumer knows their kind: the cast is where the two meet.
  const member: Member = {
    consumer: wish.consumer,
    need: needOf(resource, wish),
    onEvent: wish.onEvent as Member['onEvent'],
    onFreshness(freshness) {
      wake()
      wish.onFreshness?.(freshness)
    },
    onSynced: wake,
    indexes: (wish.indexes ?? {}) as Record<string, IndexFunction<KubeObject>>,
    filter: undefined,
  }
  const name = formatResource(resource)

  const visible = (objects: Iterable<KubeObject>): readonly T[] => {
    const seen: T[] = []
    for (const object of objects) if (member.filter!(object)) seen.push(object as T)
    return seen
  }

  const store = (): ReturnType<Feed['storeFor']> => {
    if (!feed.members.has(member))
      throw new MusterError('CacheClosed', `${name}: the subscription of ${wish.consumer} is closed.`)
    return feed.storeFor(member)
  }

  feed.join(member)
  return {
    resource,
    consumer: wish.consumer,
    get freshness() {
      return feed.freshness()
    },
    get(ref) {
      const object = store().get(ref.namespace, ref.name)
      return object && member.filter!(object) ? (object as T) : undefined
    },
    list: (namespace) => visible(store().list(namespace)),
    byOwner: (uid) => visible(store().byOwner(uid)),
    byIndex(index, key) {
      const keysOf = member.indexes[index]
      if (!keysOf) throw new MusterError('IndexNotFound', `${name}: ${wish.consumer} declared no index "${index}".`)
      return visible(store().byIndex(keysOf, key))
    },
    synced({ timeoutMs, signal } = {}) {
      return new Promise<void>((resolve, reject) => {
        const settle = (act: () => void): void => {
          waiting.delete(look)
          timer?.cancel()
          signal?.removeEventListener('abort', abort)
          act()
        }
        const look = (): void => {
          if (member.filter) settle(resolve)
          else if (!feed.members.has(member))
            settle(() => reject(new MusterError('CacheClosed', `${name}: closed while waiting.`)))
        }
        const abort = (): void => settle(() => reject(signal!.reason as Error))
        const expire = (): void => {
          const { reason = 'the server has not answered yet' } = feed.freshness()
          settle(() => reject(new MusterError('SyncTimeout', `${name}: not synced after ${timeoutMs} ms: ${reason}`)))
        }
        const timer = timeoutMs === undefined ? undefined : clock.after(timeoutMs, expire)
        if (signal?.aborted) return abort()
        signal?.addEventListener('abort', abort, { once: true })
        waiting.add(look)
        look()
      })
    },
    close() {
      if (!feed.members.has(member)) return
      leave(member)
      wake()
    },
  }
}

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
