/**
 * A field specification names a field in objects of certain kinds: `spec/template/metadata/labels` of every Deployment. Lists
 * on the way are entered by themselves; `create` adds what is missing.
 */
import type { GroupVersionKind } from '../../../kube/kind.ts'
import { failure } from '../failure.ts'
import { isSelected, type KindSelector } from '../model/resource-id.ts'
import {
  isMapping,
  isNull,
  type Mapping,
  type SharedScalar,
  replaceMember,
  unshared,
  type Value,
} from '../model/value.ts'
import { untypedScalar } from '../model/written-scalar.ts'
import { splitPath } from '../model/path.ts'
import type { FieldTable } from '../typed-fields.ts'

export interface FieldSpec extends KindSelector {
  readonly path?: string
  readonly create?: boolean
}

/** The fields of a specification in a file. */
export const fieldSpecFields: FieldTable = {
  group: 'text',
  version: 'text',
  kind: 'text',
  path: 'text',
  create: 'boolean',
}

/** A value in its place: a member of a mapping, or an item of a list. */
export interface Slot {
  get(this: void): Exclude<Value, SharedScalar>
  set(this: void, value: Value): void
}

export function memberSlot(mapping: Mapping, name: string): Slot {
  return { get: () => unshared(mapping.get(name) ?? null), set: (value) => replaceMember(mapping, name, value) }
}

export function itemSlot(list: Value[], index: number): Slot {
  return { get: () => unshared(list[index] ?? null), set: (value) => (list[index] = value) }
}

/** What stands for a missing field, if the specification may create it. */
type NewField = 'mapping' | 'scalar'

/** Calls `change` for every value in the object that the specification names. */
export function changeSpecified(
  object: Mapping,
  kind: GroupVersionKind,
  spec: FieldSpec,
  change: (slot: Slot) => void,
  created?: NewField,
): void {
  if (!isSelected(kind, spec)) return
  const path = splitPath(spec.path ?? '', '/')
  const isCreating = spec.create === true && created !== undefined
  const enter = (slot: Slot, depth: number): void => {
    const value = slot.get()
    if (depth === path.length) change(slot)
    else if (Array.isArray(value)) for (const index of value.keys()) enter(itemSlot(value, index), depth)
    else if (isMapping(value)) enterMember(value, depth)
    else if (!isNull(value)) throw new Error(`${path.slice(0, depth).join('.')} is neither a mapping nor a list`)
  }
  const enterMember = (mapping: Mapping, depth: number): void => {
    const part = path[depth]!
    const isList = part.endsWith('[]')
    const name = isList ? part.slice(0, -2) : part
    if (name === '') throw new Error('a field specification has an empty name')
    const isLast = depth === path.length - 1
    const value = mapping.get(name)
    if (isCreating && !isList && (value === undefined || isNull(value))) {
      mapping.set(name, isLast && created === 'scalar' ? untypedScalar('') : new Map())
    } else if (value === undefined) return
    enter(memberSlot(mapping, name), depth + 1)
  }
  enter({ get: () => object, set: () => undefined }, 0)
}

/** The list with one more specification. @throws KustomizationInvalid if one for the same field contradicts it */
export function mergeSpec(list: readonly FieldSpec[], added: FieldSpec, place: string): readonly FieldSpec[] {
  const known = list.find((spec) => spec.path === added.path && isSelected(kindOfSpec(spec), added))
  if (known === undefined) return [...list, added]
  if ((known.create ?? false) === (added.create ?? false)) return list
  throw failure('KustomizationInvalid', place, `two field specifications of ${added.path ?? ''} differ in create`)
}

export function mergeSpecs(
  list: readonly FieldSpec[],
  added: readonly FieldSpec[],
  place: string,
): readonly FieldSpec[] {
  return added.reduce((merged, spec) => mergeSpec(merged, spec, place), list)
}

function kindOfSpec({ group = '', version = '', kind = '' }: FieldSpec): GroupVersionKind {
  return { group, version, kind }
}
