/**
 * Which fields of an applied object its field manager no longer owns.
 *
 * The API server takes a field away from its manager when another client changes or removes it, so the field set that an apply
 * left in `managedFields` shows drift without the values: a watch of metadata is enough. The schema is not needed either: the
 * path elements of the set say how each list is merged.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import {
  decodeElement,
  encodeElement,
  fieldElement,
  formatPath,
  keyElement,
  type Path,
  type PathElement,
} from './path-element.ts'

/** Members that no manager owns. */
const unowned: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata.name', 'metadata.namespace'])
/** Preconditions of a write, not fields. */
const preconditions: ReadonlySet<string> = new Set(['metadata.uid', 'metadata.resourceVersion'])

/** @param fields the `fieldsV1` of the manager; undefined if it owns nothing */
export function lostFields(applied: JsonObject, fields: Json | undefined): readonly Path[] {
  const lost: Path[] = []
  compareMembers(applied, isJsonObject(fields) ? fields : {}, [], lost)
  return lost
}

function compareMembers(value: JsonObject, fields: JsonObject, path: Path, lost: Path[]): void {
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || member === null) continue
    const at = [...path, fieldElement(name)]
    const text = formatPath(at).slice(1)
    if (unowned.has(text) || preconditions.has(text)) continue
    compareValue(member, ownedAt(fields, `f:${name}`), at, lost)
  }
}

/** `fields`: what is owned at and below this value; undefined if nothing is. */
function compareValue(value: Json, fields: JsonObject | undefined, path: Path, lost: Path[]): void {
  const isParent = (isJsonObject(value) && Object.keys(value).length > 0) || (isJsonArray(value) && value.length > 0)
  if (!fields) {
    // Of a struct only the members are owned.
    if (isParent && isJsonObject(value)) compareMembers(value, {}, path, lost)
    else if (isParent || !isEmptyStruct(value)) lost.push(path)
    return
  }
  const isLeaf = Object.keys(fields).every((text) => text === '.')
  // A scalar, or a list or map that is owned as a whole.
  if (isLeaf || !isParent) return
  if (isJsonObject(value)) compareMembers(value, fields, path, lost)
  else if (isJsonArray(value)) compareItems(value, fields, path, lost)
}

function compareItems(items: readonly Json[], fields: JsonObject, path: Path, lost: Path[]): void {
  const elements = Object.keys(fields).flatMap((text) => (text === '.' ? [] : (decodeElement(text) ?? [])))
  for (const [index, item] of items.entries()) {
    const element = elementOf(item, index, fields, elements)
    if (!element) lost.push([...path, { kind: 'index', index }])
    else compareValue(item, ownedAt(fields, encodeElement(element)), [...path, element], lost)
  }
}

/** The element of an item. Most are found by their text; only an item that leaves out a key field is searched for. */
function elementOf(
  item: Json,
  index: number,
  fields: JsonObject,
  elements: readonly PathElement[],
): PathElement | undefined {
  const [first] = elements
  if (first?.kind !== 'key') {
    const element: PathElement = first?.kind === 'index' ? { kind: 'index', index } : { kind: 'value', value: item }
    return Object.hasOwn(fields, encodeElement(element)) ? element : undefined
  }
  if (!isJsonObject(item)) return undefined
  const names = first.fields.map(({ name }) => name)
  if (names.every((name) => item[name] !== undefined)) {
    const element = keyElement(names.map((name) => ({ name, value: item[name]! })))
    return Object.hasOwn(fields, encodeElement(element)) ? element : undefined
  }
  // The key has the default of a field that the item leaves out: `protocol` of a port.
  return elements.find(
    (element) =>
      element.kind === 'key' &&
      element.fields.every(({ name, value }) => item[name] === undefined || equalJson(item[name], value)),
  )
}

function ownedAt(fields: JsonObject, text: string): JsonObject | undefined {
  const found = Object.hasOwn(fields, text) ? fields[text] : undefined
  return isJsonObject(found) ? found : undefined
}

/** The server does not track an empty struct: it has no fields. */
function isEmptyStruct(value: Json): boolean {
  return isJsonObject(value) || isJsonArray(value)
}
