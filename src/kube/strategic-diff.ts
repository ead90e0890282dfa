/**
 * Creates strategic merge patches.
 *
 * Two-way: the patch from one object to another. Three-way, as in `kubectl apply`: the patch that makes the live object follow a
 * new configuration, removing fields that were applied before and are no longer, and keeping the fields of others. A two-way
 * patch is a three-way one whose live object is the last applied one, so there is one algorithm.
 *
 * A patch is empty exactly if there is nothing to do. kubectl's may not be: it repeats deletions and orders without effect.
 */
import { type Json, type JsonObject, equalJson, isJsonObject } from './json.ts'
import { isJsonArray, ownMember } from './json-member.ts'
import { type Definitions, type Schema, resolveSchema } from './schema.ts'
import {
  deletionDirective,
  directive,
  elementKey,
  mergeObject,
  orderDirective,
  retainKeysDirective,
} from './strategic-merge.ts'
import { type FieldRule, type MergePlace, elementKind, keyText, rootPlace, ruleOf } from './strategic-rule.ts'

/** The patch that turns `original` into `modified`. Null members of `modified` count as absent. */
export function createStrategicMerge(
  original: JsonObject,
  modified: JsonObject,
  schema: Schema | undefined,
  definitions: Definitions,
): JsonObject {
  return diffObject(original, modified, original, rootPlace(schema, definitions), false)
}

/**
 * The patch that makes `current` follow `modified`, where `original` was applied before (undefined if nothing was): adds and
 * changes what `modified` has, deletes what only `original` had.
 */
export function createThreeWayStrategicMerge(
  original: JsonObject | undefined,
  modified: JsonObject,
  current: JsonObject,
  schema: Schema | undefined,
  definitions: Definitions,
): JsonObject {
  return diffObject(original, modified, current, rootPlace(schema, definitions), false)
}

type Entry = readonly [field: string, change: Json]

function diffObject(
  original: JsonObject | undefined,
  modified: JsonObject,
  current: JsonObject,
  place: MergePlace,
  retainKeys: boolean,
): JsonObject {
  const patch: Entry[] = []
  for (const field of Object.keys(original ?? {})) {
    if (ownMember(modified, field) === undefined && (ownMember(current, field) ?? null) !== null)
      patch.push([field, null])
  }
  for (const [field, wanted] of Object.entries(modified)) {
    if (wanted === undefined) continue
    patch.push(...diffField(ownMember(original, field), wanted, ownMember(current, field), place, field))
  }
  if (retainKeys) {
    const kept = Object.keys(modified).filter((field) => (modified[field] ?? null) !== null)
    const others = Object.keys(current).some((field) => (current[field] ?? null) !== null && !kept.includes(field))
    if (kept.length > 0 && (patch.length > 0 || others)) patch.push([retainKeysDirective, kept.toSorted()])
  }
  return Object.fromEntries(patch)
}

function diffField(
  original: Json | undefined,
  wanted: Json,
  current: Json | undefined,
  place: MergePlace,
  field: string,
): readonly Entry[] {
  if (equalJson(wanted, current ?? null)) return []
  if (isJsonObject(wanted) && isJsonObject(current)) {
    const rule = ruleOf(place, field)
    if (rule.strategy === 'replace') return [[field, wanted]]
    const before = isJsonObject(original) ? original : undefined
    const change = diffObject(before, wanted, current, rule.place, rule.retainKeys)
    return Object.keys(change).length === 0 ? [] : [[field, change]]
  }
  if (isJsonArray(wanted) && isJsonArray(current)) {
    const rule = ruleOf(place, field)
    if (rule.strategy === 'merge') return diffList(isJsonArray(original) ? original : [], wanted, current, rule, field)
  }
  return [[field, wanted]]
}

function diffList(
  original: readonly Json[],
  wanted: readonly Json[],
  current: readonly Json[],
  rule: FieldRule,
  field: string,
): readonly Entry[] {
  const kind = elementKind(rule.place.path, original, wanted, current)
  if (kind === 'scalar') return diffScalars(original, wanted, current, field)
  return diffElements({
    original: original as readonly JsonObject[],
    wanted: wanted as readonly JsonObject[],
    current: current as readonly JsonObject[],
    rule,
    field,
  })
}

