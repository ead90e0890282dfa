/**
 * A slice is one watch of a resource, the copy of what it brings, and who is told of its changes.
 *
 * Consumers with the same need share a slice. Where needs differ there are several, and an object may be in two of them,
 * each as far as its own watch: so no watch ever has to guess what another meant. (Their objects are the same in memory:
 * text is decoded along what another slice holds.) What a slice holds never grows beyond what it was made for; it shrinks
 * when somebody leaves.
 *
 * What the cache learnt from the answer of a write is kept against everything that the watch still delivers from
 * before it, until the watch has caught up.
 */
import type { ObjectRef } from '../client/client.ts'
import { stringifyJson } from '../kube/json.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Recall } from '../kube/recall.ts'
import { type WriteResponses, createWriteResponses } from './write-responses.ts'
import type { Decoder } from './decode.ts'
import { Delivery } from './delivery.ts'
import { glimpseUnwanted, scanIdentity } from './frames.ts'
import { refOf, resourceVersionOf } from './key.ts'
import { inWatchScope, type WatchScope, type ScopeSet, scopeSet, type Watch } from './need.ts'
import { goneVersion, isLater } from './own-writes.ts'
import { type Freshness, Reflector, type ReflectorInput, type ReflectorSink } from './reflector.ts'
import { createStore, isSameState, type Store } from './store.ts'
import type { ConsumerProblem } from './subscription.ts'
import { createScopeFilter, type ScopeFilter } from './scope-filter.ts'
import type { WarmUp } from './warm-up.ts'

export interface InformerInput extends ReflectorInput {
  readonly resource: Resource
  readonly warmUp: WarmUp
  /** Objects that were decoded before, by whomever. */
  readonly recall?: Recall | undefined
  readonly onProblem: (problem: ConsumerProblem) => void
}

/** The feed that a slice belongs to. */
export interface InformerOwner {
  decoderOf(slice: Informer): Decoder
  /** Slices that may hold the same objects, in the same shape. */
  neighboursOf(slice: Informer): readonly Informer[]
  /** The watch has told something, or is past a version. */
  onProgress(slice: Informer): void
  onListed(slice: Informer): void
  onRefused(slice: Informer): void
  onFreshness(slice: Informer): void
}

/** A write under way. Exactly one of its methods is called, once. */
export interface WriteTicket {
  /** The server answered with the object's new state. */
  written(object: KubeObject): void
  /** The server answered that the object is gone. */
  deleted(uid: string | undefined): void
  /** The write failed, or nobody knows: whatever the watch brings is news. */
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
  /** Made by the first write: most slices never see one. */
  #answers: WriteResponses | undefined
  #held: ScopeSet
  /** Undefined: all that the watch brings. */
  #wanted: ScopeFilter | undefined
  #isListed = false
  /** May an object that the watch tells to be deleted only have left its selection? */
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

  /** What it holds: these scopes, each for certain and whole, once it is listed. */
  get scopes(): readonly WatchScope[] {
    return this.#held.scopes
  }

  get isListed(): boolean {
    return this.#isListed
  }

  /** The version up to which everything is known. */
  get reached(): string | undefined {
    return this.#reflector.reached
  }

  get freshness(): Freshness {
    return this.#reflector.freshness
  }

  serves(scope: WatchScope): boolean {
    return this.#held.serves(scope)
  }

