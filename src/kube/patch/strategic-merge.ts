/**
 * Strategic merge patch: a merge patch that knows the schema, so that a list whose elements have a key can be changed
 * element by element. The patch looks like the object, plus directives:
 *
 *     $patch: replace | delete             in an object: replaces or empties it
 *                                          in a list element: replaces the whole list, or deletes that element
 *     $setElementOrder/FIELD: […]          the order of the elements of a merged list
 *     $deleteFromPrimitiveList/FIELD: […]  scalars to remove from a merged list
 *     $retainKeys: […]                     the only members that an object may keep
 *
 * The result is that of an API server before it decodes it into the kind: an element that the patch adds is taken as it
 * is, so nulls inside of it stay.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { type Json, type JsonObject, equalJson, isJsonObject } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'
import type { Definitions, Schema } from '../schema.ts'
import { type FieldRule, type MergePlace, elementKind, keyText, rootPlace, ruleOf } from './strategic-rule.ts'

const directive = '$patch'
const retainKeysDirective = '$retainKeys'
const orderDirective = '$setElementOrder'
const deletionDirective = '$deleteFromPrimitiveList'

/**
 * The object with the patch merged in; the original is not changed, and unchanged parts are shared. Without a schema
 * lists are replaced as a whole.
 */
export function applyStrategicMerge(
  original: JsonObject,
  patch: JsonObject,
  schema: Schema | undefined,
  definitions: Definitions,
): JsonObject {
  return mergeObject(original, patch, rootPlace(schema, definitions))
}

function mergeObject(original: JsonObject, patch: JsonObject, place: MergePlace): JsonObject {
  const { [directive]: whole, [retainKeysDirective]: retain, ...changes } = patch
  if (whole === 'replace') return withoutMember(patch, directive)
  if (whole === 'delete') return {}
  if (whole !== undefined) throw refusal(place.path, `has a ${directive} that is neither replace nor delete`)

  const result = new Map(Object.entries(original).filter(([, value]) => value !== undefined))
  const set = (field: string, value: Json | undefined): void => {
    if (value === undefined) result.delete(field)
    else if (!isJsonArray(value) || !equalJson(result.get(field), value)) result.set(field, value)
  }
  if (retain !== undefined) dropOthers(result, changes, retain, place)

  // An order includes its list, and deletions come last: they must see added elements.
  const ordered = new Set<string>()
  for (const [field, order] of directives(changes, orderDirective, place)) {
    ordered.add(field)
    set(field, orderedList(result.get(field), ownMember(changes, field), order, ruleOf(place, field)))
  }
  for (const [field, change] of Object.entries(changes)) {
    if (change === undefined || isParallelList(field) || ordered.has(field)) continue
    set(field, change === null ? undefined : mergeField(result.get(field), change, place, field))
  }
  for (const [field, deletions] of directives(changes, deletionDirective, place)) {
    const list = result.get(field)
    if (isJsonArray(list)) set(field, withoutScalars(list, deletions, ruleOf(place, field).place.path))
  }
  return hasMembers(original, result) ? original : Object.fromEntries(result)
}

function mergeField(live: Json | undefined, change: Json, place: MergePlace, field: string): Json | undefined {
  if (isJsonObject(live) && isJsonObject(change)) {
    const rule = ruleOf(place, field)
    return rule.strategy === 'replace' ? change : mergeObject(live, change, rule.place)
  }
  if (isJsonArray(live) && isJsonArray(change)) {
    const rule = ruleOf(place, field)
    return rule.strategy === 'merge' ? mergeList(live, change, rule) : change
  }
  return withoutDirectives(withoutNulls(change))
}

/** `$retainKeys`: all other members are removed, and the patch may set nothing else. */
function dropOthers(result: Map<string, unknown>, changes: JsonObject, retain: Json, place: MergePlace): void {
  if (!isJsonArray(retain)) throw refusal(place.path, `has a malformed ${retainKeysDirective}`)
  const names = new Set(retain)
  for (const [field, change] of Object.entries(changes)) {
    if (!names.has(field) && change !== null && change !== undefined && !isParallelList(field)) {
      throw refusal(place.path, `sets "${field}", which ${retainKeysDirective} does not name`)
    }
  }
  for (const field of result.keys()) if (!names.has(field)) result.delete(field)
}

