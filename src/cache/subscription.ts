/** What a consumer holds of a shared cache: a view of one resource, narrowed to what it asked for. */
import type { Resource } from '../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../kube/object.ts'
import type { LabelSelectorSource } from '../kube/selector.ts'
import type { ObjectRef } from '../client/client.ts'
import type { Detail } from './need.ts'
import type { Freshness } from './reflector.ts'

/** A change of what the consumer sees. Objects are frozen and shared: keep them, never change them. */
export type CacheEvent<T extends KubeObject = UntypedObject> =
  | {
      readonly type: 'added'
      readonly object: T
      /** Part of the first state, not a change. */ readonly initial: boolean
    }
  | { readonly type: 'updated'; readonly object: T; readonly previous: T }
  /** `object` is its last known state. */
  | { readonly type: 'deleted'; readonly object: T }

/** The keys under which an index finds an object. */
export type IndexFunction<T extends KubeObject = UntypedObject> = (object: T) => readonly string[]

export interface SubscribeOptions<T extends KubeObject = UntypedObject> {
  /** Whose wish this is: for echoes of own writes, accounting and reports. */
  readonly consumer: string
  /** @default all namespaces */
  readonly namespaces?: readonly string[] | undefined
  /** @default everything */
  readonly labels?: LabelSelectorSource | undefined
  /** `metadata.name=x`, `spec.nodeName=y`. @default everything */
  readonly fields?: string | undefined
  /** How the names of those wanted begin. Servers cannot select by that: all are watched, and the others dropped. */
  readonly namePrefix?: string | undefined
  /** How much of each object is needed; others may cause more to be there. @default "full" */
  readonly detail?: Detail | undefined
  /** Keep `metadata.managedFields`, which is often half of an object. @default false */
  readonly managedFields?: boolean | undefined
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>> | undefined
  /**
   * Called in order, first for the objects that exist, then for each change; never for the echo of an own write.
   * What it throws is reported and harms nobody else.
   */
  readonly onEvent?: ((event: CacheEvent<T>) => void) | undefined
  readonly onFreshness?: ((freshness: Freshness) => void) | undefined
}

/**
 * Reads cost nothing and never reach the server. Before the first sync they fail with `NotSynced` rather than show
 * a part; while the cache is stale they show the last state known (see `freshness`).
 */
export interface Subscription<T extends KubeObject = UntypedObject> {
  readonly resource: Resource
  readonly consumer: string
  readonly freshness: Freshness
  get(ref: ObjectRef): T | undefined
  list(namespace?: string): readonly T[]
  /** Objects that this one owns (by uid in ownerReferences). */
  byOwner(uid: string): readonly T[]
  byIndex(index: string, key: string): readonly T[]
  /** Resolves when reads are allowed. @throws SyncTimeout with the reason it takes so long */
  synced(options?: SyncOptions): Promise<void>
  close(): void
}

export interface SyncOptions {
  /** The longest wait. @default none */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Something that a consumer's code did wrong and that was contained. */
export interface ConsumerProblem {
  readonly consumer: string
  readonly resource: Resource
  readonly where: 'onEvent' | 'onFreshness' | 'index'
  readonly error: unknown
}
