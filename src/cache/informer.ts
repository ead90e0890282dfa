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
import { stringifyJson } from '../kube/json.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Recall } from '../kube/recall.ts'
import { type WriteResponses, createWriteResponses } from './write-responses.ts'
import type { Decoder } from './decode.ts'
import { Delivery } from './delivery.ts'
import { peekUnselected, scanIdentity } from './frames.ts'
import { refOf, resourceVersionOf } from './key.ts'
import { inWatchScope, type WatchScope, type ScopeSet, scopeSet, type Watch } from './need.ts'
import { deleteVersion, isLater } from './own-writes.ts'
import { type Freshness, Reflector, type ReflectorInput, type ReflectorSink } from './reflector.ts'
import { createStore, isSameState, type Store } from './store.ts'
import type { ConsumerProblem } from './subscription.ts'
import { createScopeFilter, type ScopeFilter } from './scope-filter.ts'
import type { WarmUp } from './warm-up.ts'

export interface InformerInput extends ReflectorInput {
  readonly resource: Resource
  readonly warmUp: WarmUp
  /** A memo of decoded objects, shared by the caches of a simulation. */
  readonly recall?: Recall | undefined
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
        delivery.endWrite(ref, consumer, version, () => this.#storeResponse(responses, ref, object))
        // The watch may have delivered the event before the response came: then no echo is expected.
        if (this.#reflector.hasReached(version)) delivery.seen(ref, version)
        responses.end(ref)
      },
      deleted: (reportedUid) => {
        const uid = reportedUid ?? (isLate ? undefined : this.#read(ref)?.metadata.uid)
        const isEchoed = uid === undefined || responses.hasEnded(ref, uid)
        delivery.endWrite(ref, consumer, deleteVersion(uid), () => {
          if (uid === undefined || (isEchoed && !this.#isSelective)) return
          // If the copy held another uid before the write, that object ended before this one was created.
          for (const endedUid of new Set([uid, before ?? uid])) this.#storeDelete(responses, ref, endedUid)
        })
        if (isEchoed) delivery.ended(ref, uid)
        responses.end(ref)
      },
      failed: () => {
        delivery.endWrite(ref, consumer, undefined, () => undefined)
        responses.end(ref)
      },
    }
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
      this.delivery.notifyHidden(ref, version)
    } else {
      const previous = this.#read(ref)
      if (this.#scopeFilter && !this.#scopeFilter.has(object)) this.#drop(ref, version, previous)
      else if (previous?.metadata.resourceVersion !== version || previous.metadata.uid !== object.metadata.uid) {
        this.store.put(object)
        this.delivery.publish({ ref, version, previous, object })
      }
      this.#caughtUp(ref, version)
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
      this.delivery.notifyHidden(ref, version)
      this.#owner.onProgress(this)
      return
    }
    if (previous && isSame) {
      this.store.remove(ref.namespace, ref.name)
      this.delivery.publish({ ref, version, previous, object: undefined })
    } else this.delivery.notifyHidden(ref, version, deleteVersion(uid))
    this.#responses?.ended(ref, uid, !this.#isSelective)
    this.delivery.ended(ref, uid)
    if (!this.#responses?.isOutdated(ref, object)) this.#caughtUp(ref, version)
    this.#owner.onProgress(this)
  }

  #caughtUp(ref: ObjectRef, version: string): void {
    this.delivery.seen(ref, version)
    this.#responses?.drop(ref)
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
    this.#responses?.settle(version, begunAt)
    for (const { previous, object } of changes) {
      const ref = refOf((object ?? previous)!)
      if (previous && previous.metadata.uid !== object?.metadata.uid)
        this.#responses?.ended(ref, previous.metadata.uid, true)
      // No version: even if a consumer wrote the listed one, foreign changes may have preceded it.
      if (this.delivery.listeners.size > 0) this.delivery.publish({ ref, version: '', previous, object })
    }
    this.delivery.relisted(version)
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
    this.delivery.passed(version)
    // The watch does not report deletes outside its selection. Beyond the idle limit no event for them can be pending.
    const before = this.#input.clock.now() - this.#input.options.idleMs
    for (const { ref, uid } of this.#responses?.passed(version, before) ?? []) this.delivery.ended(ref, uid)
    this.#owner.onProgress(this)
  }

  #decode(text: string, start: number, end: number): KubeObject {
    const unselected = this.#scopeFilter && peekUnselected(text, start, end, this.#scopeFilter.mayHave)
    if (unselected) return unselected
    const decoder = this.#owner.decoderOf(this)
    // A recalled object is shared with other caches.
    const known = this.#input.recall && decoder.parse(text, start, end)
    if (known) return known
    const ref = scanIdentity(text, start, end)
    const { namespace, name } = ref
    const stored = this.#read(ref) ?? this.#findInOverlapping(ref)
    const isPlain = !stored || decoder.isPlain(stored)
    const plain = isPlain && this.#input.warmUp.take(end - start) && decoder.parse(text, start, end)
    if (plain) return plain
    const guide = stored && !decoder.isPlain(stored) ? stored : decoder.hint(namespace, name)
    return decoder.decode(text, start, end, guide)
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Stores the state of a write response, unless the copy is already at that version or later. */
  #storeResponse(responses: WriteResponses, ref: ObjectRef, object: KubeObject): void {
    const version = resourceVersionOf(object)
    const previous = this.#read(ref)
    const known = previous?.metadata.resourceVersion ?? responses.versionOf(ref)
    if (known !== undefined && !isLater(version, known)) return
    if (this.#reflector.hasReached(version)) return
    const isGone = responses.isGone(ref, object.metadata.uid)
    responses.written(ref, object, this.#input.clock.now())
    const isInside = !isGone && inWatchScope(this.watch.scope, object) && (this.#scopeFilter?.has(object) ?? true)
    const text = isInside ? stringifyJson(object) : ''
    const lean = isInside ? this.#decode(text, 0, text.length) : undefined
    if (lean) this.store.put(lean)
    else this.store.remove(ref.namespace, ref.name)
    if (lean ?? previous) this.delivery.publish({ ref, version, previous, object: lean })
  }

  #storeDelete(responses: WriteResponses, ref: ObjectRef, uid: string): void {
    responses.deleted(ref, uid, this.#input.clock.now())
    const previous = this.#read(ref)
    if (previous?.metadata.uid !== uid) return
    this.store.remove(ref.namespace, ref.name)
    this.delivery.publish({ ref, version: deleteVersion(uid), previous, object: undefined })
  }
}
