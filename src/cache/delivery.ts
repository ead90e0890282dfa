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
import { cacheKey, parseKey } from './key.ts'
import { goneVersion, isGoneVersion, type OwnWrites, ownWrites } from './own-writes.ts'
import type { CacheEvent, ConsumerProblem } from './subscription.ts'

/** Who is told: a consumer, of one scope of its need. */
export interface DeliveryListener {
  readonly consumer: string
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  /** What of the copy it sees. */
  readonly sees: (object: KubeObject) => boolean
  /** The version of the last change of what it sees: whoever is to speak to it next must be as far. */
  told: string
}

/** One step of an object in the copy. */
export interface DeliveredChange {
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
  readonly listeners: Set<DeliveryListener> = new Set()
  readonly #input: DeliveryInput
  /** Made by the first write: most feeds never see one. */
  #writes: OwnWrites | undefined
  #held: Map<string, DeliveredChange[]> | undefined

  constructor(input: DeliveryInput) {
    this.#input = input
  }

  /** Tells everyone for whom the change is news. */
  publish(change: DeliveredChange): void {
    const { previous, object } = change
    if (previous && object && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again while nobody looked: two events, or a consumer would mix up two lives.
      this.publish({ ...change, object: undefined })
      this.publish({ ...change, previous: undefined })
      return
    }
    const writes = this.#writes && this.#writes.size() > 0 ? this.#writes : undefined
    const key = writes && cacheKey(change.ref)
    for (const listener of this.listeners) {
      const was = previous !== undefined && listener.sees(previous) ? previous : undefined
      const is = object !== undefined && listener.sees(object) ? object : undefined
      if ((was || is) && !isGoneVersion(change.version)) listener.told = change.version
      if (writes && writes.isInFlight(key!, listener.consumer)) this.#hold(key!, listener.consumer, change)
      else if (!writes || !isOwn(writes, key!, listener.consumer, change)) this.tell(listener, was, is)
    }
  }

  /** Tells one listener of a step between two states that it sees; undefined is one that it does not. */
  tell(listener: DeliveryListener, was: KubeObject | undefined, is: KubeObject | undefined): void {
    if (!listener.onEvent) return
    if (was && is && was.metadata.uid !== is.metadata.uid) {
      this.tell(listener, was, undefined)
      this.tell(listener, undefined, is)
    } else if (was && is) this.#send(listener, { type: 'updated', object: is, previous: was })
    else if (is) this.#send(listener, { type: 'added', object: is, initial: false })
    else if (was) this.#send(listener, { type: 'deleted', object: was })
  }

  /** Tells a new listener what is there. */
  tellInitial(listener: DeliveryListener, objects: Iterable<KubeObject>): void {
    if (!listener.onEvent) return
    for (const object of objects) {
      if (listener.sees(object)) this.#send(listener, { type: 'added', object, initial: true })
    }
  }

