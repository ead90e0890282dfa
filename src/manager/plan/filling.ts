/**
 * Values that the API server defaults again after a write. An atomic value (the claim templates of a StatefulSet) is
 * replaced as a whole by an apply, and its defaulted members with it; the server defaults them again before it stores
 * the object. Without this, a plan would show changes that never happen.
 */
import { rulesOf } from '../../apiserver/write/kinds.ts'
import { structForm } from '../../apiserver/codec/struct-form.ts'
import { equalJson, isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'

/** `after` with the server's defaults, where `live` has them: everything else in a plan is written by the operator. */
export function filledIn(after: UntypedObject, live: UntypedObject, resource: Resource): UntypedObject {
  const filled = defaulted(after, resource)
  if (!filled) return after
  const stored = { ...filled, metadata: after.metadata }
  return picked(
    after as unknown as Json,
    stored as unknown as Json,
    live as unknown as Json,
  ) as unknown as UntypedObject
}

/** A kind that the operator defines has its own defaults. */
interface Defaulting extends Resource {
  withDefaults(object: UntypedObject): UntypedObject
}

/** As the server would store it; undefined where that is unknown. */
function defaulted(object: UntypedObject, resource: Resource): UntypedObject | undefined {
  try {
    if ('withDefaults' in resource) return (resource as Defaulting).withDefaults(object)
    const { group, plural, version } = resource
    const { defaults = structForm } = rulesOf(group === '' ? plural : `${plural}.${group}`)
    return defaults(object, version)
  } catch {
    // The object is invalid: the server reports that better than a plan could.
    return undefined
  }
}

/** The stored value where it equals the live one or was defaulted before; the written value elsewhere. */
function picked(after: Json, stored: Json, live: Json | undefined): Json {
  if (live !== undefined && equalJson(stored, live)) return live
  if (isJsonObject(after) && isJsonObject(stored)) {
    const before = isJsonObject(live) ? live : {}
    const names = [...new Set([...Object.keys(after), ...Object.keys(before)])]
    const members = names.flatMap((name) => {
      const [wanted, kept, was] = [ownMember(after, name), ownMember(stored, name), ownMember(before, name)]
      const is = wanted === undefined ? (was === undefined ? undefined : kept) : pickedMember(wanted, kept, was)
      return is === undefined ? [] : [[name, is] as const]
    })
    return Object.fromEntries(members)
  }
  if (isJsonArray(after) && isJsonArray(stored) && after.length === stored.length) {
    const before = isJsonArray(live) ? live : []
    return after.map((item, index) => picked(item, stored[index]!, before[index]))
  }
  return after
}

/** A member that is written but neither stored nor live: the server drops zero values of some fields. */
function pickedMember(wanted: Json, kept: Json | undefined, was: Json | undefined): Json | undefined {
  if (kept === undefined) return was === undefined ? undefined : wanted
  return picked(wanted, kept, was)
}
