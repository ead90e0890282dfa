/** Other owners of fields, read from `managedFields`, the latest writer first. */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import type { ManagedFieldsEntry } from '../../kube/object.ts'

/** Field managers other than `own` that own one of the fields. */
export function rivals(
  managed: readonly ManagedFieldsEntry[],
  fields: readonly string[],
  own: string,
): readonly string[] {
  const owning = managed
    .filter(({ manager }) => manager !== undefined && manager !== own)
    .filter(({ fieldsV1 }) => fields.some((field) => owns(fieldsV1, field)))
    .toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))
  return [...new Set(owning.map(({ manager }) => manager!))]
}

/** Supports plain members only: a path is followed up to its first list. */
function owns(fieldsV1: Json | undefined, field: string): boolean {
  const members = field.split('[')[0]!.split('.')
  let at = fieldsV1
  for (const member of members) {
    at = isJsonObject(at) ? ownMember(at, `f:${member}`) : undefined
    if (at === undefined) return false
  }
  return true
}
