/**
 * The rules of a built-in kind beyond its schema: defaults, fields that the server controls, validation, warnings. The
 * counterpart of the real server's defaulting functions and REST strategies. A kind without rules is treated like any
 * other.
 *
 * The path of a write: the body is pruned and checked against its schema, then `defaults`; admission may change it (and
 * `defaults` runs again); `prepareCreate` or `prepareUpdate`; `validateCreate` or `validateUpdate`; validating
 * admission; storage. Rules are pure: they return a new object or the same one. They may copy once and fill the copy.
 */
import type { Random } from '../../../clock/random.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Cause } from '../../errors/status-error.ts'
import type { StoredObject } from '../../storage/storage.ts'

export interface KindContext {
  /** RFC 3339, seconds. */
  readonly now: string
  readonly random: Random
  /** The user of the request. */
  readonly user: {
    readonly username: string
    readonly uid?: string
    readonly groups: readonly string[]
    readonly extra?: ReadonlyMap<string, readonly string[]>
  }
  /** Another object of the cluster: `find('namespaces', undefined, 'default')`. */
  find(table: string, namespace: string | undefined, name: string): StoredObject | undefined
  /** All objects of a table. */
  objects(table: string, namespace?: string): readonly StoredObject[]
}

interface SubresourceRules {
  readonly prepare?: (object: UntypedObject, live: StoredObject, context: KindContext) => UntypedObject
  readonly validate?: (object: UntypedObject, live: StoredObject, context: KindContext) => readonly Cause[]
}

export interface KindRules {
  /**
   * Sets defaults. Runs on every decoded object: a body, the result of a patch or apply. `version` is the version of
   * the request. Must be idempotent.
   */
  readonly defaults?: (object: UntypedObject, version: string) => UntypedObject
  /** Sets the initial state of fields that the server controls. Status is removed before, if the kind has `/status`. */
  readonly prepareCreate?: (object: UntypedObject, context: KindContext) => UntypedObject
  /** The same for an update through the main endpoint, after status and system metadata are reset. */
  readonly prepareUpdate?: (object: UntypedObject, live: StoredObject, context: KindContext) => UntypedObject
  /** Replaces the usual handling of an update through `/status` (all but status reset). */
  readonly prepareStatus?: (object: UntypedObject, live: StoredObject, context: KindContext) => UntypedObject
  /** Validation errors of a new object, in the order of the real server. Metadata is validated for all kinds. */
  readonly validateCreate?: (object: UntypedObject, context: KindContext) => readonly Cause[]
  /** Validation errors of an update: usually those of the object, and then those of immutable fields. */
  readonly validateUpdate?: (object: UntypedObject, live: StoredObject, context: KindContext) => readonly Cause[]
  readonly validateStatus?: (object: UntypedObject, live: StoredObject, context: KindContext) => readonly Cause[]
  /** The same for writes through a subresource that only this kind has: `approval`, `ephemeralcontainers`. */
  readonly subresources?: Readonly<Record<string, SubresourceRules>>
  /** Warnings to the client about a create or update. */
  readonly warnings?: (object: UntypedObject, live: StoredObject | undefined) => readonly string[]
}
