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
import { decodeObject } from './decode.ts'
import { scanIdentity } from './frames.ts'
import { type Change, createDelivery, goneVersion, type Member } from './delivery.ts'
import type { InternPool } from './intern.ts'
import { refOf, versionOf } from './key.ts'
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
import { isLater } from './own-writes.ts'
import {
  type Freshness,
  type Reflector,
  type ReflectorOptions,
  type ReflectorSink,
  type ServerTraits,
  startReflector,
} from './reflector.ts'
import { createStore, type Store } from './store.ts'
import type { ConsumerProblem } from './subscription.ts'

export interface FeedInput {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly resource: Resource
  readonly pool: InternPool
  readonly traits: ServerTraits
  readonly options: ReflectorOptions
  readonly onProblem: (problem: ConsumerProblem) => void
}

export interface Feed {
  readonly members: ReadonlySet<Member>
  readonly cover: Cover
  /** Watches open or being opened. */
  readonly watches: number
  /** The copy that serves reads, once there is one. */
  readonly store: Store | undefined
  join(member: Member): void
  /** Gives the member's share back; the feed stops when nobody is left. */
  leave(member: Member): void
  /** @throws NotSynced */
  storeFor(member: Member): Store
  freshness(): Freshness
  beginWrite(ref: ObjectRef, consumer: string): WriteTicket
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
}

const noCover: Cover = { scopes: [], detail: 'metadata', managedFields: false }

/** A version larger than any. */
const lastVersion = '9'.repeat(40)

