/**
 * What a built-in kind is, beyond its schema: what a client may leave out, what the server alone decides, what it
 * refuses. A kind without rules is treated like any other.
 *
 * The way of a write: the body is pruned and checked against its schema, then `defaults`; admission may change it
 * (and `defaults` runs again); `prepareCreate` or `prepareUpdate`; `validateCreate` or `validateUpdate`; validating
 * admission; stored. Rules are pure: an object in, another one (or the same) out. They may copy once and fill the copy.
 */
import type { Random } from '../../clock/random.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Cause } from '../errors/status-error.ts'
import type { StoredObject } from '../storage/storage.ts'

export interface KindContext {
  /** RFC 3339, seconds. */
  readonly now: string
  readonly random: Random
  /** Who writes. */
  readonly user: {
    readonly username: string
    readonly uid?: string
    readonly groups: readonly string[]
    readonly extra?: ReadonlyMap<string, readonly string[]>
  }
  /** Other objects of the cluster: `find('namespaces', undefined, 'default')`. */
  find(table: string, namespace: string | undefined, name: string): StoredObject | undefined
  /** All objects of a table. */
  objects(table: string, namespace?: string): readonly StoredObject[]
}

export interface DoorRules {
  readonly prepare?: (object: UntypedObject, live: StoredObject, context: KindContext) => UntypedObject
  readonly validate?: (object: UntypedObject, live: StoredObject, context: KindContext) => readonly Cause[]
}

export interface KindRules {
  /**
   * Fills in what was left out. Runs on whatever is decoded: a body, the outcome of a patch or apply. `version` is the
   * one it was written in. Must do nothing to what it did already.
   */
  readonly defaults?: (object: UntypedObject, version: string) => UntypedObject
  /** The first state: what the server alone sets. Status is gone by then, where it has an endpoint of its own. */
  readonly prepareCreate?: (object: UntypedObject, context: KindContext) => UntypedObject
  /** The same for an update through the main endpoint: status and fixed metadata are put back by then. */
  readonly prepareUpdate?: (object: UntypedObject, live: StoredObject, context: KindContext) => UntypedObject
  /** In place of the usual handling of an update through `/status` (spec and such put back, status taken). */
  readonly prepareStatus?: (object: UntypedObject, live: StoredObject, context: KindContext) => UntypedObject
  /** Everything wrong with a new object, in the order the real server tells it. Metadata is checked for all kinds. */
  readonly validateCreate?: (object: UntypedObject, context: KindContext) => readonly Cause[]
  /** Everything wrong with a change: usually what is wrong with the object, and then what may not change. */
  readonly validateUpdate?: (object: UntypedObject, live: StoredObject, context: KindContext) => readonly Cause[]
  readonly validateStatus?: (object: UntypedObject, live: StoredObject, context: KindContext) => readonly Cause[]
  /** The same for a write through another door that only this kind has: `approval`, `ephemeralcontainers`. */
  readonly doors?: Readonly<Record<string, DoorRules>>
  /** Said to the client beside the answer of a create or update. */
  readonly warnings?: (object: UntypedObject, live: StoredObject | undefined) => readonly string[]
}