function diffScalars(
  original: readonly Json[],
  wanted: readonly Json[],
  current: readonly Json[],
  field: string,
): readonly Entry[] {
  const before = new Set(original.map(keyText))
  const after = new Set(wanted.map(keyText))
  const live = new Set(current.map(keyText))
  const added = wanted.filter((element) => !live.has(keyText(element)))
  const gone = current.filter((element) => before.has(keyText(element)) && !after.has(keyText(element)))
  const patch: Entry[] = []
  if (added.length > 0) patch.push([field, added])
  if (gone.length > 0) patch.push([`${deletionDirective}/${field}`, gone])
  if (needsOrder(after, live, patch)) patch.push([`${orderDirective}/${field}`, wanted])
  return patch
}

interface ListDiff {
  readonly original: readonly JsonObject[]
  readonly wanted: readonly JsonObject[]
  readonly current: readonly JsonObject[]
  readonly rule: FieldRule
  readonly field: string
}

function diffElements(lists: ListDiff): readonly Entry[] {
  const { original, wanted, current, rule, field } = lists
  const keyOf = elementKey(rule)
  const before = byKey(original, keyOf)
  const after = byKey(wanted, keyOf)
  const live = byKey(current, keyOf)
  if (after.size < wanted.length || live.size < current.length) return replaceElements(lists)

  const keyMember = (item: JsonObject): JsonObject => ({ [rule.mergeKey!]: ownMember(item, rule.mergeKey!) })
  const changes: JsonObject[] = []
  for (const [key, item] of after) {
    const there = live.get(key)
    const change = there ? diffObject(before.get(key), item, there, rule.element, rule.retainKeys) : item
    if (Object.keys(change).length > 0) changes.push({ ...keyMember(item), ...change })
  }
  for (const [key, item] of live) {
    if (before.has(key) && !after.has(key)) changes.push({ ...keyMember(item), [directive]: 'delete' })
  }
  const patch: Entry[] = []
  if (changes.length > 0) patch.push([field, changes])
  if (needsOrder(after, live, patch)) patch.push([`${orderDirective}/${field}`, wanted.map(keyMember)])
  return patch
}

/**
 * Several elements may have the same merge key (a Service's port 53 for TCP and for UDP), and then no patch can address one of
 * them. So the whole list is written: the desired elements merged into the live ones, and the elements that others added.
 */
function replaceElements({ original, wanted, current, rule, field }: ListDiff): readonly Entry[] {
  const identity = identityOf(rule)
  const before = byKey(original, identity)
  const after = byKey(wanted, identity)
  const live = byKey(current, identity)
  const merged = wanted.map((item) => {
    const there = live.get(identity(item))
    if (!there) return item
    const change = diffObject(before.get(identity(item)), item, there, rule.element, rule.retainKeys)
    return mergeObject(there, change, rule.element)
  })
  const others = current.filter((item) => !after.has(identity(item)) && !before.has(identity(item)))
  const list = [...merged, ...others]
  // The server puts elements with the same key next to each other.
  const grouped = [...Map.groupBy(list, elementKey(rule)).values()].flat()
  if (equalJson(list, current) || equalJson(grouped, current)) return []
  return [[field, [...list, { [directive]: 'replace' }]]]
}

/** The actual keys of the list, if the schema has more of them than the merge key. */
function identityOf({ place, element, mergeKey }: FieldRule): (item: JsonObject) => string {
  const keys = place.schema?.['x-kubernetes-list-map-keys'] ?? [mergeKey!]
  const fields = element.schema?.properties ?? {}
  return (item) =>
    keys.map((key) => keyText(ownMember(item, key) ?? resolveSchema(fields[key], place.definitions).default)).join()
}

function byKey(list: readonly JsonObject[], keyOf: (item: JsonObject) => string): ReadonlyMap<string, JsonObject> {
  return new Map(list.map((item) => [keyOf(item), item]))
}

type Keys = Pick<ReadonlySet<string>, 'has' | 'keys' | 'size'>

/** Every change of a list carries an order; the order stands alone if nothing else differs. */
function needsOrder(wanted: Keys, live: Keys, changes: readonly Entry[]): boolean {
  if (wanted.size === 0 || live.size === 0) return false
  const common = [...live.keys()].filter((key) => wanted.has(key))
  const ordered = [...wanted.keys()].filter((key) => live.has(key)).every((key, index) => key === common[index])
  return changes.length > 0 || !ordered
}
