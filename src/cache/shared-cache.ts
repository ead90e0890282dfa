/** The shared cache of one cluster: one resource informer per resource, from the first subscription to the last. */
import type { Clock } from '../clock/clock.ts'
import { systemClock } from '../clock/system-clock.ts'
import { type Random, systemRandom } from '../clock/random.ts'
import type { Client, ObjectRef } from '../client/client.ts'
import { cacheErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import type { TypedResource } from '../kube/typed-resource.ts'
import type { KubeObject, Named, UntypedObject } from '../kube/object.ts'
import { labelSelector, parseFields } from '../kube/selector/selector.ts'
import {
  ResourceInformer,
  type Subscriber,
  type SubscriberOptions,
  type ScopeListener,
  visibleTo,
} from './resource-informer.ts'
import { createInternPool } from './decode/intern.ts'
import { cacheKey, refOf } from './key.ts'
import { describeWatch, matchesAll, mayConcern, mayMeet, type Need, scopeOf } from './need.ts'
import { defaultReflectorOptions, type Freshness, type ReflectorOptions, type ServerTraits } from './reflector.ts'
import type { ConsumerProblem, SubscribeOptions, Subscription, SyncOptions } from './subscription.ts'
import type { Informer } from './informer.ts'
import { mostWatches as mostWatchesByDefault } from './watch-plan.ts'
import { createWriter, type Writer } from './writer.ts'

export interface SharedCacheOptions {
  readonly client: Client
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly reflector?: Partial<ReflectorOptions> | undefined
  /** Watches per resource, beyond which several are joined; `watch-plan.ts` has the rule. @default 50 */
  readonly mostWatches?: number | undefined
  /** Called with errors thrown by consumers' callbacks. The cache continues; report them. @default ignored */
  readonly onProblem?: ((problem: ConsumerProblem) => void) | undefined
}

/** The state of one resource: for health checks, metrics and the console. */
export interface InformerReport {
  readonly resource: Resource
  readonly freshness: Freshness
  /** Watches that are open or being opened. */
  readonly watches: number
  readonly cover: string
  readonly objects: number
  /** Estimated memory of the cached objects. */
  readonly bytes: number
  readonly consumers: readonly ConsumerReport[]
}

export interface ConsumerReport {
  readonly consumer: string
  /** Objects that match its subscriptions. */
  readonly objects: number
  /** Its share of the memory: the cost of an object is divided among its consumers. */
  readonly bytes: number
}

export interface SharedCache {
  subscribe<T extends KubeObject = UntypedObject>(
    resource: TypedResource<T>,
    options: SubscribeOptions<NoInfer<T>>,
  ): Subscription<T>
  /**
   * Verbs of a client whose responses enter the cache, on behalf of a consumer. `through` is a client of the same cluster
   * with another identity. @default the cache's own client
   */
  writer(consumer: string, through?: Client): Writer
  report(): readonly InformerReport[]
  /** Ends all watches; subscriptions fail from now on. */
  close(): void
}

export function createSharedCache(options: SharedCacheOptions): SharedCache {
  const { client, clock = systemClock, random = systemRandom, onProblem = () => undefined } = options
  const { mostWatches = mostWatchesByDefault } = options
  const reflector: ReflectorOptions = { ...defaultReflectorOptions, ...options.reflector }
  const pool = createInternPool()
  const traits: ServerTraits = { streamsLists: true }
  const resourceInformers = new Map<string, ResourceInformer>()
  const resources = new Map<string, Resource>()
  let isClosed = false

  const resourceInformerOf = (resource: Resource): ResourceInformer => {
    const key = formatResource(resource)
    let resourceInformer = resourceInformers.get(key)
    if (!resourceInformer) {
      const shared = { client, clock, random, pool, traits, options: reflector, onProblem, mostWatches }
      resourceInformer = new ResourceInformer({ resource, ...shared })
      resourceInformers.set(key, resourceInformer)
      resources.set(key, resource)
    }
    return resourceInformer
  }

  return {
    subscribe<T extends KubeObject>(resource: TypedResource<T>, request: SubscribeOptions<T>): Subscription<T> {
      if (isClosed) throw new MusterError(cacheErrors.CacheClosed, `${formatResource(resource)}: the cache is closed.`)
      const resourceInformer = resourceInformerOf(resource)
      return new InformerSubscription(resource, request, resourceInformer, clock, () => {
        const key = formatResource(resource)
        if (resourceInformer.subscribers.size === 0 && resourceInformers.get(key) === resourceInformer)
          resourceInformers.delete(key)
      })
    },
    writer(consumer, through = client) {
      return createWriter(through, (resource, ref) =>
        resourceInformers.get(formatResource(resource))?.beginWrite(ref, consumer),
      )
    },
    report: () =>
      [...resourceInformers].map(([key, resourceInformer]) => reportResource(resources.get(key)!, resourceInformer)),
    close() {
      isClosed = true
      for (const resourceInformer of resourceInformers.values())
        for (const subscriber of resourceInformer.subscribers) resourceInformer.unsubscribe(subscriber)
      resourceInformers.clear()
    },
  }
}

function needOf<T extends KubeObject>(resource: Resource, request: SubscribeOptions<T>): Need {
  const labels = labelSelector(request.labels ?? '')
  const fields = parseFields(request.fields ?? '')
  const namespaces = resource.namespaced ? new Set(request.namespaces ?? [undefined]) : [undefined]
  const { namePrefix: prefix, detail = 'full', managedFields = false } = request
  return {
    scopes: [...namespaces].map((namespace) => scopeOf({ namespace, labels, fields, prefix })),
    shape: { detail, managedFields },
  }
}

/** A subscriber of a resource informer, as the consumer holds it. */
class InformerSubscription<T extends KubeObject> implements Subscription<T> {
  readonly resource: Resource
  readonly #resourceInformer: ResourceInformer
  readonly #clock: Clock
  readonly #subscriber: Subscriber
  readonly #onClose: () => void
  #waiting: Set<() => void> | undefined

  constructor(
    resource: Resource,
    request: SubscribeOptions<T>,
    resourceInformer: ResourceInformer,
    clock: Clock,
    onClose: () => void,
  ) {
    this.resource = resource
    this.#resourceInformer = resourceInformer
    this.#clock = clock
    this.#onClose = onClose
    // The informer handles untyped objects, the consumer typed ones: the casts are here.
    this.#subscriber = resourceInformer.subscribe({
      consumer: request.consumer,
      need: needOf(resource, request),
      onEvent: request.onEvent as SubscriberOptions['onEvent'],
      ownWrites: request.ownWrites ?? false,
      onFreshness: request.onFreshness,
      wake: () => this.#wake(),
      indexes: request.indexes ?? noIndexes,
    })
  }

  get consumer(): string {
    return this.#subscriber.consumer
  }

  get freshness(): Freshness {
    return this.#resourceInformer.freshnessOf(this.#subscriber)
  }

  get(ref: ObjectRef): Named<T> | undefined {
    this.#check()
    for (const { scope, informer, matches } of this.#subscriber.listeners) {
      const object = mayConcern(scope, ref) ? informer?.store.get(ref.namespace, ref.name) : undefined
      if (object && matches(object)) return object as Named<T>
    }
    return undefined
  }

  list(namespace?: string): readonly Named<T>[] {
    this.#check()
    return this.#gather((listener) => visibleTo(listener, namespace))
  }

  byOwner(uid: string): readonly Named<T>[] {
    this.#check()
    return this.#gather(({ informer, matches }) => informer!.store.byOwner(uid).filter(matches))
  }

  byIndex(index: string, key: string): readonly Named<T>[] {
    const { indexes, consumer } = this.#subscriber
    const keysOf = indexes[index]
    if (!keysOf)
      throw new MusterError(cacheErrors.IndexNotFound, `${this.#name}: ${consumer} declared no index "${index}".`)
    this.#check()
    return this.#gather(({ informer, matches }) => informer!.store.byIndex(keysOf, key).filter(matches))
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
        if (this.#subscriber.isReady) settle(resolve)
        else if (!this.#isOpen)
          settle(() => reject(new MusterError(cacheErrors.CacheClosed, `${this.#name}: closed while waiting.`)))
      }
      const abort = (): void => settle(() => reject(signal!.reason as Error))
      const expire = (): void => {
        const { reason = 'the server has not answered yet' } = this.freshness
        settle(() =>
          reject(
            new MusterError(cacheErrors.SyncTimeout, `${this.#name}: not synced after ${timeoutMs} ms: ${reason}`),
          ),
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
    this.#resourceInformer.unsubscribe(this.#subscriber)
    this.#onClose()
  }

  get #name(): string {
    return formatResource(this.resource)
  }

  get #isOpen(): boolean {
    return this.#resourceInformer.subscribers.has(this.#subscriber)
  }

  #wake(): void {
    for (const look of this.#waiting ?? []) look()
  }

  #check(): void {
    if (this.#isOpen) this.#resourceInformer.check(this.#subscriber)
    else
      throw new MusterError(cacheErrors.CacheClosed, `${this.#name}: the subscription of ${this.consumer} is closed.`)
  }

  /** The scopes of a need have different namespaces: no object appears twice. */
  #gather(read: (listener: ScopeListener) => readonly KubeObject[]): readonly Named<T>[] {
    const { listeners } = this.#subscriber
    return (listeners.length === 1 ? read(listeners[0]!) : listeners.flatMap(read)) as readonly Named<T>[]
  }
}

