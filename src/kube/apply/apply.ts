/**
 * Server-side apply: many writers, one object, and a record of who decides what.
 *
 * Every object remembers in `metadata.managedFields` which manager owns which fields. There are two ways to write:
 *
 * - **update** (create, update and the patches): the writer sends the outcome. Fields it changed become its own and
 *   are taken from all others ({@link updateObject}).
 * - **apply**: the writer sends only what it cares about. That is merged into the live object and, as a whole, is what
 *   the writer owns from then on. A field it applied last time and leaves out now is removed, unless somebody else
 *   owns it too. A field that somebody else owns with another value is a conflict, unless the writer insists: `force`
 *   takes it over. Two appliers who agree on a value own it together ({@link applyObject}).
 *
 * What is *one field* depends on the kind's schema: structs and maps are divided, lists are one thing unless marked
 * as sets or keyed maps, and any of it may be marked atomic. From bottom to top:
 *
 *     path-element, field-set, fields-v1       naming fields, sets of them, and how managedFields write those
 *     shape, zeros, conformance, list-item     what the schema makes of a value, and whether it fits
 *     value-fields, comparison, merge, items   walking values: their fields, their differences, merging, cutting out
 *     managed-fields, owners, prune, conflict  the record, how ownership moves, what goes when nobody wants it
 *     apply, last-applied                      the two operations; coming from kubectl's client-side apply
 *
 * All functions are pure: nothing given is changed, and an apply that changes nothing gives the live object back.
 * Both operations expect objects as the server holds them: unknown fields pruned, `updated` defaulted. What the
 * result still needs (defaults, no `null` in built-in kinds, generation, resourceVersion) is up to the caller, and
 * so is `withSettledTimes` at the very end.
 */
import { isMusterError, MusterError } from '../errors.ts'
import { equalJson, type JsonObject } from '../json.ts'
import type { KubeObject } from '../object.ts'
import type { Definitions, Schema } from '../schema.ts'
import { checkConforms } from './conformance.ts'
import { ApplyConflict } from './conflict.ts'
import { type FieldSet, hasPath, noFields, recursiveDifference, union } from './field-set.ts'
import { fieldsOfLastApplied, kubectl, lastAppliedAnnotation, withLastApplied } from './last-applied.ts'
import { asksForReset, capUpdaters, decodeManagers, managerId, type Managers, withManagers } from './managed-fields.ts'
import { formatTime } from '../duration.ts'
import { type OwnerRules, ownersAfterApply, ownersAfterUpdate } from './owners.ts'
import { shapeOf } from './shape.ts'
import type { ConvertVersion, Versioned } from './version.ts'

export interface ManagedWriteOptions {
  /** Who writes: the `fieldManager` of the request, or the first part of its user agent. */
  readonly manager: string
  /** The subresource written through, such as `status`: the same manager owns other fields there. */
  readonly subresource?: string | undefined
  /** The schema of the kind at the version written; without one, maps are granular and lists atomic. */
  readonly schema: Schema | undefined
  readonly definitions?: Definitions
  /** Milliseconds since the epoch. */
  readonly now: number
  /**
   * Fields that a write through this resource cannot change (`status` through the main resource, everything else
   * through `status`) and thus cannot own: a set of them with all that is below, or a function that leaves them out.
   */
  readonly resetFields?: FieldSet | ((fields: FieldSet, apiVersion: string) => FieldSet)
  /** How objects look at other versions of their kind. @default as they do at this one */
  readonly convert?: ConvertObject
}

/**
 * An object at another version, with the schema of that; `undefined` when it is no longer served. It is also asked
 * for objects that lack required fields, in the midst of pruning.
 */
export type ConvertObject = (
  object: JsonObject,
  apiVersion: string,
) => { readonly object: JsonObject; readonly schema: Schema | undefined } | undefined

