/**
 * Correlation of old and new values in an update: the old value of each place that has an identity. Members of objects are
 * correlated by name, items of map lists by their keys; items of other lists have no identity.
 *
 * An error that the old value already had does not fail an update (ratcheting), so whole values are compared, too.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { memberNode, type SchemaNode } from './node.ts'

/** A list of objects with key fields. */
interface KeyedItems {
  /** The first item with the same keys. */
  find(item: Json): JsonObject | undefined
}

/** Items by their keys; undefined for lists without keys. */
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

/** The old value of a member; undefined if there is none, or if the schema does not know it. */
export function oldMember(node: SchemaNode, old: Json | undefined, name: string): Json | undefined {
  if (!isJsonObject(old) || !memberNode(node, name) || !Object.hasOwn(old, name)) return undefined
  return old[name]
}

/** Whether a value is unchanged, by the rules of the schema: map lists have no order. */
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
