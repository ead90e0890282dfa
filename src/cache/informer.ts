/**
 * An informer is one watch of a resource, the local copy of its objects, and the delivery of changes to its listeners.
 *
 * Consumers with the same need share an informer. Where needs differ there are several, and an object may be in two of
 * them, each at the version that its own watch has reached: informers never have to be reconciled with each other. (They
 * share memory: text is decoded by difference to the object that another informer holds.) An informer never holds more
 * than it was created for, and drops objects when listeners leave.
 *
 * A state known from the response of a write takes precedence over older states that the watch still delivers, until the
 * watch has caught up.
 */
import type { ObjectRef } from '../client/client.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { type WriteResponses, createWriteResponses } from './write-responses.ts'
import type { Decoder } from './decode/decode.ts'
import { Delivery, type DeliveryListener } from './delivery.ts'
import { leaveText, peekUnselected, scanIdentity, scanState } from './decode/frames.ts'
import { parseKey, refOf, resourceVersionOf } from './key.ts'
import { inWatchScope, type WatchScope, type ScopeSet, scopeSet, type Watch } from './need.ts'
import { deleteVersion, isLater } from './resource-version.ts'
import { type Freshness, Reflector, type ReflectorInput, type ReflectorSink } from './reflector.ts'
import { createStore, isSameState, type Store } from './store.ts'
import type { ConsumerProblem } from './subscription.ts'
import { createScopeFilter, type ScopeFilter } from './scope-filter.ts'

export interface InformerInput extends ReflectorInput {
  readonly resource: Resource
  readonly onProblem: (problem: ConsumerProblem) => void
}

/** The resource informer that an informer belongs to. */
export interface InformerOwner {
  decoderOf(informer: Informer): Decoder
  /** Informers that may hold the same objects, in the same shape. */
  overlapping(informer: Informer): readonly Informer[]
  /** The watch delivered an event or a bookmark. */
  onProgress(informer: Informer): void
  onListed(informer: Informer): void
  onRefused(informer: Informer): void
  onFreshness(informer: Informer): void
}

/** A write in flight. Exactly one of its methods is called, once. */
export interface WriteTicket {
  /** The server responded with the object's new state. */
  written(object: KubeObject): void
  /** The server responded that the object is deleted. */
  deleted(uid: string | undefined): void
  /** The write failed or its outcome is unknown: every watch event counts as foreign. */
  failed(): void
}

export class Informer {
  readonly watch: Watch
  readonly isJoined: boolean
  readonly store: Store = createStore()
  readonly delivery: Delivery
  readonly #input: InformerInput
  readonly #owner: InformerOwner
  readonly #reflector: Reflector
  /** Created by the first write: most informers never see one. */
  #responses: WriteResponses | undefined
  #held: ScopeSet
  /** Undefined: every object of the watch is kept. */
  #scopeFilter: ScopeFilter | undefined
  #isListed = false
  /** The watch has selectors: a DELETED event may mean that the object no longer matches. */
  readonly #isSelective: boolean

