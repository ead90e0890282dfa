/**
 * A mutable copy of an object for defaulting, so that rules may write into it instead of copying at every level. The
 * object has been checked against its schema: a list is a list, an object an object.
 *
 * Go has two kinds of unset fields, and rules must distinguish them. A plain field is unset when it is zero (`''`,
 * `0`); a pointer only when it is absent, so that a client may ask for zero replicas.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { isJsonArray, ownMember } from '../../../kube/json-member.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { structForm } from '../../codec/struct-form.ts'

export type Draft = { [member: string]: Json | undefined }

/** A mutable copy of the object in struct form: as Go decodes and serializes it. */
export function draftOf(object: UntypedObject): Draft {
  return structForm(object) as unknown as Draft
}

export function finished(draft: Draft): UntypedObject {
  return draft as unknown as UntypedObject
}

/** The object at `name`; undefined when there is none. */
export function part(draft: Draft | undefined, name: string): Draft | undefined {
  const member = ownMember(draft, name)
  return isJsonObject(member) ? member : undefined
}

/** The object at `name`, created if absent: a struct within a struct is always present. */
export function ensurePart(draft: Draft, name: string): Draft {
  const known = part(draft, name)
  if (known) return known
  const made: Draft = {}
  draft[name] = made
  return made
}

/** The objects in the list at `name`. */
export function parts(draft: Draft | undefined, name: string): readonly Draft[] {
  const member = ownMember(draft, name)
  return isJsonArray(member) ? member.filter(isJsonObject) : []
}

function isZeroField(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '' || value === 0 || value === false
}

/** Sets plain fields that are zero. */
export function fillZeros(draft: Draft | undefined, defaults: JsonObject): void {
  if (!draft) return
  for (const [name, value] of Object.entries(defaults)) if (isZeroField(draft[name])) draft[name] = value
}

/** Sets pointers that are absent. */
export function fillAbsent(draft: Draft | undefined, defaults: JsonObject): void {
  if (!draft) return
  for (const [name, value] of Object.entries(defaults)) draft[name] ??= value
}
