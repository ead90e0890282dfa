/**
 * A resource informer serves all subscribers of one resource. From their needs it derives the set of informers (one for
 * each watch), and which of them each subscriber reads from.
 *
 * Each scope of a subscriber's need has a *listener* on one informer. When needs change, `watch-plan.ts` computes the new
 * set of watches. A listener that has to change its informer keeps the old one until the new one has listed and has
 * reached the resource version of the last event delivered to the listener. Then it moves in one step: the consumer sees
 * the old state, then the new one, never a mixture and never an earlier one. An informer without listeners is stopped.
 */
import type { ObjectRef } from '../client/client.ts'
import { cacheErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { formatApiVersion, formatResource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { createDecoder, type Decoder } from './decode/decode.ts'
import type { DeliveryListener } from './delivery.ts'
import type { InternPool } from './decode/intern.ts'
import { cacheKey, refOf } from './key.ts'
import {
  describeShape,
  describeWatch,
  matchesAll,
  filterOf,
  mayConcern,
  mayMeet,
  type Need,
  type WatchScope,
  type Watch,
} from './need.ts'
import { isLater } from './resource-version.ts'
import type { Freshness } from './reflector.ts'
import { Informer, type InformerInput, type InformerOwner, type WriteTicket } from './informer.ts'
import { isSameState } from './store.ts'
import type { CacheEvent } from './subscription.ts'
import { type PlannedWatch, planWatches } from './watch-plan.ts'

interface ResourceInformerInput extends InformerInput {
  readonly pool: InternPool
  readonly mostWatches: number
}

/** A subscription as the resource informer keeps it. */
export interface SubscriberOptions {
  readonly consumer: string
  readonly need: Need
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  readonly ownWrites: boolean
  readonly onFreshness: ((freshness: Freshness) => void) | undefined
  /** Called when the subscriber becomes ready or is removed, so that `synced()` can settle. */
  readonly wake: () => void
  readonly indexes: Readonly<Record<string, (object: KubeObject) => readonly string[]>>
}

/** One consumer of the resource. */
export interface Subscriber extends SubscriberOptions {
  /** One for each scope of the need. */
  readonly listeners: readonly ScopeListener[]
  /** The whole need has been listed: reads are allowed. */
  readonly isReady: boolean
}

/** Connects one scope of a need to an informer. */
export interface ScopeListener extends DeliveryListener {
  readonly scope: WatchScope
  /** The informer it reads from; undefined before the first list. */
  readonly informer: Informer | undefined
}

interface MutableSubscriber extends Subscriber {
  readonly listeners: readonly MutableListener[]
  isReady: boolean
  reported: Freshness
}

interface MutableListener extends ScopeListener {
  readonly subscriber: MutableSubscriber
  matches: (object: KubeObject) => boolean
  informer: Informer | undefined
  /** The informer it will move to. */
  next: Informer | undefined
}

export class ResourceInformer implements InformerOwner {
  readonly #input: ResourceInformerInput
  readonly #subscribers = new Set<MutableSubscriber>()
  readonly #informers = new Set<Informer>()
  /** By shape: what a decoder learns serves all informers of that shape. Created with the first object: many resources have none. */
  readonly #decoders = new Map<string, Decoder>()
  /** Valid while the set of informers does not change. */
  readonly #overlaps = new Map<Informer, readonly Informer[]>()
  /** Watches that the server answered with Forbidden. */
  readonly #refused = new Set<string>()
  /** Listeners that wait to move to another informer. */
  readonly #moving = new Set<MutableListener>()
  #isPlanScheduled = false

  constructor(input: ResourceInformerInput) {
    this.#input = input
  }

  get subscribers(): ReadonlySet<Subscriber> {
    return this.#subscribers
  }

  get informers(): ReadonlySet<Informer> {
    return this.#informers
  }

  subscribe(options: SubscriberOptions): Subscriber {
    const listeners: MutableListener[] = []
    const state = options.need.scopes.length === 0 ? 'synced' : 'syncing'
    const reported: Freshness = { state, since: this.#input.clock.now() }
    const subscriber: MutableSubscriber = { ...options, listeners, isReady: false, reported }
    const { consumer, onEvent, ownWrites } = options
    for (const scope of options.need.scopes) {
      listeners.push({
        subscriber,
        consumer,
        onEvent,
        ownWrites,
        scope,
        matches: () => false,
        deliveredVersion: '',
        informer: undefined,
        next: undefined,
      })
    }
    this.#subscribers.add(subscriber)
    this.#schedulePlan()
    return subscriber
  }

  /** Removes the subscriber; without subscribers all informers stop. */
  unsubscribe(subscriber: Subscriber): void {
    const mutable = subscriber as MutableSubscriber
    if (!this.#subscribers.delete(mutable)) return
    for (const listener of mutable.listeners) {
      this.#moving.delete(listener)
      listener.informer?.delivery.listeners.delete(listener)
      for (const informer of [listener.informer, listener.next]) if (informer) this.#removeIndexes(informer, mutable)
      listener.informer = undefined
      listener.next = undefined
    }
    mutable.wake()
    if (this.#subscribers.size > 0) this.#schedulePlan()
    else for (const informer of this.#informers) this.#end(informer)
  }

  /** @throws NotSynced */
  check(subscriber: Subscriber): void {
    if (subscriber.isReady) return
    const { reason } = this.freshnessOf(subscriber)
    const why = reason === undefined ? '' : ` ${reason}`
    const name = formatResource(this.#input.resource)
    throw new MusterError(cacheErrors.NotSynced, `${name} has not been listed for ${subscriber.consumer} yet.${why}`)
  }

  /** The worst freshness of the informers that serve the subscriber, or that it waits for. */
  freshnessOf(subscriber: Subscriber): Freshness {
    const rank = { synced: 0, stale: 1, syncing: 2 }
    let worst: Freshness | undefined
    for (const { informer, next } of (subscriber as MutableSubscriber).listeners) {
      const freshness = (informer ?? next)?.freshness
      if (freshness && (!worst || rank[freshness.state] > rank[worst.state])) worst = freshness
    }
    return worst ?? (subscriber as MutableSubscriber).reported
  }

  beginWrite(ref: ObjectRef, consumer: string): WriteTicket {
    const begun = new Map<Informer, WriteTicket>()
    const each = (act: (ticket: WriteTicket) => void): void => {
      for (const informer of this.#informers) {
        if (!mayConcern(informer.watch.scope, ref)) continue
        // An informer that was created during the write needs the result, too.
        act(begun.get(informer) ?? informer.beginWrite(ref, consumer, true))
      }
    }
    for (const informer of this.#informers) {
      if (mayConcern(informer.watch.scope, ref)) begun.set(informer, informer.beginWrite(ref, consumer))
    }
    return {
      written: (object) => each((ticket) => ticket.written(object)),
      deleted: (uid) => each((ticket) => ticket.deleted(uid)),
      failed: () => each((ticket) => ticket.failed()),
    }
  }

  // ── called by informers ────────────────────────────────────────────────────────────────────────────────────────

  decoderOf({ watch: { shape } }: Informer): Decoder {
    const key = describeShape(shape)
    let decoder = this.#decoders.get(key)
    if (!decoder) {
      const { resource, pool } = this.#input
      const { detail, managedFields: keepManagedFields } = shape
      const { kind } = resource
      decoder = createDecoder({ apiVersion: formatApiVersion(resource), kind, pool, detail, keepManagedFields })
      this.#decoders.set(key, decoder)
    }
    return decoder
  }

  overlapping(informer: Informer): readonly Informer[] {
    let overlaps = this.#overlaps.get(informer)
    if (!overlaps) {
      const shape = describeShape(informer.watch.shape)
      overlaps = [...this.#informers].filter(
        ({ watch }) =>
          watch !== informer.watch &&
          mayMeet(watch.scope, informer.watch.scope) &&
          describeShape(watch.shape) === shape,
      )
      this.#overlaps.set(informer, overlaps)
    }
    return overlaps
  }

  onProgress(informer: Informer): void {
    if (this.#moving.size > 0) this.#moveTo(informer)
  }

  onListed(informer: Informer): void {
    // The watch is allowed now: needs within it no longer require watches of their own.
    if (this.#refused.delete(describeWatch(informer.watch))) this.#schedulePlan()
    this.#activate()
    this.#moveTo(informer)
    this.onFreshness(informer)
  }

  onRefused({ watch }: Informer): void {
    const key = describeWatch(watch)
    if (this.#refused.has(key)) return
    this.#refused.add(key)
    this.#schedulePlan()
  }

  onFreshness(informer: Informer): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.listeners.some((listener) => listener.informer === informer || listener.next === informer))
        this.#reportFreshness(subscriber)
    }
  }

  #reportFreshness(subscriber: MutableSubscriber): void {
    const { consumer, onFreshness, reported } = subscriber
    const worst = this.freshnessOf(subscriber)
    if (worst.state === reported.state && worst.reason === reported.reason) return
    subscriber.reported = worst
    if (onFreshness) this.#guard(consumer, 'onFreshness', () => onFreshness(worst))
  }

  // ── assigning listeners ─────────────────────────────────────────────────────────────────────────────────────────

  /** Computes the watches anew. Subscriptions made in the same tick are one change. */
  #schedulePlan(): void {
    if (this.#isPlanScheduled) return
    this.#isPlanScheduled = true
    // Deferred also because the caller must hold its subscription before the first event arrives.
    queueMicrotask(() => {
      this.#isPlanScheduled = false
      if (this.#subscribers.size === 0) return
      this.#plan()
      this.#activate()
      for (const informer of this.#informers) this.#moveTo(informer)
    })
  }

  #plan(): void {
    const needs = [...this.#subscribers].flatMap(({ need }) =>
      need.scopes.map((scope) => ({ scope, shape: need.shape })),
    )
    const joined = [...this.#informers].flatMap((informer): readonly PlannedWatch[] => {
      const { watch, isJoined, scopes } = informer
      return isJoined ? [{ watch, isJoined, needs: scopes.map((scope) => ({ scope, shape: watch.shape })) }] : []
    })
    const isRefused = (watch: Watch): boolean => this.#refused.size > 0 && this.#refused.has(describeWatch(watch))
    const assigned = new Map<string, Informer>()
    const existing = Map.groupBy(this.#informers, ({ watch }) => describeWatch(watch))
    for (const planned of planWatches({ needs, joined, isRefused, most: this.#input.mostWatches })) {
      const informer = this.#informerFor(planned, existing.get(describeWatch(planned.watch)) ?? [])
      for (const { scope, shape } of planned.needs) assigned.set(`${scope.key} ${describeShape(shape)}`, informer)
    }
    for (const subscriber of this.#subscribers) {
      const shape = describeShape(subscriber.need.shape)
      for (const listener of subscriber.listeners)
        this.#assign(listener, assigned.get(`${listener.scope.key} ${shape}`)!)
    }
    this.#tidy()
    for (const subscriber of this.#subscribers) this.#reportFreshness(subscriber)
  }

  /** An existing informer of the same watch that holds all scopes, or a new one. */
  #informerFor({ watch, needs, isJoined }: PlannedWatch, same: readonly Informer[]): Informer {
    const known = same.find((informer) => needs.every(({ scope }) => informer.serves(scope)))
    if (known) return known
    const scopes = needs.map(({ scope }) => scope)
    const informer = new Informer(this.#input, this, watch, scopes, isJoined)
    this.#informers.add(informer)
    this.#overlaps.clear()
    return informer
  }

  #assign(listener: MutableListener, informer: Informer): void {
    const { subscriber } = listener
    const next = listener.informer === informer ? undefined : informer
    if (listener.next === next) return
    if (listener.next) this.#removeIndexes(listener.next, subscriber)
    listener.next = next
    if (next) this.#addIndexes(next, subscriber)
    if (next && listener.informer) this.#moving.add(listener)
    else this.#moving.delete(listener)
  }

  /** Narrows each informer to the scopes of its listeners; stops those without listeners. */
  #tidy(): void {
    const scopes = new Map<Informer, WatchScope[]>([...this.#informers].map((informer) => [informer, []]))
    for (const { listeners } of this.#subscribers) {
      for (const { scope, informer, next } of listeners) {
        if (informer) scopes.get(informer)?.push(scope)
        if (next) scopes.get(next)?.push(scope)
      }
    }
    for (const [informer, held] of scopes) {
      if (held.length === 0) this.#end(informer)
      else informer.holdOnly(held)
    }
  }

  #end(informer: Informer): void {
    informer.stop()
    this.#informers.delete(informer)
    this.#overlaps.clear()
  }

  /** Subscribers whose whole need has been listed become ready; first they receive the existing objects. */
  #activate(): void {
    for (const subscriber of this.#subscribers) {
      if (subscriber.isReady || !subscriber.listeners.every(({ next }) => next?.isListed)) continue
      subscriber.isReady = true
      for (const listener of subscriber.listeners) this.#attach(listener)
      for (const listener of subscriber.listeners)
        listener.informer?.delivery.notifyInitial(listener, visibleTo(listener))
      subscriber.wake()
    }
  }

  #attach(listener: MutableListener): void {
    const informer = listener.next!
    listener.informer = informer
    listener.next = undefined
    listener.deliveredVersion = informer.reached ?? ''
    listener.matches = filterOf(listener.scope, informer.watch.scope)
    informer.delivery.listeners.add(listener)
  }

  /** Moves listeners that wait for this informer, if it has reached the last version delivered to them. */
  #moveTo(informer: Informer): void {
    if (!informer.isListed) return
    const ready = [...this.#moving].filter(
      (listener) => listener.next === informer && !isLater(listener.deliveredVersion, informer.reached ?? ''),
    )
    for (const listener of ready) this.#move(listener)
    if (ready.length > 0) this.#tidy()
  }

  #move(listener: MutableListener): void {
    const { subscriber, informer: from } = listener
    if (!from || !listener.next) return
    const before = new Map(visibleTo(listener).map((object) => [cacheKey(refOf(object)), object]))
    const missed = from.removeListener(listener)
    for (const [key, known] of missed) {
      if (known && listener.matches(known)) before.set(key, known)
      else before.delete(key)
    }
    this.#removeIndexes(from, subscriber)
    this.#moving.delete(listener)
    this.#attach(listener)
    const { delivery } = listener.informer!
    for (const object of visibleTo(listener)) {
      const key = cacheKey(refOf(object))
      const previous = before.get(key)
      before.delete(key)
      // The same version with more or fewer fields is no change. But the consumer's own write may hide another client's change.
      if (!previous || !isSameState(previous, object)) delivery.notify(listener, previous, object)
      else if (missed.has(key)) delivery.notifyHidden(listener, object)
    }
    for (const previous of before.values()) delivery.notify(listener, previous, undefined)
    this.#reportFreshness(subscriber)
  }

  #addIndexes({ store }: Informer, { consumer, indexes }: MutableSubscriber): void {
    for (const index of Object.values(indexes)) {
      store.addIndex(index, (object) => {
        let keys: readonly string[] = []
        this.#guard(consumer, 'index', () => void (keys = index(object)))
        return keys
      })
    }
  }

  #removeIndexes({ store }: Informer, { indexes }: MutableSubscriber): void {
    for (const index of Object.values(indexes)) store.removeIndex(index)
  }

  #guard(consumer: string, where: 'index' | 'onFreshness', work: () => void): void {
    const { resource, onProblem } = this.#input
    try {
      work()
    } catch (error) {
      onProblem({ consumer, resource, where, error })
    }
  }
}

/** The objects that match the listener, of all namespaces or of one. */
export function visibleTo({ informer, scope, matches }: ScopeListener, namespace?: string): readonly KubeObject[] {
  if (!informer || (namespace !== undefined && scope.namespace !== undefined && scope.namespace !== namespace))
    return []
  const place = scope.namespace ?? namespace
  // A single name is a lookup, not a scan.
  if (scope.name !== undefined && place !== undefined) {
    const object = informer.store.get(place, scope.name)
    return object && matches(object) ? [object] : []
  }
  const objects = informer.store.list(place)
  return matches === matchesAll ? objects : objects.filter(matches)
}