  constructor(
    input: InformerInput,
    owner: InformerOwner,
    watch: Watch,
    scopes: readonly WatchScope[],
    isJoined: boolean,
  ) {
    this.#input = input
    this.#owner = owner
    this.watch = watch
    this.isJoined = isJoined
    const { resource, onProblem } = input
    this.delivery = new Delivery({ resource, onProblem, read: (ref) => this.#read(ref) })
    const { labels, fields } = watch.scope
    this.#isSelective = labels.length > 0 || fields.some(({ path }) => path !== 'metadata.name')
    this.#held = scopeSet([watch.scope])
    this.holdOnly(scopes)
    this.#reflector = new Reflector(input, watch.scope, watch.shape.detail, this.#sink())
  }

  /** The scopes it holds, each of them completely once it is listed. */
  get scopes(): readonly WatchScope[] {
    return this.#held.scopes
  }

  get isListed(): boolean {
    return this.#isListed
  }

  /** The resource version up to which every change is known. */
  get reached(): string | undefined {
    return this.#reflector.reached
  }

  get freshness(): Freshness {
    return this.#reflector.freshness
  }

  serves(scope: WatchScope): boolean {
    return this.#held.serves(scope)
  }

  /** Drops the objects outside these scopes: no listener matches them any more. */
  holdOnly(scopes: readonly WatchScope[]): void {
    const isWhole = scopes.some(({ key }) => key === this.watch.scope.key)
    if (isWhole && this.scopes.length === 1 && this.scopes[0]!.key === this.watch.scope.key) return
    const set = scopeSet(isWhole ? [this.watch.scope] : scopes)
    const before = new Set(this.scopes.map(({ key }) => key))
    if (set.scopes.length === before.size && set.scopes.every(({ key }) => before.has(key))) return
    this.#held = set
    this.#scopeFilter = createScopeFilter(set.scopes, this.watch.scope)
    for (const object of this.store.list()) {
      if (!this.#scopeFilter.has(object)) this.store.remove(object.metadata.namespace, object.metadata.name ?? '')
    }
  }

  /** `isLate`: the write began before this informer existed. */
  beginWrite(ref: ObjectRef, consumer: string, isLate = false): WriteTicket {
    const { delivery } = this
    delivery.beginWrite(ref, consumer)
    this.#responses ??= createWriteResponses()
    const responses = this.#responses
    responses.begin(ref)
    const before = isLate ? undefined : this.#read(ref)?.metadata.uid
    return {
      written: (object) => {
        const version = resourceVersionOf(object)
        delivery.endWrite(ref, consumer, version, () => this.#storeResponse(responses, ref, object, consumer))
        responses.end(ref)
      },
      deleted: (reportedUid) => {
        const uid = reportedUid ?? (isLate ? undefined : this.#read(ref)?.metadata.uid)
        const isEchoed = uid === undefined || responses.hasEnded(ref, uid)
        delivery.endWrite(ref, consumer, deleteVersion(uid), () => {
          if (uid === undefined || (isEchoed && !this.#isSelective)) return
          this.#storeDelete(responses, ref, uid, consumer)
          // If the copy held another uid before the write, that object ended before this one was created.
          if (before !== undefined && before !== uid) this.#storeDelete(responses, ref, before)
        })
        responses.end(ref)
      },
      failed: () => {
        delivery.endWrite(ref, consumer, undefined, () => undefined)
        responses.end(ref)
      },
    }
  }

  /**
   * Removes a listener that moves to another informer. Returns, by key, the objects of which it may have missed changes,
   * because writes of its consumer are pending: each in the state last delivered to it.
   */
  removeListener(listener: DeliveryListener): ReadonlyMap<string, KubeObject | undefined> {
    const { delivery } = this
    const { consumer, ownWrites } = listener
    delivery.listeners.delete(listener)
    const missed = new Map(delivery.lastDelivered(listener))
    for (const key of this.#responses?.writtenBy(consumer) ?? []) {
      if (!missed.has(key) && (ownWrites || !delivery.isInFlight(key, consumer)))
        missed.set(key, this.#read(parseKey(key)))
    }
    return missed
  }

  stop(): void {
    this.#reflector.stop()
  }

  #read({ namespace, name }: ObjectRef): KubeObject | undefined {
    return this.store.get(namespace, name)
  }

  // ── watch events ────────────────────────────────────────────────────────────────────────────────

  #sink(): ReflectorSink {
    return {
      decode: (text, start, end) => this.#decode(text, start, end),
      decodeEvent: (text, start, end, isDeletion) => this.#decodeEvent(text, start, end, isDeletion),
      keeps: (object) => this.#scopeFilter === undefined || this.#scopeFilter.has(object),
      replace: (objects, version, begunAt) => this.#replace(objects, version, begunAt),
      upsert: (object) => this.#upsert(object),
      remove: (object) => this.#remove(object),
      progress: (version) => this.#progress(version),
      latestWritten: () => this.#responses?.latest(),
      refused: () => this.#owner.onRefused(this),
      freshness: () => this.#owner.onFreshness(this),
    }
  }

  #upsert(object: KubeObject): void {
    const ref = refOf(object)
    const version = resourceVersionOf(object)
    this.#responses?.noteExisting(ref, object.metadata.uid)
    if (this.#responses?.isOutdated(ref, object)) {
      this.#hide(ref, version)
    } else {
      const previous = this.#read(ref)
      if (this.#scopeFilter && !this.#scopeFilter.has(object)) this.#drop(ref, version, previous)
      else if (previous?.metadata.resourceVersion !== version || previous.metadata.uid !== object.metadata.uid) {
        this.store.put(object)
        this.delivery.publish({ ref, version, previous, object })
      }
      this.#responses?.drop(ref)
    }
    this.#owner.onProgress(this)
  }

  /** The object exists but matches no listener any more. */
  #drop(ref: ObjectRef, version: string, previous: KubeObject | undefined): void {
    if (!previous) return
    this.store.remove(ref.namespace, ref.name)
    this.delivery.publish({ ref, version, previous, object: undefined })
  }

  #remove(object: KubeObject): void {
    const ref = refOf(object)
    const version = resourceVersionOf(object)
    const { uid } = object.metadata
    const previous = this.#read(ref)
    const isSame = previous?.metadata.uid === uid
    if (previous && isSame && isLater(resourceVersionOf(previous), version)) {
      // It left the selection and came back by a write whose response arrived before this event.
      this.#hide(ref, version)
      this.#owner.onProgress(this)
      return
    }
    if (previous && isSame) {
      this.store.remove(ref.namespace, ref.name)
      this.delivery.publish({ ref, version, previous, object: undefined })
    } else this.#hide(ref, version, uid)
    this.#responses?.ended(ref, uid, !this.#isSelective)
    if (!this.#responses?.isOutdated(ref, object)) this.#responses?.drop(ref)
    this.#owner.onProgress(this)
  }

  /** The watch delivers a change that is older than the response of a write, which contains it. */
  #hide(ref: ObjectRef, version: string, gone?: string): void {
    const hidden = this.#responses?.hiddenChange(ref, version, gone)
    if (!hidden) return
    const id = gone === undefined ? version : deleteVersion(gone)
    this.delivery.publishHidden(ref, id, hidden.writer, hidden.author)
  }

  /** The whole scope, listed at `version` by a request that began at `begunAt`. */
  #replace(found: readonly KubeObject[], version: string, begunAt: number): void {
    const filter = this.#scopeFilter
    const kept = filter ? found.filter((object) => filter.has(object)) : found
    // Lists of two informers may have been decoded at the same time.
    const listed = this.#owner.overlapping(this).length === 0 ? kept : kept.map((object) => this.#share(object))
    const newer = this.#responses?.newerThan(version, begunAt)
    const contents = newer ? newer.merge(listed, this.store) : listed
    const changes = this.store.replace(this.watch.scope.namespace, contents)
    this.#isListed = true
    const settled = this.#responses?.settle(version, begunAt) ?? []
    for (const { previous, object } of changes) {
      const ref = refOf((object ?? previous)!)
      if (previous && previous.metadata.uid !== object?.metadata.uid)
        this.#responses?.ended(ref, previous.metadata.uid, true)
      // No version: even if a consumer wrote the listed one, foreign changes may have preceded it.
      if (this.delivery.listeners.size > 0) this.delivery.publish({ ref, version: '', previous, object })
    }
    // Between their writes, other clients may have changed the objects: a list does not tell.
    for (const { ref, writer } of settled) this.delivery.publishHidden(ref, '', writer)
    for (const listener of this.delivery.listeners) listener.deliveredVersion = version
    this.#owner.onListed(this)
  }

  /** Another informer's instance of the object, if it is at the same version. */
  #share(object: KubeObject): KubeObject {
    const other = this.#findInOverlapping(refOf(object))
    return other && isSameState(other, object) ? other : object
  }

  #findInOverlapping({ namespace, name }: ObjectRef): KubeObject | undefined {
    for (const { store } of this.#owner.overlapping(this)) {
      const object = store.get(namespace, name)
      if (object) return object
    }
    return undefined
  }

  #progress(version: string): void {
    // The watch does not report deletes outside its selection. Beyond the idle limit no event for them can be pending.
    this.#responses?.passed(version, this.#input.clock.now() - this.#input.options.idleMs)
    this.#owner.onProgress(this)
  }