  /** Lets go of everything outside these scopes, which nobody sees any more. */
  holdOnly(scopes: readonly WatchScope[]): void {
    const isWhole = scopes.some(({ key }) => key === this.watch.scope.key)
    if (isWhole && this.scopes.length === 1 && this.scopes[0]!.key === this.watch.scope.key) return
    const set = scopeSet(isWhole ? [this.watch.scope] : scopes)
    const before = new Set(this.scopes.map(({ key }) => key))
    if (set.scopes.length === before.size && set.scopes.every(({ key }) => before.has(key))) return
    this.#held = set
    this.#wanted = createScopeFilter(set.scopes, this.watch.scope)
    for (const object of this.store.list()) {
      if (!this.#wanted.has(object)) this.store.remove(object.metadata.namespace, object.metadata.name ?? '')
    }
  }

  /** `isLate`: it was under way before there was this slice. */
  beginWrite(ref: ObjectRef, consumer: string, isLate = false): WriteTicket {
    const { delivery } = this
    delivery.beginWrite(ref, consumer)
    this.#answers ??= createWriteResponses()
    const answers = this.#answers
    answers.begin(ref)
    const before = isLate ? undefined : this.#read(ref)?.metadata.uid
    return {
      written: (object) => {
        const version = resourceVersionOf(object)
        delivery.endWrite(ref, consumer, version, () => this.#absorb(answers, ref, object))
        // The watch may have brought the echo before the answer came: then there is none to wait for.
        if (this.#reflector.hasReached(version)) delivery.seen(ref, version)
        answers.end(ref)
      },
      deleted: (told) => {
        const uid = told ?? (isLate ? undefined : this.#read(ref)?.metadata.uid)
        const isEchoed = uid === undefined || answers.hasEnded(ref, uid)
        delivery.endWrite(ref, consumer, goneVersion(uid), () => {
          if (uid === undefined || (isEchoed && !this.#isSelective)) return
          // What was known before the write, if another life, had ended when this one began.
          for (const over of new Set([uid, before ?? uid])) this.#absorbDelete(answers, ref, over)
        })
        if (isEchoed) delivery.ended(ref, uid)
        answers.end(ref)
      },
      failed: () => {
        delivery.endWrite(ref, consumer, undefined, () => undefined)
        answers.end(ref)
      },
    }
  }

  stop(): void {
    this.#reflector.stop()
  }

  #read({ namespace, name }: ObjectRef): KubeObject | undefined {
    return this.store.get(namespace, name)
  }

  // ── what the watch delivers ────────────────────────────────────────────────────────────────────────────────

  #sink(): ReflectorSink {
    return {
      decode: (text, start, end) => this.#decode(text, start, end),
      wants: (object) => this.#wanted === undefined || this.#wanted.has(object),
      replace: (objects, version, begunAt) => this.#replace(objects, version, begunAt),
      upsert: (object) => this.#upsert(object),
      remove: (object) => this.#remove(object),
      progress: (version) => this.#progress(version),
      answered: () => this.#answers?.latest(),
      refused: () => this.#owner.onRefused(this),
      freshness: () => this.#owner.onFreshness(this),
    }
  }

  #upsert(object: KubeObject): void {
    const ref = refOf(object)
    const version = resourceVersionOf(object)
    this.#answers?.lives(ref, object.metadata.uid)
    if (this.#answers?.isHistory(ref, object)) {
      this.delivery.tellHidden(ref, version)
    } else {
      const previous = this.#read(ref)
      if (this.#wanted && !this.#wanted.has(object)) this.#drop(ref, version, previous)
      else if (previous?.metadata.resourceVersion !== version || previous.metadata.uid !== object.metadata.uid) {
        this.store.put(object)
        this.delivery.publish({ ref, version, previous, object })
      }
      this.#caughtUp(ref, version)
    }
    this.#owner.onProgress(this)
  }

  /** It is there, but nobody's any more. */
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
      // It had but left the selection, and is back by a write whose answer came first.
      this.delivery.tellHidden(ref, version)
      this.#owner.onProgress(this)
      return
    }
    if (previous && isSame) {
      this.store.remove(ref.namespace, ref.name)
      this.delivery.publish({ ref, version, previous, object: undefined })
    } else this.delivery.tellHidden(ref, version, goneVersion(uid))
    this.#answers?.ended(ref, uid, !this.#isSelective)
    this.delivery.ended(ref, uid)
    if (!this.#answers?.isHistory(ref, object)) this.#caughtUp(ref, version)
    this.#owner.onProgress(this)
  }

  #caughtUp(ref: ObjectRef, version: string): void {
    this.delivery.seen(ref, version)
    this.#answers?.drop(ref)
  }

  /** The whole scope, listed at `version` by a request that began at `begunAt`. */
  #replace(found: readonly KubeObject[], version: string, begunAt: number): void {
    const wanted = this.#wanted
    const kept = wanted ? found.filter((object) => wanted.has(object)) : found
    // Lists of two slices may have been decoded side by side.
    const listed = this.#owner.neighboursOf(this).length === 0 ? kept : kept.map((object) => this.#share(object))
    const newer = this.#answers?.newerThan(version, begunAt)
    const contents = newer ? newer.merge(listed, this.store) : listed
    const changes = this.store.replace(this.watch.scope.namespace, contents)
    this.#isListed = true
    this.#answers?.settle(version, begunAt)
    for (const { previous, object } of changes) {
      const ref = refOf((object ?? previous)!)
      if (previous && previous.metadata.uid !== object?.metadata.uid)
        this.#answers?.ended(ref, previous.metadata.uid, true)
      // Nobody's version, even if it is somebody's: a list does not tell what else happened before it.
      if (this.delivery.listeners.size > 0) this.delivery.publish({ ref, version: '', previous, object })
    }
    this.delivery.relisted(version)
    for (const listener of this.delivery.listeners) listener.told = version
    this.#owner.onListed(this)
  }

  /** The object as another slice has it, if it has the same. */
  #share(object: KubeObject): KubeObject {
    const other = this.#lookElsewhere(refOf(object))
    return other && isSameState(other, object) ? other : object
  }

