/** List types `set` and `map`: no duplicate items, or keys. */
import { type Cause, duplicateValue, invalidValue } from '../validation/cause.ts'
import { formatGoJson } from '../go/go-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import type { SchemaNode } from './node.ts'

export function checkListTypes(value: Json, node: SchemaNode | undefined, path = ''): readonly Cause[] {
  if (!node?.has.listTypes || typeof value !== 'object' || value === null) return []
  const causes: Cause[] = []
  checkAt(value, node, path, causes)
  return causes
}

function checkAt(value: Json, node: SchemaNode | undefined, path: string, causes: Cause[]): void {
  if (!node?.has.listTypes || typeof value !== 'object' || value === null) return
  if (isJsonArray(value)) {
    if (node.listType === 'set')
      for (const at of repeated(value)) causes.push(duplicateValue(`${path}[${at}]`, value[at]))
    if (node.listType === 'map') checkKeys(value, node.listKeys, path, causes)
    for (const [index, item] of value.entries()) checkAt(item, node.items, `${path}[${index}]`, causes)
    return
  }
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null) continue
    const own = node.properties.get(name)
    if (own) checkAt(member, own, path === '' ? name : `${path}.${name}`, causes)
    else if (typeof node.additional === 'object') checkAt(member, node.additional, `${path}[${name}]`, causes)
  }
}

function checkKeys(items: readonly Json[], names: readonly string[], path: string, causes: Cause[]): void {
  const stranger = items.findIndex((item) => item !== null && !isJsonObject(item))
  if (stranger >= 0) {
    causes.push(
      invalidValue(`${path}[${stranger}]`, items[stranger], 'must be an object for an array of list-type map'),
    )
    return
  }
  const [only] = names
  // Most lists have a single key, and no duplicates.
  if (names.length === 1 && areDistinct(items.map((item) => (item as JsonObject | null)?.[only!] ?? null))) return
  const keys = items.map((item): JsonObject => {
    const own = item as JsonObject | null
    return Object.fromEntries(names.filter((name) => own && Object.hasOwn(own, name)).map((name) => [name, own![name]]))
  })
  for (const at of repeated(keys)) causes.push(duplicateValue(`${path}[${at}]`, keys[at]))
}

/** Whether all are distinct, decided quickly: for simple values only. */
function areDistinct(items: readonly Json[]): boolean {
  return (
    new Set(items).size === items.length && items.every((item) => typeof item !== 'object' && typeof item !== 'bigint')
  )
}

/** The positions of second occurrences; further ones are not reported again. */
function repeated(items: readonly Json[]): readonly number[] {
  if (items.length < 2 || areDistinct(items)) return []
  const seen = new Map<string, number>()
  return items.flatMap((item, index) => {
    const key = formatGoJson(item)
    const times = (seen.get(key) ?? 0) + 1
    seen.set(key, times)
    return times === 2 ? [index] : []
  })
}