  #decode(text: string, start: number, end: number): KubeObject {
    const unselected = this.#scopeFilter && peekUnselected(text, start, end, this.#scopeFilter.mayHave)
    if (unselected) return unselected
    return this.#decodeAlong(scanIdentity(text, start, end), text, start, end)
  }

  #decodeAlong(ref: ObjectRef, text: string, start: number, end: number): KubeObject {
    const decoder = this.#owner.decoderOf(this)
    const guide = this.#read(ref) ?? this.#findInOverlapping(ref) ?? decoder.hint(ref.namespace, ref.name)
    return decoder.decode(text, start, end, guide)
  }

  /**
   * The object of a watch event. A state that is stored already, from the response of a write, is not decoded again. Of a
   * deleted object only the identity is read: what consumers get is its last state.
   */
  #decodeEvent(text: string, start: number, end: number, isDeletion: boolean): KubeObject {
    const unselected = this.#scopeFilter && peekUnselected(text, start, end, this.#scopeFilter.mayHave)
    if (unselected) return unselected
    const state = scanState(text, start, end)
    const { uid, resourceVersion } = state
    const stored = isDeletion ? ({ apiVersion: '', kind: '', metadata: state } as KubeObject) : this.#read(state)
    if (!stored || uid !== stored.metadata.uid || resourceVersion !== stored.metadata.resourceVersion)
      return this.#decodeAlong(state, text, start, end)
    leaveText()
    return stored
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Stores the state of a write response, unless the copy is already at that version or later. */
  #storeResponse(responses: WriteResponses, ref: ObjectRef, object: KubeObject, writer: string): void {
    const version = resourceVersionOf(object)
    if (this.#reflector.hasReached(version)) return
    const previous = this.#read(ref)
    const latest = responses.versionOf(ref)
    const known = previous?.metadata.resourceVersion ?? latest
    const isNews = known === undefined || isLater(version, known)
    const isGone = responses.isGone(ref, object.metadata.uid)
    if (isNews || latest !== undefined) responses.written(ref, version, writer, this.#input.clock.now())
    if (!isNews) return
    const isInside = !isGone && inWatchScope(this.watch.scope, object) && (this.#scopeFilter?.has(object) ?? true)
    const lean = isInside ? this.#adopt(ref, object) : undefined
    if (lean) this.store.put(lean)
    else this.store.remove(ref.namespace, ref.name)
    if (lean ?? previous) this.delivery.publish({ ref, version, previous, object: lean, writer })
  }

  /** The response as it was received, in the shape of this informer's copy. */
  #adopt(ref: ObjectRef, object: KubeObject): KubeObject {
    const decoder = this.#owner.decoderOf(this)
    const guide = this.#read(ref) ?? this.#findInOverlapping(ref) ?? decoder.hint(ref.namespace, ref.name)
    return decoder.adopt(object, guide)
  }

  #storeDelete(responses: WriteResponses, ref: ObjectRef, uid: string, writer?: string): void {
    responses.deleted(ref, uid, writer, this.#input.clock.now())
    const previous = this.#read(ref)
    if (previous?.metadata.uid !== uid) return
    this.store.remove(ref.namespace, ref.name)
    this.delivery.publish({ ref, version: deleteVersion(uid), previous, object: undefined, writer })
  }
}
