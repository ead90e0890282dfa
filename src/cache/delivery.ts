/**
 * Delivery: who is told of a change, and when.
 *
 * A change is news to everyone but the one who made it. While a consumer's own write of an object is under way nobody
 * can say which of the versions that arrive is its own: they are held back until the answer tells. What remains
 * foreign then is told in one event, with the state of that moment.
 */
import type { ObjectRef } from '../client/client.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { keyOf, parseKey } from './key.ts'
import type { Need } from './need.ts'
import { type Echo, ownWrites } from './own-writes.ts'
import type { Freshness } from './reflector.ts'
import type { CacheEvent, ConsumerProblem, IndexFunction } from './subscription.ts'

/** One consumer's part of a feed. */
export interface Member {
  readonly consumer: string
  readonly need: Need
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  readonly onFreshness: (freshness: Freshness) => void
  /** Called once `filter` is set. */
  readonly onSynced: () => void
  readonly indexes: Readonly<Record<string, IndexFunction<KubeObject>>>
  /** What of the shared copy this consumer sees; undefined until its first sync. */
  filter: ((object: KubeObject) => boolean) | undefined
}

/** One step of an object in the copy. */
export interface Change {
  readonly ref: ObjectRef
  readonly version: string
  readonly previous: KubeObject | undefined
  /** Undefined: it is gone. */
  readonly object: KubeObject | undefined
}

export interface Delivery {
  readonly members: Set<Member>
  /** Tells everyone for whom the change is news. */
  publish(change: Change): void
  /** Tells one member of a change as it looks through its filter. */
  tell(member: Member, previous: KubeObject | undefined, object: KubeObject | undefined): void
  /** Tells a new member what is there. */
  tellInitial(member: Member, objects: Iterable<KubeObject>): void
  /** Wakes those whose own, later write hides this version of the object. */
  tellHidden(ref: ObjectRef, version: string): void
  beginWrite(ref: ObjectRef, consumer: string): void
  /** The write is over; `version` is what it wrote. `settle` brings the copy up to date before anyone is told. */
  endWrite(ref: ObjectRef, consumer: string, version: string | undefined, settle: () => void): void
  /** The watch brought this version of the object: no echo up to it is still to come. */
  seen(ref: ObjectRef, version: string): void
  /** The watch of these objects is past the version. */
  passed(version: string, isConcerned: (key: string) => boolean): void
  /** As `passed`, by a list: what it may have swallowed beneath own writes is told. */
  relisted(version: string, isConcerned: (key: string) => boolean): void
  /** Runs a consumer's code; what it throws is reported and goes no further. */
  guard(consumer: string, where: ConsumerProblem['where'], work: () => void): void
}

export interface DeliveryInput {
  readonly resource: Resource
  /** The state of the copy, now. */
  readonly read: (ref: ObjectRef) => KubeObject | undefined
  readonly onProblem: (problem: ConsumerProblem) => void
}

/** Stands for the version of a delete, which is not told to the one who asked for it. */
export function goneVersion(uid: string | undefined): string {
  return `gone ${uid ?? ''}`
}

export function createDelivery({ resource, read, onProblem }: DeliveryInput): Delivery {
  const members = new Set<Member>()
  const writes = ownWrites()
  const held = new Map<string, Change[]>()

  const guard: Delivery['guard'] = (consumer, where, work) => {
    try {
      work()
    } catch (error) {
      onProblem({ consumer, resource, where, error })
    }
  }

  const send = (member: Member, event: CacheEvent<KubeObject>): void =>
    guard(member.consumer, 'onEvent', () => member.onEvent?.(event))

  const tell: Delivery['tell'] = (member, previous, object) => {
    if (!member.filter || !member.onEvent) return
    const was = previous !== undefined && member.filter(previous)
    const is = object !== undefined && member.filter(object)
    if (was && is) send(member, { type: 'updated', object, previous })
    else if (is) send(member, { type: 'added', object, initial: false })
    else if (was) send(member, { type: 'deleted', object: previous })
  }

  const tellConsumer = (consumer: string, previous: KubeObject | undefined, object: KubeObject | undefined): void => {
    for (const member of members) if (member.consumer === consumer) tell(member, previous, object)
  }

  const isOwn = (key: string, consumer: string, { version, previous, object }: Change): boolean =>
    writes.isOwn(key, version, consumer) ||
    (!object && writes.isOwn(key, goneVersion(previous?.metadata.uid), consumer))

  const hold = (key: string, consumer: string, change: Change): void => {
    const slot = `${consumer} ${key}`
    const changes = held.get(slot)
    if (!changes) held.set(slot, [change])
    // Two members of one consumer share the slot: each change is held once.
    else if (changes.at(-1) !== change) changes.push(change)
  }

  const release = (ref: ObjectRef, consumer: string): void => {
    const key = keyOf(ref)
    if (writes.isInFlight(key, consumer)) return
    const slot = `${consumer} ${key}`
    const foreign = held.get(slot)?.find((change) => !isOwn(key, consumer, change))
    held.delete(slot)
    if (foreign) tellConsumer(consumer, foreign.previous, read(ref))
  }

  const publish = (change: Change): void => {
    const { previous, object } = change
    if (previous && object && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again while nobody looked: two events, or a consumer would mix up two lives.
      publish({ ...change, object: undefined })
      publish({ ...change, previous: undefined })
      return
    }
    const key = writes.size > 0 ? keyOf(change.ref) : ''
    for (const member of members) {
      if (writes.size === 0) tell(member, previous, object)
      else if (writes.isInFlight(key, member.consumer)) hold(key, member.consumer, change)
      else if (!isOwn(key, member.consumer, change)) tell(member, previous, object)
    }
  }

  const lookAgain = (echoes: readonly Echo[]): void => {
    for (const { key, consumer } of echoes) {
      const object = read(parseKey(key))
      if (object) tellConsumer(consumer, object, object)
    }
  }

  return {
    members,
    guard,
    publish,
    tell,
    tellInitial(member, objects) {
      if (!member.onEvent || !member.filter) return
      for (const object of objects) if (member.filter(object)) send(member, { type: 'added', object, initial: true })
    },
    tellHidden(ref, version) {
      const object = read(ref)
      if (object)
        for (const consumer of writes.laterWriters(keyOf(ref), version)) tellConsumer(consumer, object, object)
    },
    beginWrite: (ref, consumer) => writes.begin(keyOf(ref), consumer),
    endWrite(ref, consumer, version, settle) {
      writes.end(keyOf(ref), consumer, version)
      settle()
      release(ref, consumer)
    },
    seen: (ref, version) => void (writes.size > 0 && writes.seen(keyOf(ref), version)),
    passed: (version, isConcerned) => void writes.passed(version, isConcerned),
    relisted: (version, isConcerned) => lookAgain(writes.passed(version, isConcerned)),
  }
}
