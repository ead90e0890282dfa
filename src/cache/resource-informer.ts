/**
 * A feed serves all consumers of one resource: it decides by their needs which slices there are, and who reads from which.
 *
 * Each scope of a consumer's need has a *seat* at a slice. When needs change, `watch-plan.ts` says which watches there
 * should be; seats whose slice is to be another one stay where they are until that is listed, and is as far as what they
 * have been told. Then they move in one step: the consumer sees the old state, then the new one, never a mixture and
 * never an earlier one. A slice without seats ends.
 */
import type { ObjectRef } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import { formatApiVersion, formatResource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { createDecoder, type Decoder } from './decode.ts'
import type { DeliveryListener } from './delivery.ts'
import type { InternPool } from './intern.ts'
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
import { isLater } from './own-writes.ts'
import type { Freshness } from './reflector.ts'
import { Informer, type InformerInput, type InformerOwner, type WriteTicket } from './informer.ts'
import { isSameState } from './store.ts'
import type { CacheEvent, IndexFunction } from './subscription.ts'
import { type PlannedWatch, planWatches } from './watch-plan.ts'

export interface ResourceInformerInput extends InformerInput {
  readonly pool: InternPool
  readonly mostWatches: number
}

/** What a consumer brings. */
export interface SubscriberOptions {
  readonly consumer: string
  readonly need: Need
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  readonly onFreshness: ((freshness: Freshness) => void) | undefined
  /** Called when the member may read, or is a member no longer: whoever waits for it looks again. */
  readonly wake: () => void
  readonly indexes: Readonly<Record<string, IndexFunction<KubeObject>>>
}

/** One consumer's part of a feed. */
export interface Subscriber extends SubscriberOptions {
  /** One for each scope of its need. */
  readonly seats: readonly ScopeListener[]
  /** May it read? */
  readonly isAdmitted: boolean
}

/** Where one scope of a need is served. */
export interface ScopeListener extends DeliveryListener {
  readonly scope: WatchScope
  /** Where it is served, once it is. */
  readonly slice: Informer | undefined
}

interface OpenSubscriber extends Subscriber {
  readonly seats: readonly OpenScopeListener[]
  isAdmitted: boolean
  reported: Freshness
}

interface OpenScopeListener extends ScopeListener {
  readonly member: OpenSubscriber
  sees: (object: KubeObject) => boolean
  slice: Informer | undefined
  /** Where it will be served. */
  next: Informer | undefined
}

export class ResourceInformer implements InformerOwner {
  readonly #input: ResourceInformerInput
  readonly #members = new Set<OpenSubscriber>()
  readonly #slices = new Set<Informer>()
  /** By shape: how objects are spelled is learnt once. Made for the first object: many a resource has none. */
  readonly #decoders = new Map<string, Decoder>()
  /** As long as the slices are the same. */
  readonly #neighbours = new Map<Informer, readonly Informer[]>()
  /** Watches that the server forbids. */
  readonly #refused = new Set<string>()
  /** Seats that wait for another slice. */
  readonly #moving = new Set<OpenScopeListener>()
  #isAdapting = false

  constructor(input: ResourceInformerInput) {
    this.#input = input
  }

  get members(): ReadonlySet<Subscriber> {
    return this.#members
  }

  get slices(): ReadonlySet<Informer> {
    return this.#slices
  }

  join(options: SubscriberOptions): Subscriber {
    const seats: OpenScopeListener[] = []
    const state = options.need.scopes.length === 0 ? 'synced' : 'syncing'
    const reported: Freshness = { state, since: this.#input.clock.now() }
    const member: OpenSubscriber = { ...options, seats, isAdmitted: false, reported }
    const { consumer, onEvent } = options
    for (const scope of options.need.scopes) {
      seats.push({ member, consumer, onEvent, scope, sees: () => false, told: '', slice: undefined, next: undefined })
    }
    this.#members.add(member)
    this.#adaptSoon()
    return member
  }

  /** Gives the member's share back; the feed stops when nobody is left. */
  leave(member: Subscriber): void {
    const open = member as OpenSubscriber
    if (!this.#members.delete(open)) return
    for (const seat of open.seats) {
      this.#moving.delete(seat)
      seat.slice?.delivery.listeners.delete(seat)
      for (const slice of [seat.slice, seat.next]) if (slice) this.#removeIndexes(slice, open)
      seat.slice = undefined
      seat.next = undefined
    }
    open.wake()
    if (this.#members.size > 0) this.#adaptSoon()
    else for (const slice of this.#slices) this.#end(slice)
  }

  /** @throws NotSynced */
  check(member: Subscriber): void {
    if (member.isAdmitted) return
    const { reason } = this.freshnessOf(member)
    const why = reason === undefined ? '' : ` ${reason}`
    const name = formatResource(this.#input.resource)
    throw new MusterError('NotSynced', `${name} has not been listed for ${member.consumer} yet.${why}`)
  }

  /** The worst of the watches that serve the member, or will for the first time. */
  freshnessOf(member: Subscriber): Freshness {
    const rank = { synced: 0, stale: 1, syncing: 2 }
    let worst: Freshness | undefined
    for (const { slice, next } of (member as OpenSubscriber).seats) {
      const freshness = (slice ?? next)?.freshness
      if (freshness && (!worst || rank[freshness.state] > rank[worst.state])) worst = freshness
    }
    return worst ?? (member as OpenSubscriber).reported
  }

  beginWrite(ref: ObjectRef, consumer: string): WriteTicket {
    const begun = new Map<Informer, WriteTicket>()
    const each = (act: (ticket: WriteTicket) => void): void => {
      for (const slice of this.#slices) {
        if (!mayConcern(slice.watch.scope, ref)) continue
        // One that was made meanwhile has to know all the same.
        act(begun.get(slice) ?? slice.beginWrite(ref, consumer, true))
      }
    }
    for (const slice of this.#slices) {
      if (mayConcern(slice.watch.scope, ref)) begun.set(slice, slice.beginWrite(ref, consumer))
    }
    return {
      written: (object) => each((ticket) => ticket.written(object)),
      deleted: (uid) => each((ticket) => ticket.deleted(uid)),
      failed: () => each((ticket) => ticket.failed()),
    }
  }

  // ── what slices say ────────────────────────────────────────────────────────────────────────────────────────

  decoderOf({ watch: { shape } }: Informer): Decoder {
    const key = describeShape(shape)
    let decoder = this.#decoders.get(key)
    if (!decoder) {
      const { resource, pool, recall } = this.#input
      const { detail, managedFields: keepManagedFields } = shape
      const { kind } = resource
      decoder = createDecoder({ apiVersion: formatApiVersion(resource), kind, pool, detail, keepManagedFields, recall })
      this.#decoders.set(key, decoder)
    }
    return decoder
  }

  neighboursOf(slice: Informer): readonly Informer[] {
    let neighbours = this.#neighbours.get(slice)
    if (!neighbours) {
      const shape = describeShape(slice.watch.shape)
      neighbours = [...this.#slices].filter(
        ({ watch }) =>
          watch !== slice.watch && mayMeet(watch.scope, slice.watch.scope) && describeShape(watch.shape) === shape,
      )
      this.#neighbours.set(slice, neighbours)
    }
    return neighbours
  }

  onProgress(slice: Informer): void {
    if (this.#moving.size > 0) this.#moveTo(slice)
  }

  onListed(slice: Informer): void {
    // What is within it needs no watch of its own any more.
    if (this.#refused.delete(describeWatch(slice.watch))) this.#adaptSoon()
    this.#admit()
    this.#moveTo(slice)
    this.onFreshness(slice)
  }

  onRefused({ watch }: Informer): void {
    const key = describeWatch(watch)
    if (this.#refused.has(key)) return
    this.#refused.add(key)
    this.#adaptSoon()
  }

  onFreshness(slice: Informer): void {
    for (const member of this.#members) {
      if (member.seats.some((seat) => seat.slice === slice || seat.next === slice)) this.#reportFreshness(member)
    }
  }

  #reportFreshness(member: OpenSubscriber): void {
    const { consumer, onFreshness, reported } = member
    const worst = this.freshnessOf(member)
    if (worst.state === reported.state && worst.reason === reported.reason) return
    member.reported = worst
    if (onFreshness) this.#guard(consumer, 'onFreshness', () => onFreshness(worst))
  }

  // ── who sits where ─────────────────────────────────────────────────────────────────────────────────────────

  /** Fits the watches to what is needed now. Many joins of one moment are one change. */
  #adaptSoon(): void {
    if (this.#isAdapting) return
    this.#isAdapting = true
    // Not at once, also because a caller wants to hold its subscription before the first event comes.
    queueMicrotask(() => {
      this.#isAdapting = false
      if (this.#members.size === 0) return
      this.#adapt()
      this.#admit()
      for (const slice of this.#slices) this.#moveTo(slice)
    })
  }

  #adapt(): void {
    const wants = [...this.#members].flatMap(({ need }) => need.scopes.map((scope) => ({ scope, shape: need.shape })))
    const joined = [...this.#slices].flatMap((slice): readonly PlannedWatch[] => {
      const { watch, isJoined, scopes } = slice
      return isJoined ? [{ watch, isJoined, wants: scopes.map((scope) => ({ scope, shape: watch.shape })) }] : []
    })
    const isRefused = (watch: Watch): boolean => this.#refused.size > 0 && this.#refused.has(describeWatch(watch))
    const home = new Map<string, Informer>()
    const there = Map.groupBy(this.#slices, ({ watch }) => describeWatch(watch))
    for (const planned of planWatches({ wants, joined, isRefused, most: this.#input.mostWatches })) {
      const slice = this.#sliceFor(planned, there.get(describeWatch(planned.watch)) ?? [])
      for (const { scope, shape } of planned.wants) home.set(`${scope.key} ${describeShape(shape)}`, slice)
    }
    for (const member of this.#members) {
      const shape = describeShape(member.need.shape)
      for (const seat of member.seats) this.#assign(seat, home.get(`${seat.scope.key} ${shape}`)!)
    }
    this.#tidy()
    for (const member of this.#members) this.#reportFreshness(member)
  }

  /** One of those with the same watch, if it holds enough, or a new one. */
  #sliceFor({ watch, wants, isJoined }: PlannedWatch, same: readonly Informer[]): Informer {
    const known = same.find((slice) => wants.every(({ scope }) => slice.serves(scope)))
    if (known) return known
    const scopes = wants.map(({ scope }) => scope)
    const slice = new Informer(this.#input, this, watch, scopes, isJoined)
    this.#slices.add(slice)
    this.#neighbours.clear()
    return slice
  }

  #assign(seat: OpenScopeListener, slice: Informer): void {
    const { member } = seat
    const next = seat.slice === slice ? undefined : slice
    if (seat.next === next) return
    if (seat.next) this.#removeIndexes(seat.next, member)
    seat.next = next
    if (next) this.#addIndexes(next, member)
    if (next && seat.slice) this.#moving.add(seat)
    else this.#moving.delete(seat)
  }

  /** Slices hold what their seats are for; those without end. */
  #tidy(): void {
    const scopes = new Map<Informer, WatchScope[]>([...this.#slices].map((slice) => [slice, []]))
    for (const { seats } of this.#members) {
      for (const { scope, slice, next } of seats) {
        if (slice) scopes.get(slice)?.push(scope)
        if (next) scopes.get(next)?.push(scope)
      }
    }
    for (const [slice, held] of scopes) {
      if (held.length === 0) this.#end(slice)
      else slice.holdOnly(held)
    }
  }

  #end(slice: Informer): void {
    slice.stop()
    this.#slices.delete(slice)
    this.#neighbours.clear()
  }

  /** Members whose whole need is listed may read from now on; they are told first what is there. */
  #admit(): void {
    for (const member of this.#members) {
      if (member.isAdmitted || !member.seats.every(({ next }) => next?.isListed)) continue
      member.isAdmitted = true
      for (const seat of member.seats) this.#sit(seat)
      for (const seat of member.seats) seat.slice?.delivery.tellInitial(seat, visibleTo(seat))
      member.wake()
    }
  }

  #sit(seat: OpenScopeListener): void {
    const slice = seat.next!
    seat.slice = slice
    seat.next = undefined
    seat.told = slice.reached ?? ''
    seat.sees = filterOf(seat.scope, slice.watch.scope)
    slice.delivery.listeners.add(seat)
  }

  /** Seats that wait for this slice take it, if it is as far as what they have been told. */
  #moveTo(slice: Informer): void {
    if (!slice.isListed) return
    const ready = [...this.#moving].filter((seat) => seat.next === slice && !isLater(seat.told, slice.reached ?? ''))
    for (const seat of ready) this.#move(seat)
    if (ready.length > 0) this.#tidy()
  }

  #move(seat: OpenScopeListener): void {
    const { member, slice: from } = seat
    if (!from || !seat.next) return
    const before = new Map(visibleTo(seat).map((object) => [cacheKey(refOf(object)), object]))
    const missed = from.delivery.dismiss(seat)
    for (const [key, known] of missed) {
      if (known && seat.sees(known)) before.set(key, known)
      else before.delete(key)
    }
    this.#removeIndexes(from, member)
    this.#moving.delete(seat)
    this.#sit(seat)
    const { delivery } = seat.slice!
    for (const object of visibleTo(seat)) {
      const key = cacheKey(refOf(object))
      const previous = before.get(key)
      before.delete(key)
      // With more or fewer fields kept it is the same; but what a consumer has written itself may hide another's change.
      if (!previous || !isSameState(previous, object) || missed.has(key)) delivery.tell(seat, previous, object)
    }
    for (const previous of before.values()) delivery.tell(seat, previous, undefined)
    this.#reportFreshness(member)
  }

  #addIndexes({ store }: Informer, { consumer, indexes }: OpenSubscriber): void {
    for (const index of Object.values(indexes)) {
      store.addIndex(index, (object) => {
        let keys: readonly string[] = []
        this.#guard(consumer, 'index', () => void (keys = index(object)))
        return keys
      })
    }
  }

  #removeIndexes({ store }: Informer, { indexes }: OpenSubscriber): void {
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

/** What a seat sees, of all namespaces or of one. */
export function visibleTo({ slice, scope, sees }: ScopeListener, namespace?: string): readonly KubeObject[] {
  if (!slice || (namespace !== undefined && scope.namespace !== undefined && scope.namespace !== namespace)) return []
  const place = scope.namespace ?? namespace
  // One by its name is found, not looked for.
  if (scope.name !== undefined && place !== undefined) {
    const object = slice.store.get(place, scope.name)
    return object && sees(object) ? [object] : []
  }
  const objects = slice.store.list(place)
  return sees === matchesAll ? objects : objects.filter(sees)
}