export function createFeed(input: FeedInput): Feed {
  const { clock, resource, pool, onProblem } = input
  let current: Generation | undefined
  let next: Generation | undefined
  let lastDecoded: KubeObject | undefined
  let reported: Freshness = { state: 'syncing', since: clock.now() }
  let isAdapting = false

  const read = ({ namespace, name }: ObjectRef): KubeObject | undefined => current?.store.get(namespace, name)
  const delivery = createDelivery({ resource, read, onProblem })
  const answers: Answers = createAnswers()
  const { members } = delivery

  // ── what the watch delivers ────────────────────────────────────────────────────────────────────────────────

  const publish = (generation: Generation, change: Change): void => {
    if (generation === current) delivery.publish(change)
  }

  const upsert = (generation: Generation, object: KubeObject): void => {
    const ref = refOf(object)
    const version = versionOf(object)
    if (answers.isHistory(ref, object)) {
      if (generation === current) delivery.tellHidden(ref, version)
      return
    }
    const previous = generation.store.get(ref.namespace, ref.name)
    if (previous?.metadata.resourceVersion !== version || previous.metadata.uid !== object.metadata.uid) {
      generation.store.put(object)
      publish(generation, { ref, version, previous, object })
    }
    caughtUp(generation, ref, version)
  }

  const remove = (generation: Generation, object: KubeObject): void => {
    const ref = refOf(object)
    const version = versionOf(object)
    if (!answers.isGone(ref, object.metadata.uid) && answers.isHistory(ref, object)) {
      if (generation === current) delivery.tellHidden(ref, version)
      return
    }
    const previous = generation.store.get(ref.namespace, ref.name)
    if (previous && previous.metadata.uid === object.metadata.uid) {
      generation.store.remove(ref.namespace, ref.name)
      publish(generation, { ref, version, previous, object: undefined })
    }
    caughtUp(generation, ref, version)
  }

  const caughtUp = (generation: Generation, ref: ObjectRef, version: string): void => {
    if (generation !== current) return
    delivery.seen(ref, version)
    answers.drop(ref)
  }

  /** A whole scope, listed at `version` by a request that began at `begunAt`. */
  const replace = (
    generation: Generation,
    scope: Scope,
    listed: readonly KubeObject[],
    version: string,
    begunAt: number,
  ): void => {
    const isConcerned = concernedBy(scope)
    const held = answers.newerThan(version, begunAt, isConcerned)
    const changes = generation.store.replace(scope.namespace, held.merge(listed, generation.store))
    generation.waiting.delete(scope)
    if (generation === current) {
      answers.settle(version, begunAt, isConcerned)
      for (const { previous, object } of changes) {
        const ref = refOf((object ?? previous)!)
        delivery.publish({ ref, version: object ? versionOf(object) : '', previous, object })
      }
      delivery.relisted(version, isConcerned)
      admitThoseServed()
    } else if (generation === next && generation.waiting.size === 0) swap(generation)
    reportFreshness()
  }

  const progress = (generation: Generation, scope: Scope, version: string): void => {
    if (generation !== current) return
    delivery.passed(version, concernedBy(scope))
    answers.passed(version, concernedBy(scope))
  }

  const decode = (generation: Generation, text: string, start: number, end: number): KubeObject => {
    const { namespace, name } = scanIdentity(text, start, end)
    const guide = generation.store.get(namespace, name) ?? read({ namespace, name }) ?? lastDecoded
    const { detail, managedFields } = generation.cover
    const form = {
      apiVersion: formatApiVersion(resource),
      kind: resource.kind,
      detail,
      keepManagedFields: managedFields,
    }
    const object = decodeObject(text, start, end, { ...form, guide, pool })
    lastDecoded = object
    return object
  }

  // ── generations ────────────────────────────────────────────────────────────────────────────────────────────

  const startGeneration = (cover: Cover): Generation => {
    const generation: Generation = { cover, store: createStore(), reflectors: new Map(), waiting: new Set() }
    for (const member of members) declareIndexes(generation.store, member)
    for (const scope of cover.scopes) startScope(generation, scope)
    return generation
  }

  const startScope = (generation: Generation, scope: Scope): void => {
    const sink: ReflectorSink = {
      decode: (text, start, end) => decode(generation, text, start, end),
      replace: (objects, version, begunAt) => replace(generation, scope, objects, version, begunAt),
      upsert: (object) => upsert(generation, object),
      remove: (object) => remove(generation, object),
      progress: (version) => progress(generation, scope, version),
      answered: () => answers.latest(),
      freshness: () => reportFreshness(),
    }
    generation.waiting.add(scope)
    const { detail } = generation.cover
    generation.reflectors.set(scope, startReflector({ ...input, scope, detail, sink }))
  }

  const stopScope = (generation: Generation, scope: Scope): void => {
    generation.reflectors.get(scope)?.stop()
    generation.reflectors.delete(scope)
    generation.waiting.delete(scope)
  }

  const dismiss = (generation: Generation | undefined): void => {
    for (const scope of generation?.reflectors.keys() ?? []) stopScope(generation!, scope)
  }

  /** The new generation is whole: it takes over, and consumers learn what is different. */
  const swap = (generation: Generation): void => {
    const old = current
    dismiss(old)
    current = generation
    next = undefined
    const established = [...members].filter((member) => member.filter)
    for (const member of established) member.filter = filterFor(member.need, generation.cover)
    if (old) tellDifferences(old.store, generation.store, established)
    // The old watches will not bring the echoes any more, nor what they would have brought before them.
    delivery.relisted(lastVersion, () => true)
    admitThoseServed()
  }

  const tellDifferences = (before: Store, after: Store, established: readonly Member[]): void => {
    const tell = (previous: KubeObject | undefined, object: KubeObject | undefined): void => {
      for (const member of established) delivery.tell(member, previous, object)
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
  const admitThoseServed = (): void => {
    if (!current) return
    const { cover, waiting, store } = current
    const ready = waiting.size === 0 ? cover : { ...cover, scopes: cover.scopes.filter((scope) => !waiting.has(scope)) }
    for (const member of members) {
      if (member.filter || !coverServes(ready, member.need)) continue
      member.filter = filterFor(member.need, ready)
      delivery.tellInitial(member, store.list())
      member.onSynced()
    }
  }

  /** Fits the watches to what is needed now. Many joins of one moment are one change. */
  const adaptSoon = (): void => {
    if (isAdapting) return
    isAdapting = true
    // Not at once, also because a caller wants to hold its subscription before the first event comes.
    queueMicrotask(() => {
      isAdapting = false
      if (members.size > 0) adapt(coverNeeds([...members].map((member) => member.need)))
      admitThoseServed()
    })
  }

  const adapt = (cover: Cover): void => {
    if (current && isSameButNamespaces(current.cover, cover)) {
      dismiss(next)
      next = undefined
      changeNamespaces(current, cover)
    } else if (!next || !sameCover(cover, next.cover)) {
      dismiss(next)
      next = startGeneration(cover)
    }
  }

  const changeNamespaces = (generation: Generation, cover: Cover): void => {
    for (const scope of generation.cover.scopes) {
      if (cover.scopes.some((wanted) => sameScope(wanted, scope))) continue
      stopScope(generation, scope)
      generation.store.replace(scope.namespace, [])
    }
    const kept = [...generation.reflectors.keys()]
    const fresh = cover.scopes.filter((wanted) => !kept.some((scope) => sameScope(wanted, scope)))
    generation.cover = { ...cover, scopes: [...kept, ...fresh] }
    for (const scope of fresh) startScope(generation, scope)
  }

  const declareIndexes = (store: Store, { consumer, indexes }: Member): void => {
    for (const index of Object.values(indexes)) {
      store.addIndex(index, (object) => {
        let keys: readonly string[] = []
        delivery.guard(consumer, 'index', () => void (keys = index(object)))
        return keys
      })
    }
  }

  // ── freshness ──────────────────────────────────────────────────────────────────────────────────────────────

  /** The worst of the watches that serve reads; before the first sync, of those that are being filled. */
  const worstFreshness = (): Freshness => {
    const rank = { synced: 0, stale: 1, syncing: 2 }
    let worst: Freshness | undefined
    for (const { freshness } of (current ?? next)?.reflectors.values() ?? []) {
      if (!worst || rank[freshness.state] > rank[worst.state]) worst = freshness
    }
    return worst ?? reported
  }

  const reportFreshness = (): void => {
    const worst = worstFreshness()
    if (worst.state === reported.state && worst.reason === reported.reason) return
    reported = worst
    for (const { consumer, onFreshness } of members) delivery.guard(consumer, 'onFreshness', () => onFreshness(worst))
  }

  // ── writes ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes the state that a write answered with into the copy, unless the copy is as far already. */
  const absorb = (ref: ObjectRef, object: KubeObject): void => {
    const version = versionOf(object)
    const known = read(ref)?.metadata.resourceVersion ?? answers.versionOf(ref)
    if (known !== undefined && !isLater(version, known)) return
    answers.written(ref, object, clock.now())
    const text = stringifyJson(object)
    for (const generation of [current, next]) {
      if (!generation) continue
      const previous = generation.store.get(ref.namespace, ref.name)
      const isInside = generation.cover.scopes.some((scope) => inScope(scope, object))
      const lean = isInside ? decode(generation, text, 0, text.length) : undefined
      if (lean) generation.store.put(lean)
      else generation.store.remove(ref.namespace, ref.name)
      if (lean ?? previous) publish(generation, { ref, version, previous, object: lean })
    }
  }

  const absorbDelete = (ref: ObjectRef, uid: string): void => {
    answers.deleted(ref, uid, read(ref)?.metadata.resourceVersion ?? '', clock.now())
    for (const generation of [current, next]) {
      const previous = generation?.store.get(ref.namespace, ref.name)
      if (!generation || previous?.metadata.uid !== uid) continue
      generation.store.remove(ref.namespace, ref.name)
      publish(generation, { ref, version: goneVersion(uid), previous, object: undefined })
    }
  }

  return {
    members,
    get cover() {
      return (next ?? current)?.cover ?? noCover
    },
    get watches() {
      return (current?.reflectors.size ?? 0) + (next?.reflectors.size ?? 0)
    },
    get store() {
      return current?.store
    },
    join(member) {
      members.add(member)
      if (current) declareIndexes(current.store, member)
      if (next) declareIndexes(next.store, member)
      adaptSoon()
    },
    leave(member) {
      members.delete(member)
      for (const index of Object.values(member.indexes)) {
        current?.store.removeIndex(index)
        next?.store.removeIndex(index)
      }
      if (members.size > 0) {
        adaptSoon()
        return
      }
      dismiss(current)
      dismiss(next)
      current = undefined
      next = undefined
    },
    storeFor(member) {
      if (current && member.filter) return current.store
      const { reason } = worstFreshness()
      const why = reason === undefined ? '' : ` ${reason}`
      throw new MusterError(
        'NotSynced',
        `${formatResource(resource)} has not been listed for ${member.consumer} yet.${why}`,
      )
    },
    freshness: worstFreshness,
    beginWrite(ref, consumer) {
      delivery.beginWrite(ref, consumer)
      return {
        written(object) {
          const version = versionOf(object)
          // The watch may have brought the echo before the answer came: then there is none to wait for.
          const isEchoed = !isLater(version, read(ref)?.metadata.resourceVersion ?? '0') && !answers.has(ref)
          delivery.endWrite(ref, consumer, version, () => absorb(ref, object))
          if (isEchoed) delivery.seen(ref, version)
        },
        deleted(told) {
          const uid = told ?? read(ref)?.metadata.uid
          delivery.endWrite(ref, consumer, goneVersion(uid), () => {
            if (uid !== undefined) absorbDelete(ref, uid)
          })
        },
        failed: () => delivery.endWrite(ref, consumer, undefined, () => undefined),
      }
    },
  }
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
