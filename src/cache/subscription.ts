/** A subscription: the view of one resource that a consumer has, limited to the objects it selected. */
import type { Resource } from '../kube/kind.ts'
import type { KubeObject, Named, UntypedObject } from '../kube/object.ts'
import type { LabelSelectorSource } from '../kube/selector/selector.ts'
import type { ObjectRef } from '../client/client.ts'
import type { Detail } from './need.ts'
import type { Freshness } from './reflector.ts'

/** A change in the view. Objects are frozen and shared: they may be kept, never changed. */
export type CacheEvent<T extends KubeObject = UntypedObject> = ObjectAdded<T> | ObjectUpdated<T> | ObjectDeleted<T>

interface ObjectEvent<T extends KubeObject> {
  readonly object: T
  /** The resource version of the change. Empty: several changes, or unknown. */
  readonly version: string
}

interface ObjectAdded<T extends KubeObject> extends ObjectEvent<T> {
  readonly type: 'added'
  /** Part of the initial list, not a change. */
  readonly initial: boolean
}

interface ObjectUpdated<T extends KubeObject> extends ObjectEvent<T> {
  readonly type: 'updated'
  readonly previous: T
  /**
   * A change of another writer that the consumer's own, later write hides: the object is as the consumer wrote it, and
   * `previous` is the same.
   */
  readonly isHidden?: true
}

/** `object` is its last known state. */
interface ObjectDeleted<T extends KubeObject> extends ObjectEvent<T> {
  readonly type: 'deleted'
}

/** The keys under which an index finds an object. */
export type IndexFunction<T extends KubeObject = UntypedObject> = (object: Named<T>) => readonly string[]

export interface SubscribeOptions<T extends KubeObject = UntypedObject> {
  /** The name of the consumer: identifies its own writes, and appears in reports and accounting. */
  readonly consumer: string
  /** @default all namespaces */
  readonly namespaces?: readonly string[] | undefined
  /** @default everything */
  readonly labels?: LabelSelectorSource | undefined
  /** `metadata.name=x`, `spec.nodeName=y`. @default everything */
  readonly fields?: string | undefined
  /** Only objects whose names have this prefix. API servers cannot select by it: others are watched and dropped. */
  readonly namePrefix?: string | undefined
  /** How much of each object is needed; shared objects may hold more. @default "full" */
  readonly detail?: Detail | undefined
  /** Keep `metadata.managedFields`, which is often half of an object. @default false */
  readonly managedFields?: boolean | undefined
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>> | undefined
  /**
   * Called in order, first for the existing objects, then for each change; for the consumer's own writes only with
   * `ownWrites`. Errors it throws are reported to `onProblem` and do not affect other consumers.
   */
  readonly onEvent?: ((event: CacheEvent<T>) => void) | undefined
  /** Call `onEvent` for the consumer's own writes, too: once each, before the verb returns. @default false */
  readonly ownWrites?: boolean | undefined
  readonly onFreshness?: ((freshness: Freshness) => void) | undefined
}

/**
 * Reads cost nothing and send no request. Before the first sync they fail with `NotSynced` instead of returning a partial
 * list; while the cache is stale they return the last known state (see `freshness`).
 */
export interface Subscription<T extends KubeObject = UntypedObject> {
  readonly resource: Resource
  readonly consumer: string
  readonly freshness: Freshness
  get(ref: ObjectRef): Named<T> | undefined
  list(namespace?: string): readonly Named<T>[]
  /** Objects with this uid in their ownerReferences. */
  byOwner(uid: string): readonly Named<T>[]
  byIndex(index: string, key: string): readonly Named<T>[]
  /** Resolves when reads are allowed. @throws SyncTimeout with the reason of the delay */
  synced(options?: SyncOptions): Promise<void>
  close(): void
}

export interface SyncOptions {
  /** The longest wait. @default none */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** An error thrown by a consumer's callback. */
export interface ConsumerProblem {
  readonly consumer: string
  readonly resource: Resource
  readonly where: 'onEvent' | 'onFreshness' | 'index'
  readonly error: unknown
}
