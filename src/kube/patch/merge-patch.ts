/**
 * JSON merge patch (RFC 7386): the patch looks like the document, null means "remove", and a list is replaced as a
 * whole. It cannot set a null, which does not matter: in Kubernetes null and absent are the same.
 *
 * One deviation from the RFC, as in the server: null members of objects inside a list are dropped, too. (The server does not do
 * so where a list replaces an object; then applying its patch twice gives another result.)
 */
import { type Json, type JsonObject, equalJson, isJsonObject } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'

/** The target with the patch merged in; the target is not changed, and unchanged parts are shared. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return withoutNullMembers(patch)
  const base = isJsonObject(target) ? target : {}
  const merged = new Map(Object.entries(base))
  let changed = base !== target
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    const before = merged.get(key)
    const after = value === null ? undefined : applyMergePatch(before, value)
    if (after === before || (isJsonArray(after) && equalJson(before, after))) continue
    changed = true
    if (after === undefined) merged.delete(key)
    else merged.set(key, after)
  }
  return changed ? Object.fromEntries(merged) : base
}

/** The smallest merge patch from one object to another. Null members of `to` count as absent. */
export function createMergePatch(from: JsonObject, to: JsonObject): JsonObject {
  const patch = new Map<string, Json>()
  for (const [key, value] of Object.entries(from)) {
    if ((value ?? null) !== null && (ownMember(to, key) ?? null) === null) patch.set(key, null)
  }
  for (const [key, value] of Object.entries(to)) {
    const before = ownMember(from, key)
    if (value === undefined || value === null || equalJson(before, value)) continue
    const change = isJsonObject(before) && isJsonObject(value) ? createMergePatch(before, value) : value
    // The two may differ in null members only, which no merge patch can express.
    if (change === value || Object.keys(change).length > 0) patch.set(key, change)
  }
  return Object.fromEntries(patch)
}

function withoutNullMembers(value: Json): Json {
  if (isJsonArray(value)) return value.map(withoutNullMembers)
  return isJsonObject(value) ? applyMergePatch(undefined, value) : value
}