  #lookElsewhere({ namespace, name }: ObjectRef): KubeObject | undefined {
    for (const { store } of this.#owner.neighboursOf(this)) {
      const object = store.get(namespace, name)
      if (object) return object
    }
    return undefined
  }

  #progress(version: string): void {
    this.delivery.passed(version)
    // Of a delete outside its selection the watch does not tell. One that is as far behind as that has been given up.
    const before = this.#input.clock.now() - this.#input.options.idleMs
    for (const { ref, uid } of this.#answers?.passed(version, before) ?? []) this.delivery.ended(ref, uid)
    this.#owner.onProgress(this)
  }

  #decode(text: string, start: number, end: number): KubeObject {
    const unwanted = this.#wanted && glimpseUnwanted(text, start, end, this.#wanted.mayHave)
    if (unwanted) return unwanted
    const decoder = this.#owner.decoderOf(this)
    // What is recalled is shared with more than this copy.
    const known = this.#input.recall && decoder.parse(text, start, end)
    if (known) return known
    const ref = scanIdentity(text, start, end)
    const { namespace, name } = ref
    const stored = this.#read(ref) ?? this.#lookElsewhere(ref)
    const isPlain = !stored || decoder.isPlain(stored)
    const plain = isPlain && this.#input.warmUp.take(end - start) && decoder.parse(text, start, end)
    if (plain) return plain
    const guide = stored && !decoder.isPlain(stored) ? stored : decoder.sibling(namespace, name)
    return decoder.decode(text, start, end, guide)
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes the state that a write answered with into the copy, unless the copy is as far already. */
  #absorb(answers: WriteResponses, ref: ObjectRef, object: KubeObject): void {
    const version = resourceVersionOf(object)
    const previous = this.#read(ref)
    const known = previous?.metadata.resourceVersion ?? answers.versionOf(ref)
    if (known !== undefined && !isLater(version, known)) return
    if (this.#reflector.hasReached(version)) return
    const isGone = answers.isGone(ref, object.metadata.uid)
    answers.written(ref, object, this.#input.clock.now())
    const isInside = !isGone && inWatchScope(this.watch.scope, object) && (this.#wanted?.has(object) ?? true)
    const text = isInside ? stringifyJson(object) : ''
    const lean = isInside ? this.#decode(text, 0, text.length) : undefined
    if (lean) this.store.put(lean)
    else this.store.remove(ref.namespace, ref.name)
    if (lean ?? previous) this.delivery.publish({ ref, version, previous, object: lean })
  }

  #absorbDelete(answers: WriteResponses, ref: ObjectRef, uid: string): void {
    answers.deleted(ref, uid, this.#input.clock.now())
    const previous = this.#read(ref)
    if (previous?.metadata.uid !== uid) return
    this.store.remove(ref.namespace, ref.name)
    this.delivery.publish({ ref, version: goneVersion(uid), previous, object: undefined })
  }
}
