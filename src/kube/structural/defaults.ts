/**
 * Defaulting: fills in the defaults of a schema, from the outside in: a default that is an object gets the defaults of its
 * members, too. Unchanged values are returned as they are.
 */
import type { Json, JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import type { SchemaNode } from './node.ts'

export function defaultValue(value: Json, node: SchemaNode | undefined): Json {
  if (!node?.has.defaults || typeof value !== 'object' || value === null) return value
  return isJsonArray(value) ? defaultItems(value, node.items) : defaultMembers(value, node)
}

/** A null that is not nullable gets the default; without a default it stays. */
function given(value: Json, node: SchemaNode): Json {
  return value === null && !node.nullable ? (node.default ?? null) : value
}

function defaultItems(items: readonly Json[], node: SchemaNode | undefined): Json {
  if (!node) return items
  let copy: Json[] | undefined
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    const value = defaultValue(given(item, node), node)
    if (value !== item) (copy ??= [...items])[index] = value
  }
  return copy ?? items
}

function defaultMembers(object: JsonObject, node: SchemaNode): Json {
  let changed: Map<string, Json> | undefined
  for (const { name, node: own } of node.members) {
    if (!own.has.defaults) continue
    const member = Object.hasOwn(object, name) ? object[name] : undefined
    const start = member === undefined ? own.default : own.default === undefined ? member : given(member, own)
    if (start === undefined) continue
    const value = defaultValue(start, own)
    if (value !== member) (changed ??= new Map()).set(name, value)
  }
  const { additional } = node
  if (typeof additional === 'object') {
    for (const name in object) {
      const member = object[name]
      if (member === undefined || node.properties.has(name)) continue
      const value = defaultValue(given(member, additional), additional)
      if (value !== member) (changed ??= new Map()).set(name, value)
    }
  }
  return changed ? Object.fromEntries([...Object.entries(object), ...changed]) : object
}