const noIndexes = {}

function reportResource(resource: Resource, resourceInformer: ResourceInformer): InformerReport {
  const informers = [...resourceInformer.informers]
  const subscribers = [...resourceInformer.subscribers]
  // A consumer with several subscriptions is one consumer.
  const consumers = [...new Set(subscribers.map(({ consumer }) => consumer))]
  const shares = consumers.map((consumer) => ({ consumer, objects: 0, bytes: 0 }))
  let [objects, bytes] = [0, 0]
  for (const held of holdings(informers, subscribers, consumers)) {
    objects += held.objects
    bytes += held.bytes
    for (const index of held.viewers) {
      shares[index]!.objects += held.objects
      shares[index]!.bytes += held.bytes / held.viewers.size
    }
  }
  const freshness = subscribers.map((subscriber) => resourceInformer.freshnessOf(subscriber))
  return {
    resource,
    freshness: freshness.reduce(worseOf),
    watches: informers.length,
    cover: informers.map(({ watch }) => describeWatch(watch)).join(', '),
    objects,
    bytes,
    consumers: shares,
  }
}

/** Cached objects, their memory, and which consumers (by index) see them. */
interface Holding {
  readonly objects: number
  readonly bytes: number
  readonly viewers: Set<number>
}

/**
 * Counts each object once: overlapping informers share it. Objects are visited one by one only where informers overlap or a
 * listener matches a part: reports are made every few seconds, and caches may be large.
 */
function* holdings(
  informers: readonly Informer[],
  subscribers: readonly Subscriber[],
  consumers: readonly string[],
): Generator<Holding> {
  const indexes = new Map(consumers.map((consumer, index) => [consumer, index]))
  const shared = new Map<string, Holding>()
  for (const informer of informers) {
    const { store, watch } = informer
    if (store.size === 0) continue
    const listeners = subscribers.flatMap((subscriber) =>
      subscriber.listeners
        .filter((listener) => listener.informer === informer)
        .map(({ consumer, matches }) => ({ index: indexes.get(consumer)!, matches })),
    )
    const isAlone = informers.every((other) => other === informer || !mayMeet(other.watch.scope, watch.scope))
    if (isAlone && listeners.every(({ matches }) => matches === matchesAll)) {
      yield { objects: store.size, bytes: store.bytes, viewers: new Set(listeners.map(({ index }) => index)) }
      continue
    }
    const bytes = store.bytes / store.size
    for (const object of store.list()) {
      const viewers = listeners.filter(({ matches }) => matches(object)).map(({ index }) => index)
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
