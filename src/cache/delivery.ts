/**
 * Delivery: which listeners are notified of a change, and when.
 *
 * A change is delivered to all listeners except those of the consumer that wrote it. While a consumer's write of an object
 * is in flight, it is unknown which arriving version is its own: events of that object are held back until the response
 * arrives. Foreign changes among them are then delivered as one event, with the current state.
 */
import type { ObjectRef } from '../client/client.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { cacheKey, parseKey } from './key.ts'
import { deleteVersion, isDeleteVersion, type OwnWrites, ownWrites } from './own-writes.ts'
import type { CacheEvent, ConsumerProblem } from './subscription.ts'

/** Receives the events of one scope of a consumer's need. */
export interface DeliveryListener {
  readonly consumer: string
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  /** Which objects of the informer it receives. */
  readonly matches: (object: KubeObject) => boolean
  /** The version of the last change delivered to it: an informer that takes over must have reached it. */
  deliveredVersion: string
}

/** One change of an object in the informer's copy. */
interface DeliveredChange {
  readonly ref: ObjectRef
  readonly version: string
  readonly previous: KubeObject | undefined
  /** Undefined: deleted. */
  readonly object: KubeObject | undefined
  /** Identifies the delete, where `object` is a later object of the same name. */
  readonly gone?: string | undefined
}

interface DeliveryInput {
  readonly resource: Resource
  /** The current state of the copy. */
  readonly read: (ref: ObjectRef) => KubeObject | undefined
  readonly onProblem: (problem: ConsumerProblem) => void
}

/** A class, like the informer and the reflector, because a process holds thousands: methods are shared, closures are not. */
export class Delivery {
  readonly listeners: Set<DeliveryListener> = new Set()
  readonly #input: DeliveryInput
  /** Created by the first write: most informers never see one. */
  #writes: OwnWrites | undefined
  #held: Map<string, DeliveredChange[]> | undefined

  constructor(input: DeliveryInput) {
    this.#input = input
  }

  /** Delivers the change to all listeners except those of its writer. */
  publish(change: DeliveredChange): void {
    const { previous, object } = change
    if (previous && object && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again between two lists: two events, or a consumer would take two objects for one.
      this.publish({ ...change, object: undefined })
      this.publish({ ...change, previous: undefined })
      return
    }
    const writes = this.#writes && this.#writes.size() > 0 ? this.#writes : undefined
    const key = writes && cacheKey(change.ref)
    for (const listener of this.listeners) {
      const was = previous !== undefined && listener.matches(previous) ? previous : undefined
      const is = object !== undefined && listener.matches(object) ? object : undefined
      if ((was || is) && !isDeleteVersion(change.version)) listener.deliveredVersion = change.version
      if (writes && writes.isInFlight(key!, listener.consumer)) this.#hold(key!, listener.consumer, change)
      else if (!writes || !isOwn(writes, key!, listener.consumer, change)) this.notify(listener, was, is)
    }
  }

  /** Notifies one listener of a change between two states; undefined: the state does not match the listener. */
  notify(listener: DeliveryListener, was: KubeObject | undefined, is: KubeObject | undefined): void {
    if (!listener.onEvent) return
    if (was && is && was.metadata.uid !== is.metadata.uid) {
      this.notify(listener, was, undefined)
      this.notify(listener, undefined, is)
    } else if (was && is) this.#send(listener, { type: 'updated', object: is, previous: was })
    else if (is) this.#send(listener, { type: 'added', object: is, initial: false })
    else if (was) this.#send(listener, { type: 'deleted', object: was })
  }

  /** Sends the existing objects to a new listener. */
  notifyInitial(listener: DeliveryListener, objects: Iterable<KubeObject>): void {
    if (!listener.onEvent) return
    for (const object of objects) {
      if (listener.matches(object)) this.#send(listener, { type: 'added', object, initial: true })
    }
  }

  /**
   * Removes a listener that moves to another informer. Returns, by key, the objects of which it may have missed changes,
   * because its own writes of them are pending: each in the state last delivered to it.
   */
  removeListener(listener: DeliveryListener): ReadonlyMap<string, KubeObject | undefined> {
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

  /** Notifies consumers whose own, later write hides this version of the object; `gone` if it is a delete. */
  notifyHidden(ref: ObjectRef, version: string, gone?: string): void {
    const object = this.#input.read(ref)
    const writes = this.#writes
    if (!object || !writes) return
    const key = cacheKey(ref)
    const change: DeliveredChange = { ref, version, previous: object, object, gone }
    for (const consumer of writes.laterWriters(key, version, gone)) {
      // Perhaps it is the echo of a write whose response was overtaken by that of a later write.
      if (writes.isInFlight(key, consumer)) this.#hold(key, consumer, change)
      else this.#notifyConsumer(consumer, object, object)
    }
  }

  beginWrite(ref: ObjectRef, consumer: string): void {
    this.#writes ??= ownWrites()
    this.#writes.begin(cacheKey(ref), consumer)
  }

  /** The write has ended; `version` is what it wrote. `settle` updates the copy before any listener is notified. */
  endWrite(ref: ObjectRef, consumer: string, version: string | undefined, settle: () => void): void {
    this.#writes?.end(cacheKey(ref), consumer, version)
    settle()
    this.#release(ref, consumer)
  }

  /** The watch delivered the deletion of this uid. */
  ended(ref: ObjectRef, uid: string | undefined): void {
    if (this.#writes && this.#writes.size() > 0) this.#writes.ended(cacheKey(ref), deleteVersion(uid))
  }

  /** The watch delivered this version of the object: no echo up to it can follow. */
  seen(ref: ObjectRef, version: string): void {
    if (this.#writes && this.#writes.size() > 0) this.#writes.seen(cacheKey(ref), version)
  }

  /** The watch has passed the version. */
  passed(version: string): void {
    this.#writes?.passed(version)
  }

  /** As `passed`, by a list: notifies consumers of foreign changes that the list may have merged with their own writes. */
  relisted(version: string): void {
    for (const { key, consumer } of this.#writes?.relisted(version) ?? []) {
      const ref = parseKey(key)
      const object = this.#input.read(ref)
      if (!object) continue
      if (this.#writes!.isInFlight(key, consumer)) {
        this.#hold(key, consumer, { ref, version: '', previous: object, object })
      } else this.#notifyConsumer(consumer, object, object)
    }
  }

  /** Runs a consumer's callback; an error it throws is reported, not rethrown. */
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

  #notifyConsumer(consumer: string, previous: KubeObject | undefined, object: KubeObject | undefined): void {
    for (const listener of this.listeners) {
      if (listener.consumer !== consumer) continue
      this.notify(
        listener,
        previous && listener.matches(previous) ? previous : undefined,
        object && listener.matches(object) ? object : undefined,
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
    // Of the states in between, the consumer knows only those it wrote itself.
    const written = held.findLast((change) => isOwn(writes, key, consumer, change))?.object
    for (const listener of this.listeners) {
      if (listener.consumer !== consumer) continue
      const was = [foreign.previous, written].find((known) => known !== undefined && listener.matches(known))
      this.notify(listener, was, now && listener.matches(now) ? now : undefined)
    }
  }
}

function isOwn(writes: OwnWrites, key: string, consumer: string, change: DeliveredChange): boolean {
  const { version, previous, object, gone = object ? undefined : deleteVersion(previous?.metadata.uid) } = change
  return writes.isOwn(key, version, consumer) || (gone !== undefined && writes.isOwn(key, gone, consumer))
}