export interface UpdateOptions<T extends KubeObject> extends ManagedWriteOptions {
  /** The object as stored; `undefined` when it is being created. */
  readonly live: T | undefined
  /** The object as it is to be stored. */
  readonly updated: T
}

export interface ApplyOptions<T extends KubeObject> extends ManagedWriteOptions {
  /** The object as stored; `undefined` when it is being created. */
  readonly live: T | undefined
  /** What the manager cares about, at the version of `live`. */
  readonly applied: KubeObject
  /** Take over fields that others own, instead of failing. @default false */
  readonly force?: boolean | undefined
}

/** The name of those who do not give one. */
const unknownManager = 'unknown'

/** The owner of all that was there before anybody kept a record. */
const beforeFirstApply = 'before-first-apply'

/**
 * `updated` with the record of ownership that an ordinary write leaves. A client may also write the record itself, or
 * clear it with an empty one. Never fails: where the objects do not fit the schema, the record stays as it was.
 */
export function updateObject<T extends KubeObject>(options: UpdateOptions<T>): T {
  const { live, updated } = options
  const managers = managersOfUpdate(options)
  // An object without a record gets one when it is created or first applied, not in between.
  if (managers.size === 0 && live) return withManagers(updated, managers)
  try {
    const before = versioned(live ?? blank(updated), options)
    const after = versioned(updated, options)
    checkConforms(after.value, after.shape, { allowDuplicates: true })
    checkConforms(before.value, before.shape, { allowDuplicates: true })
    return withManagers(updated, recordUpdate(before, after, managers, options))
  } catch (error) {
    if (!isMusterError(error)) throw error
    const { managedFields: _unused, ...metadata } = updated.metadata
    const kept = live?.metadata.managedFields
    return { ...updated, metadata: kept ? { ...metadata, managedFields: kept } : metadata }
  }
}

/** The record to start from: the one the client sends along if it is sound, else that of the live object. */
function managersOfUpdate({ live, updated, subresource }: UpdateOptions<KubeObject>): Managers {
  if (!subresource) {
    if (asksForReset(updated.metadata.managedFields)) return new Map()
    const sent = soundManagers(updated)
    if (sent.size > 0) return sent
  }
  return soundManagers(live)
}

function soundManagers(object: KubeObject | undefined): Managers {
  try {
    return decodeManagers(object?.metadata.managedFields)
  } catch (error) {
    if (isMusterError(error, 'InvalidFieldSet')) return new Map()
    throw error
  }
}

function recordUpdate(before: Versioned, after: Versioned, managers: Managers, options: ManagedWriteOptions): Managers {
  const { managers: others, taken } = ownersAfterUpdate(before, after, managers, rulesOf(options))
  const out = new Map(others)
  if (taken.length > 0) {
    const { manager, subresource = '' } = options
    const { apiVersion } = after
    const self = { manager: manager || unknownManager, operation: 'Update', apiVersion, subresource } as const
    const id = managerId(self)
    const fields = union(taken, out.get(id)?.fields ?? noFields)
    out.set(id, { ...self, time: formatTime(options.now), fields })
  }
  return capUpdaters(out)
}

/**
 * The live object with `applied` merged into it. Gives `live` itself back when nothing changes.
 *
 * Raises {@link ApplyConflict}, `SchemaMismatch` (what is applied does not fit the schema, or repeats a list key),
 * `InvalidObject` and, when the record of the live object cannot be read, `InvalidFieldSet`.
 */
