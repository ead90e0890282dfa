/**
 * Takes over a value that is parsed already, as the response of a write is. The result is the same as if its text had been
 * decoded (`decode.ts`): parts that equal those of the guide are the guide's own, the rest is interned and frozen. The
 * value itself stays as it is: it belongs to the caller.
 */
import { type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { type Filter, isUnwanted } from './filter.ts'
import { type InternPool, isSameValue } from './intern.ts'
import { finishNode, isInternNode, noItems, noMembers, buildShared } from './shared-node.ts'

/** Deeper values are copied natively and kept whole: the recursion must not overflow the stack. */
const deepest = 200

export function adoptValue(
  pool: InternPool,
  value: Json,
  guide: Json | undefined,
  filter: Filter | undefined,
  depth: number = 0,
): Json {
  if (typeof value === 'string') return value === guide ? guide : pool.string(value)
  if (!isInternNode(value)) return value
  if (depth > deepest) return pool.value(parseJson(stringifyJson(value)))
  if (isJsonArray(value)) return adoptItems(pool, value, isJsonArray(guide) ? guide : noItems, filter, depth)
  const before = isInternNode(guide) && !isJsonArray(guide) ? guide : noMembers
  return adoptMembers(pool, value, before, filter, depth)
}

function adoptItems(
  pool: InternPool,
  items: readonly Json[],
  guide: readonly Json[],
  filter: Filter | undefined,
  depth: number,
): readonly Json[] {
  const since = pool.created
  const last = guide.length - 1
  let copy: Json[] | undefined
  for (let index = 0; index < items.length; index++) {
    const item = adoptValue(pool, items[index]!, guide[Math.min(index, last)], filter, depth + 1)
    if (copy === undefined && (index > last || !isSameValue(item, guide[index]))) copy = guide.slice(0, index)
    copy?.push(item)
  }
  if (copy === undefined && items.length === guide.length && guide !== noItems) return guide
  // A slice has no spare capacity.
  return pool.node(copy?.slice() ?? guide.slice(0, items.length), since)
}

/** The members are expected to be the guide's, in the same order: an API server writes them in one. */
function adoptMembers(
  pool: InternPool,
  object: JsonObject,
  guide: JsonObject,
  filter: Filter | undefined,
  depth: number,
): JsonObject {
  const since = pool.created
  const keys = Object.keys(guide)
  let copy: Record<string, Json> | undefined
  let seen = 0
  for (const key in object) {
    const value = object[key]
    if (value === undefined || (filter && isUnwanted(filter, key))) continue
    if (key !== keys[seen]) return adoptOthers(pool, object, guide, filter, depth, since, copy, seen)
    const before = guide[key]
    const adopted = adoptValue(pool, value, before, filter?.only?.get(key), depth + 1)
    if (!isSameValue(adopted, before)) {
      copy ??= { ...guide } as Record<string, Json>
      copy[key] = adopted
    }
    seen++
  }
  if (seen < keys.length || guide === noMembers)
    return adoptOthers(pool, object, guide, filter, depth, since, copy, seen)
  return copy === undefined ? guide : finishNode(pool, copy, filter, since)
}

/** The rest of an object whose keys or their order differ from the guide's; the first `seen` members did not. */
function adoptOthers(
  pool: InternPool,
  object: JsonObject,
  guide: JsonObject,
  filter: Filter | undefined,
  depth: number,
  since: number,
  copy: JsonObject | undefined,
  seen: number,
): JsonObject {
  const members = new Map<string, Json>()
  for (const key in object) {
    const value = object[key]
    if (value === undefined || (filter && isUnwanted(filter, key))) continue
    const isSeen = members.size < seen
    members.set(
      key,
      isSeen
        ? (copy ?? guide)[key]!
        : adoptValue(pool, value, ownMember(guide, key), filter?.only?.get(key), depth + 1),
    )
  }
  const made = buildShared(guide, members)
  return made === guide && guide !== noMembers ? guide : finishNode(pool, made, filter, since)
}
