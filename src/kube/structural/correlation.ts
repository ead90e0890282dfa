/**
 * What was there before: when an object is updated, the old value of each place that can be told to be the same place.
 * Members of objects are found by name, items of map lists by their keys; items of other lists have no identity.
 *
 * A mistake that was there before is no reason to refuse an update (ratcheting), so values are compared as a whole too.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { memberNode, type SchemaNode } from './node.ts'

/** A list of objects that are told apart by some of their members. */
export interface KeyedItems {
  /** The first item with the same keys. */
  find(item: Json): JsonObject | undefined
}

/** Items by their keys; undefined for lists whose items have none. */
export function keyedItems(node: SchemaNode, items: Json | undefined): KeyedItems | undefined {
  if (node.listType !== 'map' || node.listKeys.length === 0 || !isJsonArray(items)) return undefined
  const byKey = new Map<string, JsonObject>()
  for (const item of items) {
    const key = keyOf(item, node.listKeys)
    if (key !== undefined && !byKey.has(key)) byKey.set(key, item as JsonObject)
  }
  return {
    find(item) {
      const key = keyOf(item, node.listKeys)
      return key === undefined ? undefined : byKey.get(key)
    },
  }
}

function keyOf(item: Json, names: readonly string[]): string | undefined {
  if (!isJsonObject(item)) return undefined
  const parts: string[] = []
  for (const name of names) {
    const part = Object.hasOwn(item, name) ? item[name] : undefined
    if (part === undefined || part === null || typeof part === 'object') return undefined
    parts.push(`${typeof part} ${part}`)
  }
  return parts.length === 1 ? parts[0] : JSON.stringify(parts)
}

/** The old value of a member; undefined where there is none, or where the schema does not know it. */
export function oldMember(node: SchemaNode, old: Json | undefined, name: string): Json | undefined {
  if (!isJsonObject(old) || !memberNode(node, name) || !Object.hasOwn(old, name)) return undefined
  return old[name]
}

/** Whether a value is the one that was there, as far as the schema can tell: map lists have no order. */
export function isUnchanged(node: SchemaNode, value: Json, old: Json | undefined): boolean {
  if (old === undefined) return false
  if (isJsonArray(value) && isJsonArray(old)) {
    if (value.length !== old.length) return false
    const before = keyedItems(node, old)
    if (!before || !node.items) return equalJson(value, old)
    return value.every((item) => isUnchanged(node.items!, item, before.find(item)))
  }
  if (isJsonObject(value) && isJsonObject(old)) {
    const names = Object.keys(value)
    if (names.length !== Object.keys(old).length) return false
    return names.every((name) => {
      const own = memberNode(node, name)
      return own !== undefined && isUnchanged(own, value[name]!, oldMember(node, old, name))
    })
  }
  return equalJson(value, old)
}