  /**
   * From now on the listener is told by another. Returns, by key, the objects of which it may have missed something, since
   * its own writes of them are not settled: as it knows them.
   */
  dismiss(listener: DeliveryListener): ReadonlyMap<string, KubeObject | undefined> {
    this.listeners.delete(listener)
    const { consumer } = listener
    const missed = new Map<string, KubeObject | undefined>()
    for (const key of this.#writes?.unsettled(consumer) ?? []) {
      const [first] = this.#held?.get(`${consumer} ${key}`) ?? []
      if (first) missed.set(key, first.previous)
      else if (!this.#writes!.isInFlight(key, consumer)) missed.set(key, this.#input.read(parseKey(key)))
    }
    return missed
  }

  /** Wakes those whose own, later write hides this version of the object; `gone` if it is the end of that life. */
  tellHidden(ref: ObjectRef, version: string, gone?: string): void {
    const object = this.#input.read(ref)
    const writes = this.#writes
    if (!object || !writes) return
    const key = cacheKey(ref)
    const change: DeliveredChange = { ref, version, previous: object, object, gone }
    for (const consumer of writes.laterWriters(key, version, gone)) {
      // Perhaps it is the echo of a write whose answer is overtaken by that of a later one.
      if (writes.isInFlight(key, consumer)) this.#hold(key, consumer, change)
      else this.#tellConsumer(consumer, object, object)
    }
  }

  beginWrite(ref: ObjectRef, consumer: string): void {
    this.#writes ??= ownWrites()
    this.#writes.begin(cacheKey(ref), consumer)
  }

  /** The write is over; `version` is what it wrote. `settle` brings the copy up to date before anyone is told. */
  endWrite(ref: ObjectRef, consumer: string, version: string | undefined, settle: () => void): void {
    this.#writes?.end(cacheKey(ref), consumer, version)
    settle()
    this.#release(ref, consumer)
  }

  /** The watch told of the end of this life. */
  ended(ref: ObjectRef, uid: string | undefined): void {
    if (this.#writes && this.#writes.size() > 0) this.#writes.ended(cacheKey(ref), goneVersion(uid))
  }

  /** The watch brought this version of the object: no echo up to it is still to come. */
  seen(ref: ObjectRef, version: string): void {
    if (this.#writes && this.#writes.size() > 0) this.#writes.seen(cacheKey(ref), version)
  }

  /** The watch is past the version. */
  passed(version: string): void {
    this.#writes?.passed(version)
  }

  /** As `passed`, by a list: what it may have swallowed beneath own writes is told. */
  relisted(version: string): void {
    for (const { key, consumer } of this.#writes?.relisted(version) ?? []) {
      const ref = parseKey(key)
      const object = this.#input.read(ref)
      if (!object) continue
      if (this.#writes!.isInFlight(key, consumer)) {
        this.#hold(key, consumer, { ref, version: '', previous: object, object })
      } else this.#tellConsumer(consumer, object, object)
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

  #send({ consumer, onEvent }: DeliveryListener, event: CacheEvent<KubeObject>): void {
    this.guard(consumer, 'onEvent', () => onEvent?.(event))
  }

  #tellConsumer(consumer: string, previous: KubeObject | undefined, object: KubeObject | undefined): void {
    for (const listener of this.listeners) {
      if (listener.consumer !== consumer) continue
      this.tell(
        listener,
        previous && listener.sees(previous) ? previous : undefined,
        object && listener.sees(object) ? object : undefined,
      )
    }
  }

  #hold(key: string, consumer: string, change: DeliveredChange): void {
    this.#held ??= new Map()
    const slot = `${consumer} ${key}`
    const changes = this.#held.get(slot)
    if (!changes) this.#held.set(slot, [change])
    // Two listeners of one consumer share the slot: each change is held once.
    else if (changes.at(-1) !== change) changes.push(change)
  }

  #release(ref: ObjectRef, consumer: string): void {
    const key = cacheKey(ref)
    const writes = this.#writes
    if (!writes || writes.isInFlight(key, consumer)) return
    const slot = `${consumer} ${key}`
    const held = this.#held?.get(slot) ?? []
    this.#held?.delete(slot)
    const foreign = held.find((change) => !isOwn(writes, key, consumer, change))
    if (!foreign) return
    const now = this.#input.read(ref)
    // Of what came and went meanwhile the consumer knows what it wrote itself.
    const written = held.findLast((change) => isOwn(writes, key, consumer, change))?.object
    for (const listener of this.listeners) {
      if (listener.consumer !== consumer) continue
      const was = [foreign.previous, written].find((known) => known !== undefined && listener.sees(known))
      this.tell(listener, was, now && listener.sees(now) ? now : undefined)
    }
  }
}

function isOwn(writes: OwnWrites, key: string, consumer: string, change: DeliveredChange): boolean {
  const { version, previous, object, gone = object ? undefined : goneVersion(previous?.metadata.uid) } = change
  return writes.isOwn(key, version, consumer) || (gone !== undefined && writes.isOwn(key, gone, consumer))
}
