/**
 * Server-side apply: several field managers write one object, and its `managedFields` record who owns which fields.
 *
 * `metadata.managedFields` lists the fields of each field manager. There are two ways to write:
 *
 * - **update** (create, update and the patches): the writer sends the result. It becomes the owner of the fields it changed;
 *   all other managers lose them ({@link updateObject}).
 * - **apply**: the writer sends only the fields it manages. They are merged into the live object, and are exactly the fields
 *   that it owns from then on. A field that it applied last time and omits now is removed, unless another manager owns it,
 *   too. A field that another manager owns with another value is a conflict, unless `force` takes it over. Appliers of the
 *   same value share its ownership ({@link applyObject}).
 *
 * What *one field* is depends on the schema of the kind: structs and maps are granular, lists are atomic unless marked as sets
 * or keyed maps, and any of them may be marked atomic. From bottom to top:
 *
 *     path-element, field-set, fields-v1       fields, sets of fields, and their form in managedFields
 *     shape, zeros, conformance, list-item     how the schema defines a value, and whether a value conforms
 *     value-fields, comparison, merge, items   values: their fields, differences, merging, extraction and removal
 *     managed-fields, owners, prune, conflict  managedFields, how ownership moves, removal of fields without an owner
 *     apply, last-applied                      the two operations; migration from kubectl's client-side apply
 *
 * All functions are pure: arguments are never changed, and an apply without changes returns the live object itself. Both
 * operations expect objects as the server holds them: unknown fields pruned, `updated` defaulted. The caller does the rest
 * (defaults, no `null` in built-in kinds, generation, resourceVersion), and calls `withSettledTimes` at the very end.
 */
import { kubeErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../muster-error.ts'
import { equalJson, type Json, type JsonObject } from '../json.ts'
import { ownMember } from '../json-member.ts'
import type { KubeObject } from '../object.ts'
import type { Definitions, Schema } from '../schema.ts'
import { checkConforms } from './conformance.ts'
import { ApplyConflict } from './conflict.ts'
import { type FieldSet, hasPath, noFields, recursiveDifference, union } from './field-set.ts'
import { fieldsOfLastApplied, kubectl, lastAppliedAnnotation, withLastApplied } from './last-applied.ts'
import { asksForReset, capUpdaters, decodeManagers, managerId, type Managers, withManagers } from './managed-fields.ts'
import { formatTime } from '../units/duration.ts'
import { type OwnerRules, ownersAfterApply, ownersAfterUpdate } from './owners.ts'
import { shapeOf } from './shape.ts'
import { asMap } from './value.ts'
import type { ConvertVersion, Versioned } from './version.ts'

export interface ManagedWriteOptions {
  /** The field manager: `fieldManager` of the request, or the first part of its user agent. */
  readonly manager: string
  /** The subresource of the write, such as `status`: there the same manager owns other fields. */
  readonly subresource?: string | undefined
  /** The schema of the kind at the version of the write; without one, maps are granular and lists atomic. */
  readonly schema: Schema | undefined
  readonly definitions?: Definitions
  /** Milliseconds since the epoch. */
  readonly now: number
  /**
   * Fields that a write through this resource resets (`status` through the main resource, everything else through `status`)
   * and thus cannot own: a set of them including everything below, or a function that removes them.
   */
  readonly resetFields?: FieldSet | ((fields: FieldSet, apiVersion: string) => FieldSet)
  /** Converts objects to other versions of their kind. @default no conversion */
  readonly convert?: ConvertObject
}

/**
 * An object at another version, with its schema; `undefined` if the version is no longer served. It is also called for
 * objects that lack required fields, during pruning.
 */
export type ConvertObject = (
  object: JsonObject,
  apiVersion: string,
) => { readonly object: JsonObject; readonly schema: Schema | undefined } | undefined

export interface UpdateOptions<T extends KubeObject> extends ManagedWriteOptions {
  /** The live object; `undefined` for a create. */
  readonly live: T | undefined
  /** The object to store. */
  readonly updated: T
}

export interface ApplyOptions<T extends KubeObject> extends ManagedWriteOptions {
  /** The live object; `undefined` for a create. */
  readonly live: T | undefined
  /** The applied configuration, at the version of `live`. */
  readonly applied: KubeObject
  /** Take over fields of other managers instead of failing. @default false */
  readonly force?: boolean | undefined
}

/** The manager name of writers without one. */
const unknownManager = 'unknown'

/** The owner of all fields that were set before managedFields were recorded. */
const beforeFirstApply = 'before-first-apply'

/**
 * `updated` with the managedFields that an ordinary write leaves. A client may also set managedFields itself, or clear them
 * with an empty list. Never fails: if the objects do not match the schema, managedFields stay unchanged.
 */
export function updateObject<T extends KubeObject>(options: UpdateOptions<T>): T {
  const { live, updated } = options
  const managers = managersOfUpdate(options)
  // An object without managedFields gets them at creation or with the first apply, not in between.
  if (managers.size === 0 && live) return withManagers(updated, managers)
  try {
    const before = versioned(live ?? blank(updated), options)
    const after = versioned(updated, options)
    checkConforms(after.value, after.shape, { allowDuplicates: true })
    checkConforms(partsBeside(before.value, after.value), before.shape, { allowDuplicates: true })
    return withManagers(updated, recordUpdate(before, after, managers, options))
  } catch (error) {
    if (!isMusterError(error)) throw error
    const { managedFields: _unused, ...metadata } = updated.metadata
    const kept = live?.metadata.managedFields
    return { ...updated, metadata: kept ? { ...metadata, managedFields: kept } : metadata }
  }
}

/** The members that are not those of `checked`: a write leaves most of an object as it was. */
function partsBeside(value: Json, checked: Json): Json {
  const map = asMap(value)
  const others = asMap(checked)
  if (!map || !others) return value
  return Object.fromEntries(Object.entries(map).filter(([name, member]) => member !== ownMember(others, name)))
}

/** The managedFields to start from: those of the client if they are valid, otherwise those of the live object. */
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
    if (isMusterError(error, kubeErrors.InvalidFieldSet)) return new Map()
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
 * The live object with `applied` merged into it. Returns `live` itself if nothing changes.
 *
 * Throws {@link ApplyConflict}, `SchemaMismatch` (the applied object does not match the schema, or repeats a list key),
 * `InvalidObject` and, if managedFields of the live object cannot be decoded, `InvalidFieldSet`.
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

/** Applies; conflicts that are only with kubectl's own client-side apply are forced. */
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
    throw new MusterError(kubeErrors.InvalidObject, 'The applied object has no apiVersion or no kind.')
  }
  if (live && (live.apiVersion !== applied.apiVersion || live.kind !== applied.kind)) {
    const [given, wanted] = [applied, live].map(({ apiVersion, kind }) => `${apiVersion}, Kind=${kind}`)
    throw new MusterError(kubeErrors.InvalidObject, `invalid object type: ${given}; the live object is ${wanted}.`)
  }
  if (Array.isArray(applied.metadata.managedFields)) {
    throw new MusterError(kubeErrors.InvalidObject, 'metadata.managedFields must be nil')
  }
}

/** Pruning may remove all metadata, if the applier owned all of it and none can be applied any more. */
function asObject(value: JsonObject): unknown {
  return value['metadata'] ? value : { ...value, metadata: {} }
}

/** An empty object of the same kind, without owned fields. */
function blank({ apiVersion, kind }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: {} }
}

/** The object without its managedFields, as it is merged. */
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
    // Stricter than for the stored object itself, as in the server.
    checkConforms(out.value, out.shape)
    return out
  }
  return {
    convert: convertObject,
    ownable: typeof resetFields === 'function' ? resetFields : (fields) => recursiveDifference(fields, resetFields),
  }
}
