/** Removes the fields of a set from a value, or extracts them. */
import type { Json, JsonObject } from '../json.ts'
import { type FieldSet, nodeAt } from './field-set.ts'
import { itemElement } from './list-item.ts'
import { fieldElement } from './path-element.ts'
import { type ListShape, type MapShape, memberShape, type ApplyShape } from './shape.ts'
import { asList, asMap, isEmptyMap, kindIn, valueNames, setMember } from './value.ts'

/** The value without the fields of the set. A map or list that loses its last item becomes `null`, as in the server. */
export function removeItems(value: Json, fields: FieldSet, shape: ApplyShape): Json {
  if (fields.length === 0) return value
  const kind = kindIn(shape, value)
  if (kind === 'map') return removeFromMap(asMap(value), fields, shape.map as MapShape)
  if (kind === 'list') return removeFromList(asList(value), fields, shape.list as ListShape)
  return value
}

function removeFromMap(map: JsonObject | undefined, fields: FieldSet, shape: MapShape): Json {
  // A field below this map is in the set, but the map is atomic: it is removed as a whole.
  if (!map || shape.atomic) return null
  const out: Record<string, Json> = {}
  for (const name of valueNames(map)) {
    const node = nodeAt(fields, fieldElement(name))
    if (node?.owned) continue
    const member = map[name] as Json
    setMember(out, name, node ? removeItems(member, node.below, memberShape(shape, name)) : member)
  }
  return isEmptyMap(out) ? null : out
}

function removeFromList(list: readonly Json[] | undefined, fields: FieldSet, shape: ListShape): Json {
  if (!list || shape.atomic) return null
  const out: Json[] = []
  for (const item of list) {
    const node = nodeAt(fields, itemElement(shape, item))
    if (!node?.owned) out.push(node ? removeItems(item, node.below, shape.item()) : item)
  }
  return out.length > 0 ? out : null
}

/**
 * Only the fields of the set: for the leaves that a manager owns, the configuration it applied. A map that is itself in the
 * set, but none of its fields, becomes empty.
 */
export function extractItems(value: Json, fields: FieldSet, shape: ApplyShape): Json {
  const kind = kindIn(shape, value)
  if (kind === 'map') return extractFromMap(value, fields, shape.map as MapShape)
  if (kind === 'list') return extractFromList(value, fields, shape.list as ListShape)
  return value
}

function extractFromMap(value: Json, fields: FieldSet, shape: MapShape): Json {
  const map = asMap(value)
  if (!map || shape.atomic) return value
  const out: Record<string, Json> = {}
  for (const name of valueNames(map)) {
    const node = nodeAt(fields, fieldElement(name))
    if (node) setMember(out, name, extractItems(map[name] as Json, node.below, memberShape(shape, name)))
  }
  return out
}

function extractFromList(value: Json, fields: FieldSet, shape: ListShape): Json {
  const list = asList(value)
  if (!list || list.length === 0 || shape.atomic) return value
  const out: Json[] = []
  for (const item of list) {
    const node = nodeAt(fields, itemElement(shape, item))
    if (node) out.push(node.below.length > 0 ? extractItems(item, node.below, shape.item()) : item)
  }
  return out.length > 0 ? out : null
}