function mergeList(live: readonly Json[], changes: readonly Json[], rule: FieldRule): readonly Json[] {
  const kind = elementKind(rule.place.path, live, changes)
  if (kind === undefined) return live
  if (kind === 'scalar') return inOrder(union(live, changes), changes, live, keyText)
  const { merged, plain, remaining } = mergeElements(live as Elements, changes as Elements, rule)
  return inOrder(merged, plain, remaining, elementKey(rule))
}

function union(live: readonly Json[], changes: readonly Json[]): readonly Json[] {
  return [...new Map([...live, ...changes].map((element) => [keyText(element), element])).values()]
}

type Elements = readonly JsonObject[]

interface MergedElements {
  /** Live elements, then those that the patch adds. */
  readonly merged: Elements
  /** The live list after directives. */
  readonly remaining: Elements
  /** The changes that are not directives. */
  readonly plain: Elements
}

function mergeElements(live: Elements, changes: Elements, rule: FieldRule): MergedElements {
  const keyOf = elementKey(rule)
  const { remaining, plain } = obeyDirectives(live, changes, rule)
  const merged = [...remaining]
  // Like the server, merges into the first of several elements with the same key.
  const places = new Map(positions(remaining, keyOf))
  for (const change of plain) {
    const key = keyOf(change)
    const at = places.get(key)
    if (at !== undefined) merged[at] = mergeObject(merged[at]!, change, rule.element)
    else places.set(key, merged.push(change) - 1)
  }
  return { merged, remaining, plain }
}

/** `$patch` in the elements of a list. */
function obeyDirectives(live: Elements, changes: Elements, rule: FieldRule): Omit<MergedElements, 'merged'> {
  const { place } = rule
  const keyOf = elementKey(rule)
  const plain = changes.filter((change) => ownMember(change, directive) === undefined)
  const deleted = new Set<string>()
  let replaced = false
  for (const change of changes) {
    const whole = ownMember(change, directive)
    if (whole === 'replace') replaced = true
    else if (whole === 'delete') deleted.add(keyOf(change))
    else if (whole !== undefined) throw refusal(place.path, `has a ${directive} that is neither replace nor delete`)
  }
  if (replaced) return { remaining: plain, plain: [] }
  return { remaining: live.filter((element) => !deleted.has(keyOf(element))), plain }
}

/** `$setElementOrder`: the list after the patch, in that order; undefined if there is no list to order. */
function orderedList(
  live: Json | undefined,
  changes: Json | undefined,
  order: readonly Json[],
  rule: FieldRule,
): readonly Json[] | undefined {
  const { path } = rule.place
  if (live === undefined && changes === undefined) return undefined
  const before = live === undefined ? [] : live
  const added = changes === undefined ? [] : changes
  if (!isJsonArray(before) || !isJsonArray(added)) throw refusal(path, `has an ${orderDirective} but is no list`)
  const kind = elementKind(path, before, added, order)
  const keyOf = kind === 'object' ? elementKey(rule) : keyText
  checkOrder(added, order, keyOf, path)

  if (changes === undefined) return inOrder(before, order, before, keyOf)
  if (live === undefined) return inOrder(withoutDirectives(added) as readonly Json[], order, [], keyOf)
  if (rule.strategy !== 'merge') return inOrder(added, order, before, keyOf)
  if (kind !== 'object') return inOrder(union(before, added), order, before, keyOf)
  const { merged } = mergeElements(before as Elements, added as Elements, rule)
  // For the order, added elements take the place of deleted ones, as in the server.
  return inOrder(merged, order, merged.slice(0, before.length), keyOf)
}

/** Everything that a patch changes in an ordered list must be part of the order. */
function checkOrder(
  changes: readonly Json[],
  order: readonly Json[],
  keyOf: (element: Json) => string,
  path: string,
): void {
  if (order.length === 0) return
  const keys = order.map(keyOf)
  let from = 0
  for (const change of changes) {
    if (isJsonObject(change) && ownMember(change, directive) !== undefined) continue
    const at = keys.indexOf(keyOf(change), from)
    if (at < 0) throw refusal(path, `has elements in an order that contradicts ${orderDirective}`)
    from = at + 1
  }
}

