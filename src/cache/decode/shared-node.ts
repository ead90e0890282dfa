/** Objects and arrays that share their parts with a *guide*, an object already in memory. */
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Filter } from './filter.ts'
import { type InternNode, type InternPool, isSameValue } from './intern.ts'

export const noMembers: JsonObject = Object.freeze({})
export const noItems: readonly Json[] = Object.freeze([])

export function isInternNode(value: Json | undefined): value is InternNode {
  return typeof value === 'object' && value !== null
}

/** An object with these members; the guide itself if it has exactly these. */
export function buildShared(guide: JsonObject, members: ReadonlyMap<string, Json>): JsonObject {
  let copy: Record<string, Json> | undefined
  if (hasKeys(guide, members)) {
    for (const [key, value] of members) {
      if (isSameValue(value, guide[key])) continue
      copy ??= { ...guide } as Record<string, Json>
      copy[key] = value
    }
    return copy ?? guide
  }
  // JSON.parse creates objects without spare capacity, and treats __proto__ like any other key.
  const template = Array.from(members.keys(), (key) => `${JSON.stringify(key)}:0`)
  copy = JSON.parse(`{${template.join(',')}}`) as Record<string, Json>
  for (const [key, value] of members) copy[key] = value
  return hasMembers(guide, copy) ? guide : copy
}

/** Do both have the same members, in any order? */
export function hasMembers(a: JsonObject, b: JsonObject): boolean {
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every((key) => Object.hasOwn(b, key) && isSameValue(a[key]!, b[key]))
}

/** Does the object have these keys, in this order? */
function hasKeys(object: JsonObject, members: ReadonlyMap<string, Json>): boolean {
  const keys = members.keys()
  let count = 0
  for (const key in object) {
    if (keys.next().value !== key) return false
    count++
  }
  return count === members.size
}

/** Freezes a node whose members are interned already, and interns it if an equal one is likely. */
export function finishNode<T extends InternNode>(
  pool: InternPool,
  fresh: T,
  filter: Filter | undefined,
  since: number,
): T {
  return filter?.isUnique ? Object.freeze(fresh) : pool.node(fresh, since)
}
