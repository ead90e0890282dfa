/**
 * Delivery: which listeners are notified of a change, and when.
 *
 * A listener is notified of every change of the objects that it selects, its own writes included, if it asked for those
 * (`ownWrites`). Any other listener is not notified of changes that its own consumer wrote: while a write of the consumer
 * is in flight, changes of that object are withheld (`echo-filter.ts`). Foreign changes among them are then delivered as
 * one event, with the current state.
 */
import type { ObjectRef } from '../client/client.ts'
import type { Resource } from '../kube/kind.ts'
import type { KubeObject } from '../kube/object.ts'
import { EchoFilter } from './echo-filter.ts'
import { cacheKey } from './key.ts'
import { deleteVersion, isDeleteVersion } from './resource-version.ts'
import type { CacheEvent, ConsumerProblem } from './subscription.ts'

/** Receives the events of one scope of a consumer's need. */
export interface DeliveryListener {
  readonly consumer: string
  readonly onEvent: ((event: CacheEvent<KubeObject>) => void) | undefined
  /** Whether it is notified of its consumer's own writes, too. */
  readonly ownWrites: boolean
  /** Which objects of the informer it receives. */
  readonly matches: (object: KubeObject) => boolean
  /** The version of the last change delivered to it: an informer that takes over must have reached it. */
  deliveredVersion: string
}

/** One change of an object in the informer's copy. */
interface DeliveredChange {
  readonly ref: ObjectRef
  /** Empty: unknown, perhaps several changes in one. */
  readonly version: string
  readonly previous: KubeObject | undefined
  /** Undefined: deleted. */
  readonly object: KubeObject | undefined
  /** The consumer whose write it is, if the response told. */
  readonly writer?: string | undefined
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
  #echoes: EchoFilter<DeliveredChange> | undefined

  constructor(input: DeliveryInput) {
    this.#input = input
  }

  publish(change: DeliveredChange): void {
    const { previous, object } = change
    if (previous && object && previous.metadata.uid !== object.metadata.uid) {
      // Deleted and created again between two lists: two events, or a consumer would take two objects for one.
      this.publish({ ...change, object: undefined })
      this.publish({ ...change, previous: undefined })
      return
    }
    const echoes = this.#echoes?.isEmpty === false ? this.#echoes : undefined
    const key = echoes && cacheKey(change.ref)
    for (const listener of this.listeners) {
      const was = previous !== undefined && listener.matches(previous) ? previous : undefined
      const is = object !== undefined && listener.matches(object) ? object : undefined
      if ((was || is) && !isDeleteVersion(change.version)) listener.deliveredVersion = change.version
      if (!listener.ownWrites) {
        if (echoes?.withholds(listener.consumer, key!, change) || change.writer === listener.consumer) continue
      }
      this.notify(listener, was, is, change.version)
    }
  }

  /**
   * A change that the copy never shows, because it holds the response of a later write. That response contains the
   * change, but its writer does not know: the writer's consumer is notified. `author`: the consumer that made the
   * change, if it is known.
   */
  publishHidden(ref: ObjectRef, version: string, writer: string, author?: string): void {
    const object = this.#input.read(ref)
    if (!object) return
    const change: DeliveredChange = { ref, version, previous: object, object }
    for (const listener of this.listeners) {
      if (listener.consumer !== writer || !listener.matches(object)) continue
      if (!listener.ownWrites) {
        // A response may be overtaken by that of a later write: then this is the echo of a write in flight.
        if (author === writer || this.#echoes?.withholds(writer, cacheKey(ref), change)) continue
      }
      this.notifyHidden(listener, object, version)
    }
  }

  /** Notifies one listener that there was a change, although the object is as the listener's consumer wrote it. */
  notifyHidden(listener: DeliveryListener, object: KubeObject, version: string = ''): void {
    this.#send(listener, { type: 'updated', object, previous: object, version, isHidden: true })
  }

  /** Notifies one listener of a change between two states; undefined: the state does not match the listener. */
  notify(
    listener: DeliveryListener,
    was: KubeObject | undefined,
    is: KubeObject | undefined,
    version: string = '',
  ): void {
    if (!listener.onEvent) return
    if (was && is && was.metadata.uid !== is.metadata.uid) {
      this.notify(listener, was, undefined, version)
      this.notify(listener, undefined, is, version)
    } else if (was && is) this.#send(listener, { type: 'updated', object: is, previous: was, version })
    else if (is) this.#send(listener, { type: 'added', object: is, initial: false, version })
    else if (was) this.#send(listener, { type: 'deleted', object: was, version })
  }

  /** Sends the existing objects to a new listener. */
  notifyInitial(listener: DeliveryListener, objects: Iterable<KubeObject>): void {
    if (!listener.onEvent) return
    for (const object of objects) {
      if (!listener.matches(object)) continue
      const version = object.metadata.resourceVersion ?? ''
      this.#send(listener, { type: 'added', object, initial: true, version })
    }
  }

  beginWrite(ref: ObjectRef, consumer: string): void {
    this.#echoes ??= new EchoFilter(versionsOf)
    this.#echoes.begin(consumer, cacheKey(ref))
  }

  /** The write has ended; `version` is what it wrote. `settle` updates the copy before any listener is notified. */
  endWrite(ref: ObjectRef, consumer: string, version: string | undefined, settle: () => void): void {
    const withheld = this.#echoes?.end(consumer, cacheKey(ref), version)
    settle()
    const [first] = withheld?.foreign ?? []
    if (!first) return
    const now = this.#input.read(ref)
    // Of the states in between, the consumer knows only those it wrote itself.
    const written = withheld?.own.at(-1)?.object
    for (const listener of this.listeners) {
      if (listener.consumer !== consumer || listener.ownWrites) continue
      const was = [first.previous, written].find((known) => known !== undefined && listener.matches(known))
      this.notify(listener, was, now && listener.matches(now) ? now : undefined)
    }
  }

  /** The states last delivered to a listener, of the objects whose changes are withheld from it; by key. */
  lastDelivered({ consumer, ownWrites }: DeliveryListener): ReadonlyMap<string, KubeObject | undefined> {
    const withheld = ownWrites ? undefined : this.#echoes?.withheldFrom(consumer)
    return new Map([...(withheld ?? [])].flatMap(([key, [first]]) => (first ? [[key, first.previous]] : [])))
  }

  isInFlight(key: string, consumer: string): boolean {
    return this.#echoes?.writers(key).includes(consumer) ?? false
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
}

/** A delete is known by its version to the watch, and by the deleted uid to its writer. */
function versionsOf({ version, previous, object }: DeliveredChange): readonly string[] {
  return object ? [version] : [version, deleteVersion(previous?.metadata.uid)]
}