export function applyObject<T extends KubeObject>(options: ApplyOptions<T>): T {
  const { live, applied, force = false, manager, now } = options
  checkApplied(applied, live)
  const config = versioned(applied, options)
  const before = versioned(live ?? blank(applied), options)
  checkConforms(config.value, config.shape)
  checkConforms(before.value, before.shape, { allowDuplicates: true })

  let managers = decodeManagers(live?.metadata.managedFields)
  if (managers.size === 0 && live) {
    const empty = versioned(blank(applied), options)
    managers = recordUpdate(empty, before, managers, { ...options, manager: beforeFirstApply })
  }
  const applier = { manager: manager || unknownManager, subresource: options.subresource ?? '', force }
  const outcome = withMigration(before, applier.manager, (insist) =>
    ownersAfterApply(before, config, managers, { ...applier, force: force || insist }, rulesOf(options)),
  )

  const unchanged = live !== undefined && equalJson(before.value, outcome.object.value)
  const out = new Map(outcome.managers)
  const id = managerId({ ...applier, operation: 'Apply', apiVersion: applied.apiVersion })
  const own = out.get(id)
  if (own && !unchanged) out.set(id, { ...own, time: formatTime(now) })
  const merged = unchanged ? live : (asObject(outcome.object.value as JsonObject) as T)
  return withManagers(applier.manager === kubectl ? withLastApplied(merged, applied) : merged, out)
}

/** Applies; what conflicts only with kubectl's own client-side past is applied by force. */
function withMigration<R>(live: Versioned, manager: string, apply: (force: boolean) => R): R {
  try {
    return apply(false)
  } catch (error) {
    if (!(error instanceof ApplyConflict) || manager !== kubectl) throw error
    const { metadata } = live.value as unknown as KubeObject
    const past = fieldsOfLastApplied(live, metadata.annotations?.[lastAppliedAnnotation])
    if (!past) throw error
    const conflicts = error.conflicts.filter(({ path }) => !hasPath(past, path))
    if (conflicts.length > 0) throw new ApplyConflict(conflicts)
    return apply(true)
  }
}

function checkApplied(applied: KubeObject, live: KubeObject | undefined): void {
  if (!applied.apiVersion || !applied.kind) {
    throw new MusterError('InvalidObject', 'The applied object has no apiVersion or no kind.')
  }
  if (live && (live.apiVersion !== applied.apiVersion || live.kind !== applied.kind)) {
    const [given, wanted] = [applied, live].map(({ apiVersion, kind }) => `${apiVersion}, Kind=${kind}`)
    throw new MusterError('InvalidObject', `invalid object type: ${given}; the live object is ${wanted}.`)
  }
  if (Array.isArray(applied.metadata.managedFields)) {
    throw new MusterError('InvalidObject', 'metadata.managedFields must be nil')
  }
}

/** Pruning leaves no metadata at all when all of it was the applier's and none can be applied any more. */
function asObject(value: JsonObject): unknown {
  return value['metadata'] ? value : { ...value, metadata: {} }
}

/** An object of the same kind that nobody wrote a field of. */
function blank({ apiVersion, kind }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: {} }
}

/** The object as merging sees it: without its own record of ownership. */
function versioned(object: KubeObject, { schema, definitions }: ManagedWriteOptions): Versioned {
  const { managedFields, ...metadata } = object.metadata
  const value = managedFields === undefined ? object : { ...object, metadata }
  return {
    apiVersion: object.apiVersion,
    value: value as unknown as JsonObject,
    shape: shapeOf(schema, definitions),
  }
}

function rulesOf(options: ManagedWriteOptions): OwnerRules {
  const { resetFields = noFields, convert } = options
  const convertObject: ConvertVersion = (object, apiVersion) => {
    if (object.apiVersion === apiVersion) return object
    const value = object.value as JsonObject
    const { schema, definitions } = options
    const converted = convert ? convert(value, apiVersion) : { object: { ...value, apiVersion }, schema }
    if (!converted) return undefined
    const out = { apiVersion, value: converted.object, shape: shapeOf(converted.schema, definitions) }
    // Stricter than with the stored object itself, but so is the server.
    checkConforms(out.value, out.shape)
    return out
  }
  return {
    convert: convertObject,
    ownable: typeof resetFields === 'function' ? resetFields : (fields) => recursiveDifference(fields, resetFields),
  }
}