/**
 * The elements that the patch names, in its order, among the others, in theirs. Live elements keep their relative positions;
 * otherwise those of the patch come first. Elements of the same key end up next to each other.
 */
function inOrder(
  elements: readonly Json[],
  named: readonly Json[],
  live: readonly Json[],
  keyOf: (element: Json) => string,
): readonly Json[] {
  const wanted = positions(named, keyOf)
  const before = positions(live, keyOf)
  const sorted = (list: readonly Json[], by: ReadonlyMap<string, number>): readonly Json[] =>
    list.toSorted((a, b) => (by.get(keyOf(a)) ?? list.length) - (by.get(keyOf(b)) ?? list.length))
  const first = elements.filter((element) => wanted.has(keyOf(element)))
  const others = sorted(
    elements.filter((element) => !wanted.has(keyOf(element))),
    before,
  )
  const result: Json[] = []
  let next = 0
  for (const element of sorted(first, wanted)) {
    const at = before.get(keyOf(element)) ?? -1
    while (next < others.length && (before.get(keyOf(others[next]!)) ?? at) < at) result.push(others[next++]!)
    result.push(element)
  }
  return [...result, ...others.slice(next)]
}

/** The first position of each key. */
function positions(list: readonly Json[], keyOf: (element: Json) => string): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const [index, element] of list.entries()) {
    const key = keyOf(element)
    if (!found.has(key)) found.set(key, index)
  }
  return found
}

/** How the elements of a merged list are identified. @throws InvalidPatch for an element without its key */
function elementKey({ mergeKey, place: { path } }: FieldRule): (element: Json) => string {
  if (mergeKey === undefined) throw refusal(path, 'is a list of objects without a merge key')
  return (element) => {
    const key = isJsonObject(element) ? ownMember(element, mergeKey) : undefined
    if (key === undefined) throw refusal(path, `has an element without its merge key "${mergeKey}"`)
    return keyText(key)
  }
}

function directives(changes: JsonObject, prefix: string, place: MergePlace): readonly [string, readonly Json[]][] {
  return Object.entries(changes)
    .filter(([name, list]) => name.startsWith(prefix) && list !== undefined)
    .map(([name, list]) => {
      if (!name.startsWith(`${prefix}/`) || !isJsonArray(list)) throw refusal(place.path, `has a malformed ${name}`)
      return [name.slice(prefix.length + 1), list]
    })
}

function isParallelList(field: string): boolean {
  return field.startsWith(orderDirective) || field.startsWith(deletionDirective)
}

function withoutScalars(list: readonly Json[], deletions: readonly Json[], path: string): readonly Json[] {
  if (deletions.length === 0) return list
  if (elementKind(path, list, deletions) === 'object') throw refusal(path, 'is no list of scalars to delete from')
  const gone = new Set(deletions.map(keyText))
  return list.filter((element) => !gone.has(keyText(element)))
}

/** Values that the patch adds: null members are dropped, at any depth. */
function withoutNulls(value: Json): Json {
  if (isJsonArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value).filter((entry): entry is [string, Json] => (entry[1] ?? null) !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]))
}

/** A directive about a missing value has no effect: the object that carries it is dropped. */
function withoutDirectives(value: Json): Json | undefined {
  if (isJsonArray(value)) return value.map(withoutDirectives).filter((element) => element !== undefined)
  if (!isJsonObject(value)) return value
  if (ownMember(value, directive) !== undefined) return undefined
  const kept = Object.entries(value).map(([name, member]) => [name, withoutDirectives(member ?? null)] as const)
  return Object.fromEntries(kept.filter(([, member]) => member !== undefined))
}

function withoutMember(object: JsonObject, name: string): JsonObject {
  const { [name]: _gone, ...rest } = object
  return rest
}

function hasMembers(object: JsonObject, members: ReadonlyMap<string, unknown>): boolean {
  return Object.keys(object).length === members.size && [...members].every(([name, value]) => object[name] === value)
}

function refusal(path: string, reason: string): MusterError {
  return new MusterError(
    kubeErrors.InvalidPatch,
    `the strategic merge patch of ${path === '' ? 'the object' : path} ${reason}.`,
  )
}
