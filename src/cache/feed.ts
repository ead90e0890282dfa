/**
 * A feed is the one copy of a resource that all its consumers share.
 *
 * What consumers need decides what is watched (their cover). A namespace more or less is one watch more or less. Any
 * other change of the cover fills a second generation beside the first, which takes its place in one step once it is
 * whole: readers see the old state, then the new one, never a mixture.
 *
 * What the cache learnt from the answer of a write is kept against everything that the watch still delivers from
 * before it, until the watch has caught up.
 */
import type { Clock } from '../clock/clock.ts'
import type { Random } from '../clock/random.ts'
import type { Client, ObjectRef } from '../client/client.ts'
import { MusterError } from '../kube/errors.ts'
import { stringifyJson } from '../kube/json.ts'
import { formatApiVersion, formatResource, type Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { type Answers, createAnswers } from './answers.ts'
import { createDecoder, type Decoder } from './decode.ts'
import { scanIdentity } from './frames.ts'
import { type Change, Delivery, type Member } from './delivery.ts'
import type { InternPool } from './intern.ts'
import { keyOf, refOf, versionOf } from './key.ts'
import {
  type Cover,
  concernedBy,
  coverNeeds,
  coverServes,
  filterFor,
  inScope,
  sameCover,
  sameScope,
  type Scope,
} from './need.ts'
import { goneVersion, isLater } from './own-writes.ts'
import { type Freshness, Reflector, type ReflectorOptions, type ReflectorSink, type ServerTraits } from './reflector.ts'
import { createStore, type Store } from './store.ts'
import type { ConsumerProblem } from './subscription.ts'
import type { WarmUp } from './warm-up.ts'

export interface FeedInput {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly resource: Resource
  readonly pool: InternPool
  readonly warmUp: WarmUp
  readonly traits: ServerTraits
  readonly options: ReflectorOptions
  readonly onProblem: (problem: ConsumerProblem) => void
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

interface Generation {
  readonly store: Store
  readonly reflectors: Map<Scope, Reflector>
  /** Scopes that have not been listed yet. */
  readonly waiting: Set<Scope>
  cover: Cover
  /** Made for the first object: many a resource has none. */
  decoder: Decoder | undefined
}

const noCover: Cover = { scopes: [], detail: 'metadata', managedFields: false }

/** A version larger than any. */
const lastVersion = '9'.repeat(40)

export class Feed {
  readonly #input: FeedInput
  readonly #delivery: Delivery
  /** Made by the first write: most feeds never see one. */
  #answers: Answers | undefined
  #current: Generation | undefined
  #next: Generation | undefined
  #reported: Freshness
  #isAdapting = false

  constructor(input: FeedInput) {
    this.#input = input
    const { resource, onProblem, clock } = input
    this.#delivery = new Delivery({ resource, onProblem, read: (ref) => this.#read(ref) })
    this.#reported = { state: 'syncing', since: clock.now() }
  }

  get members(): ReadonlySet<Member> {
    return this.#delivery.members
  }

  get cover(): Cover {
    return (this.#next ?? this.#current)?.cover ?? noCover
  }

  /** Watches open or being opened. */
  get watches(): number {
    return (this.#current?.reflectors.size ?? 0) + (this.#next?.reflectors.size ?? 0)
  }

  /** The copy that serves reads, once there is one. */
  get store(): Store | undefined {
    return this.#current?.store
  }

  join(member: Member): void {
    this.#delivery.members.add(member)
    if (this.#current) this.#declareIndexes(this.#current.store, member)
    if (this.#next) this.#declareIndexes(this.#next.store, member)
    this.#adaptSoon()
  }

  /** Gives the member's share back; the feed stops when nobody is left. */
  leave(member: Member): void {
    this.#delivery.members.delete(member)
    member.wake()
    for (const index of Object.values(member.indexes)) {
      this.#current?.store.removeIndex(index)
      this.#next?.store.removeIndex(index)
    }
    if (this.members.size > 0) {
      this.#adaptSoon()
      return
    }
    dismiss(this.#current)
    dismiss(this.#next)
    this.#current = undefined
    this.#next = undefined
  }

  /** @throws NotSynced */
  storeFor(member: Member): Store {
    if (this.#current && member.filter) return this.#current.store
    const { reason } = this.freshness()
    const why = reason === undefined ? '' : ` ${reason}`
    const name = formatResource(this.#input.resource)
    throw new MusterError('NotSynced', `${name} has not been listed for ${member.consumer} yet.${why}`)
  }

  /** The worst of the watches that serve reads; before the first sync, of those that are being filled. */
  freshness(): Freshness {
    const rank = { synced: 0, stale: 1, syncing: 2 }
    let worst: Freshness | undefined
    for (const { freshness } of (this.#current ?? this.#next)?.reflectors.values() ?? []) {
      if (!worst || rank[freshness.state] > rank[worst.state]) worst = freshness
    }
    return worst ?? this.#reported
  }

  beginWrite(ref: ObjectRef, consumer: string): WriteTicket {
    const delivery = this.#delivery
    delivery.beginWrite(ref, consumer)
    this.#answers ??= createAnswers()
    const answers = this.#answers
    answers.begin(ref)
    const before = this.#read(ref)?.metadata.uid
    return {
      written: (object) => {
        const version = versionOf(object)
        delivery.endWrite(ref, consumer, version, () => this.#absorb(answers, ref, object))
        // The watch may have brought the echo before the answer came: then there is none to wait for.
        if (this.#current && hasReached(this.#current, ref, version)) delivery.seen(ref, version)
        answers.end(ref)
      },
      deleted: (told) => {
        const uid = told ?? this.#read(ref)?.metadata.uid
        const isEchoed = uid === undefined || answers.hasEnded(ref, uid)
        delivery.endWrite(ref, consumer, goneVersion(uid), () => {
          if (isEchoed) return
          // What was known before, if another life, had ended when this one began.
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

  #read({ namespace, name }: ObjectRef): KubeObject | undefined {
    return this.#current?.store.get(namespace, name)
  }

  // ── what the watch delivers ────────────────────────────────────────────────────────────────────────────────

  #publish(generation: Generation, change: Change): void {
    if (generation === this.#current) this.#delivery.publish(change)
  }

  #upsert(generation: Generation, object: KubeObject): void {
    const ref = refOf(object)
    const version = versionOf(object)
    if (this.#answers?.isHistory(ref, object)) {
      if (generation === this.#current) this.#delivery.tellHidden(ref, version)
      return
    }
    const previous = generation.store.get(ref.namespace, ref.name)
    if (previous?.metadata.resourceVersion !== version || previous.metadata.uid !== object.metadata.uid) {
      generation.store.put(object)
      this.#publish(generation, { ref, version, previous, object })
    }
    this.#caughtUp(generation, ref, version)
  }

  #remove(generation: Generation, object: KubeObject): void {
    const ref = refOf(object)
    const version = versionOf(object)
    const { uid } = object.metadata
    const previous = generation.store.get(ref.namespace, ref.name)
    if (previous && previous.metadata.uid === uid) {
      generation.store.remove(ref.namespace, ref.name)
      this.#publish(generation, { ref, version, previous, object: undefined })
    } else if (generation === this.#current) this.#delivery.tellHidden(ref, version, goneVersion(uid))
    if (generation !== this.#current) return
    this.#answers?.ended(ref, uid)
    this.#delivery.ended(ref, uid)
    if (!this.#answers?.isHistory(ref, object)) this.#caughtUp(generation, ref, version)
  }

  #caughtUp(generation: Generation, ref: ObjectRef, version: string): void {
    if (generation !== this.#current) return
    this.#delivery.seen(ref, version)
    this.#answers?.drop(ref)
  }

  /** A whole scope, listed at `version` by a request that began at `begunAt`. */
  #replace(
    generation: Generation,
    scope: Scope,
    listed: readonly KubeObject[],
    version: string,
    begunAt: number,
  ): void {
    const isConcerned = concernedBy(scope)
    const newer = this.#answers?.newerThan(version, begunAt, isConcerned)
    const contents = newer ? newer.merge(listed, generation.store) : listed
    const changes = generation.store.replace(scope.namespace, contents)
    generation.waiting.delete(scope)
    if (generation === this.#current) {
      this.#answers?.settle(version, begunAt, isConcerned)
      for (const { previous, object } of changes) {
        const ref = refOf((object ?? previous)!)
        if (previous && previous.metadata.uid !== object?.metadata.uid) this.#answers?.ended(ref, previous.metadata.uid)
        // Nobody's version, even if it is somebody's: a list does not tell what else happened before it.
        this.#delivery.publish({ ref, version: '', previous, object })
      }
      this.#delivery.relisted(version, isConcerned)
      this.#admitThoseServed()
    } else if (generation === this.#next && generation.waiting.size === 0) this.#swap(generation)
    this.#reportFreshness()
  }

  #progress(generation: Generation, scope: Scope, version: string): void {
    if (generation !== this.#current) return
    this.#delivery.passed(version, concernedBy(scope))
    this.#answers?.passed(version, concernedBy(scope))
  }

  #decode(generation: Generation, text: string, start: number, end: number): KubeObject {
    const { namespace, name } = scanIdentity(text, start, end)
    const { cover, store } = generation
    const decoder = (generation.decoder ??= this.#createDecoder(cover))
    const stored = store.get(namespace, name)
    const plain = !stored && this.#input.warmUp.take(end - start) && decoder.parse(text, start, end)
    if (plain) return plain
    const guide = stored && !decoder.isPlain(stored) ? stored : decoder.sibling(namespace, name)
    return decoder.decode(text, start, end, guide)
  }

  #createDecoder({ detail, managedFields: keepManagedFields }: Cover): Decoder {
    const { resource, pool } = this.#input
    const { kind } = resource
    return createDecoder({ apiVersion: formatApiVersion(resource), kind, pool, detail, keepManagedFields })
  }

  // ── generations ────────────────────────────────────────────────────────────────────────────────────────────

  #startGeneration(cover: Cover): Generation {
    const generation: Generation = {
      cover,
      decoder: undefined,
      store: createStore(),
      reflectors: new Map(),
      waiting: new Set(),
    }
    for (const member of this.members) this.#declareIndexes(generation.store, member)
    for (const scope of cover.scopes) this.#startScope(generation, scope)
    return generation
  }

  #startScope(generation: Generation, scope: Scope): void {
    const sink: ReflectorSink = {
      decode: (text, start, end) => this.#decode(generation, text, start, end),
      replace: (objects, version, begunAt) => this.#replace(generation, scope, objects, version, begunAt),
      upsert: (object) => this.#upsert(generation, object),
      remove: (object) => this.#remove(generation, object),
      progress: (version) => this.#progress(generation, scope, version),
      answered: () => this.#answers?.latest(),
      freshness: () => this.#reportFreshness(),
    }
    generation.waiting.add(scope)
    generation.reflectors.set(scope, new Reflector(this.#input, scope, generation.cover.detail, sink))
  }

  /** The new generation is whole: it takes over, and consumers learn what is different. */
  #swap(generation: Generation): void {
    const old = this.#current
    dismiss(old)
    this.#current = generation
    this.#next = undefined
    const established = [...this.members].filter((member) => member.filter)
    for (const member of established) member.filter = filterFor(member.need, generation.cover)
    if (old) this.#tellDifferences(old.store, generation.store, established)
    // The old watches will not bring the echoes any more, nor what they would have brought before them.
    this.#delivery.relisted(lastVersion, () => true)
    this.#admitThoseServed()
  }

  #tellDifferences(before: Store, after: Store, established: readonly Member[]): void {
    const tell = (previous: KubeObject | undefined, object: KubeObject | undefined): void => {
      for (const member of established) this.#delivery.tell(member, previous, object)
    }
    for (const previous of before.list()) {
      const object = after.get(previous.metadata.namespace, previous.metadata.name ?? '')
      if (object && object.metadata.uid !== previous.metadata.uid) {
        tell(previous, undefined)
        tell(undefined, object)
        // The same version with more or fewer fields kept is no change of the object.
      } else if (object?.metadata.resourceVersion !== previous.metadata.resourceVersion) tell(previous, object)
    }
    for (const object of after.list()) {
      if (!before.get(object.metadata.namespace, object.metadata.name ?? '')) tell(undefined, object)
    }
  }

  /** Members whose whole need is listed may read from now on; they are told first what is there. */
  #admitThoseServed(): void {
    if (!this.#current) return
    const { cover, waiting, store } = this.#current
    const ready = waiting.size === 0 ? cover : { ...cover, scopes: cover.scopes.filter((scope) => !waiting.has(scope)) }
    for (const member of this.members) {
      if (member.filter || !coverServes(ready, member.need)) continue
      member.filter = filterFor(member.need, ready)
      this.#delivery.tellInitial(member, store.list())
      member.wake()
    }
  }

  /** Fits the watches to what is needed now. Many joins of one moment are one change. */
  #adaptSoon(): void {
    if (this.#isAdapting) return
    this.#isAdapting = true
    // Not at once, also because a caller wants to hold its subscription before the first event comes.
    queueMicrotask(() => {
      this.#isAdapting = false
      if (this.members.size > 0) this.#adapt(coverNeeds([...this.members].map((member) => member.need)))
      this.#admitThoseServed()
    })
  }

  #adapt(cover: Cover): void {
    if (this.#current && isSameButNamespaces(this.#current.cover, cover)) {
      dismiss(this.#next)
      this.#next = undefined
      this.#changeNamespaces(this.#current, cover)
    } else if (!this.#next || !sameCover(cover, this.#next.cover)) {
      dismiss(this.#next)
      this.#next = this.#startGeneration(cover)
    }
  }

  #changeNamespaces(generation: Generation, cover: Cover): void {
    for (const scope of generation.cover.scopes) {
      if (cover.scopes.some((wanted) => sameScope(wanted, scope))) continue
      stopScope(generation, scope)
      generation.store.replace(scope.namespace, [])
    }
    const kept = [...generation.reflectors.keys()]
    const fresh = cover.scopes.filter((wanted) => !kept.some((scope) => sameScope(wanted, scope)))
    generation.cover = { ...cover, scopes: [...kept, ...fresh] }
    for (const scope of fresh) this.#startScope(generation, scope)
  }

  #declareIndexes(store: Store, { consumer, indexes }: Member): void {
    for (const index of Object.values(indexes)) {
      store.addIndex(index, (object) => {
        let keys: readonly string[] = []
        this.#delivery.guard(consumer, 'index', () => void (keys = index(object)))
        return keys
      })
    }
  }

  #reportFreshness(): void {
    const worst = this.freshness()
    if (worst.state === this.#reported.state && worst.reason === this.#reported.reason) return
    this.#reported = worst
    for (const { consumer, onFreshness } of this.members) {
      if (onFreshness) this.#delivery.guard(consumer, 'onFreshness', () => onFreshness(worst))
    }
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes the state that a write answered with into the copy, unless the copy is as far already. */
  #absorb(answers: Answers, ref: ObjectRef, object: KubeObject): void {
    const version = versionOf(object)
    const known = this.#read(ref)?.metadata.resourceVersion ?? answers.versionOf(ref)
    if (known !== undefined && !isLater(version, known)) return
    if (this.#current && hasReached(this.#current, ref, version)) return
    const isGone = answers.isGone(ref, object.metadata.uid)
    answers.written(ref, object, this.#input.clock.now())
    const text = stringifyJson(object)
    for (const generation of [this.#current, this.#next]) {
      if (!generation) continue
      const previous = generation.store.get(ref.namespace, ref.name)
      const isInside = !isGone && generation.cover.scopes.some((scope) => inScope(scope, object))
      const lean = isInside ? this.#decode(generation, text, 0, text.length) : undefined
      if (lean) generation.store.put(lean)
      else generation.store.remove(ref.namespace, ref.name)
      if (lean ?? previous) this.#publish(generation, { ref, version, previous, object: lean })
    }
  }

  #absorbDelete(answers: Answers, ref: ObjectRef, uid: string): void {
    answers.deleted(ref, uid, this.#input.clock.now())
    for (const generation of [this.#current, this.#next]) {
      const previous = generation?.store.get(ref.namespace, ref.name)
      if (!generation || previous?.metadata.uid !== uid) continue
      generation.store.remove(ref.namespace, ref.name)
      this.#publish(generation, { ref, version: goneVersion(uid), previous, object: undefined })
    }
  }
}

/** Has the watch of this object told everything up to the version? */
function hasReached(generation: Generation, ref: ObjectRef, version: string): boolean {
  const key = keyOf(ref)
  for (const [scope, reflector] of generation.reflectors) {
    if (concernedBy(scope)(key)) return reflector.hasReached(version)
  }
  return false
}

function stopScope(generation: Generation, scope: Scope): void {
  generation.reflectors.get(scope)?.stop()
  generation.reflectors.delete(scope)
  generation.waiting.delete(scope)
}

function dismiss(generation: Generation | undefined): void {
  for (const scope of generation?.reflectors.keys() ?? []) stopScope(generation!, scope)
}

/** Do the covers differ, if at all, in nothing but single namespaces that came or went? */
function isSameButNamespaces(a: Cover, b: Cover): boolean {
  const shape = ({ detail, managedFields }: Cover): string => `${String(detail)} ${managedFields}`
  if (shape(a) !== shape(b)) return false
  const isForAll = ({ scopes }: Cover): boolean => scopes.some(({ namespace }) => namespace === undefined)
  if (isForAll(a) || isForAll(b)) return sameCover(a, b)
  return a.scopes.every((scope) =>
    b.scopes.every((other) => other.namespace !== scope.namespace || sameScope(other, scope)),
  )
}
