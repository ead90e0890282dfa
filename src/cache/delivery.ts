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
import { goneVersion, type OwnWrites, ownWrites } from './own-writes.ts'
import type { Freshness } from './reflector.ts'
import type { CacheEvent, ConsumerProblem, IndexFunction } from './subscription.ts'

/** One consumer's part of a feed. */
export interface Member {
  readonly consumer: string
  readonly need: Need
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  readonly onFreshness: ((freshness: Freshness) => void) | undefined
  /** Called when the member may read, or is a member no longer: whoever waits for it looks again. */
  readonly wake: () => void
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
  /** The delete that this is, where `object` is another, later life. */
  readonly gone?: string | undefined
}

export interface DeliveryInput {
  readonly resource: Resource
  /** The state of the copy, now. */
  readonly read: (ref: ObjectRef) => KubeObject | undefined
  readonly onProblem: (problem: ConsumerProblem) => void
}

/** A class, as are the feed and the reflector, because a process holds thousands: methods are shared, closures are not. */
export class Delivery {
  readonly members: Set<Member> = new Set()
  readonly #input: DeliveryInput
  /** Made by the first write: most feeds never see one. */
  #writes: OwnWrites | undefined
  #held: Map<string, Change[]> | undefined

  constructor(input: DeliveryInput) {
    this.#input = input
  }

  /** Tells everyone for whom the change is news. */
  publish(change: Change): void {
    const { previous, object } = change
    if (previous && object && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again while nobody looked: two events, or a consumer would mix up two lives.
      this.publish({ ...change, object: undefined })
      this.publish({ ...change, previous: undefined })
      return
    }
    const writes = this.#writes
    if (!writes || writes.size === 0) {
      for (const member of this.members) this.tell(member, previous, object)
      return
    }
    const key = keyOf(change.ref)
    for (const member of this.members) {
      if (writes.isInFlight(key, member.consumer)) this.#hold(key, member.consumer, change)
      else if (!isOwn(writes, key, member.consumer, change)) this.tell(member, previous, object)
    }
  }

  /** Tells one member of a change as it looks through its filter: what enters its view is added, what leaves it deleted. */
  tell(member: Member, previous: KubeObject | undefined, object: KubeObject | undefined): void {
    if (!member.filter || !member.onEvent) return
    if (previous && object && previous.metadata.uid !== object.metadata.uid) {
      this.tell(member, previous, undefined)
      this.tell(member, undefined, object)
      return
    }
    const was = previous !== undefined && member.filter(previous)
    const is = object !== undefined && member.filter(object)
    if (was && is) this.#send(member, { type: 'updated', object, previous })
    else if (is) this.#send(member, { type: 'added', object, initial: false })
    else if (was) this.#send(member, { type: 'deleted', object: previous })
  }

  /** Tells a new member what is there. */
  tellInitial(member: Member, objects: Iterable<KubeObject>): void {
    if (!member.onEvent || !member.filter) return
    for (const object of objects) {
      if (member.filter(object)) this.#send(member, { type: 'added', object, initial: true })
    }
  }

  /** Wakes those whose own, later write hides this version of the object; `gone` if it is the end of that life. */
  tellHidden(ref: ObjectRef, version: string, gone?: string): void {
    const object = this.#input.read(ref)
    const writes = this.#writes
    if (!object || !writes) return
    const key = keyOf(ref)
    const change: Change = { ref, version, previous: object, object, gone }
    for (const consumer of writes.laterWriters(key, version, gone)) {
      // Perhaps it is the echo of a write whose answer is overtaken by that of a later one.
      if (writes.isInFlight(key, consumer)) this.#hold(key, consumer, change)
      else this.#tellConsumer(consumer, object, object)
    }
  }

  beginWrite(ref: ObjectRef, consumer: string): void {
    this.#writes ??= ownWrites()
    this.#writes.begin(keyOf(ref), consumer)
  }

  /** The write is over; `version` is what it wrote. `settle` brings the copy up to date before anyone is told. */
  endWrite(ref: ObjectRef, consumer: string, version: string | undefined, settle: () => void): void {
    this.#writes?.end(keyOf(ref), consumer, version)
    settle()
    this.#release(ref, consumer)
  }

  /** The watch told of the end of this life. */
  ended(ref: ObjectRef, uid: string | undefined): void {
    if (this.#writes && this.#writes.size > 0) this.#writes.ended(keyOf(ref), goneVersion(uid))
  }

  /** The watch brought this version of the object: no echo up to it is still to come. */
  seen(ref: ObjectRef, version: string): void {
    if (this.#writes && this.#writes.size > 0) this.#writes.seen(keyOf(ref), version)
  }

  /** The watch of these objects is past the version. */
  passed(version: string, isConcerned: (key: string) => boolean): void {
    this.#writes?.passed(version, isConcerned)
  }

  /** As `passed`, by a list: what it may have swallowed beneath own writes is told. */
  relisted(version: string, isConcerned: (key: string) => boolean): void {
    for (const { key, consumer } of this.#writes?.relisted(version, isConcerned) ?? []) {
      const object = this.#input.read(parseKey(key))
      if (object) this.#tellConsumer(consumer, object, object)
    }
  }

  /** Runs a consumer's code; what it throws is reported and goes no further. */
  guard(consumer: string, where: ConsumerProblem['where'], work: () => void): void {
    const { resource, onProblem } = this.#input
    try {
      work()
    } catch (error) {
      onProblem({ consumer, resource, where, error })
    }
  }

  #send(member: Member, event: CacheEvent<KubeObject>): void {
    this.guard(member.consumer, 'onEvent', () => member.onEvent?.(event))
  }

  #tellConsumer(consumer: string, previous: KubeObject | undefined, object: KubeObject | undefined): void {
    for (const member of this.members) if (member.consumer === consumer) this.tell(member, previous, object)
  }

  #hold(key: string, consumer: string, change: Change): void {
    this.#held ??= new Map()
    const slot = `${consumer} ${key}`
    const changes = this.#held.get(slot)
    if (!changes) this.#held.set(slot, [change])
    // Two members of one consumer share the slot: each change is held once.
    else if (changes.at(-1) !== change) changes.push(change)
  }

  #release(ref: ObjectRef, consumer: string): void {
    const key = keyOf(ref)
    const writes = this.#writes
    if (!writes || writes.isInFlight(key, consumer)) return
    const slot = `${consumer} ${key}`
    const held = this.#held?.get(slot) ?? []
    this.#held?.delete(slot)
    const foreign = held.find((change) => !isOwn(writes, key, consumer, change))
    if (!foreign) return
    const now = this.#input.read(ref)
    // Of what came and went meanwhile the consumer knows what it wrote itself.
    const written = now ? undefined : held.findLast((change) => isOwn(writes, key, consumer, change))?.object
    this.#tellConsumer(consumer, foreign.previous ?? written, now)
  }
}

function isOwn(writes: OwnWrites, key: string, consumer: string, change: Change): boolean {
  const { version, previous, object, gone = object ? undefined : goneVersion(previous?.metadata.uid) } = change
  return writes.isOwn(key, version, consumer) || (gone !== undefined && writes.isOwn(key, gone, consumer))
}
