/**
 * A projection: the part of an object that an input reads. It is the metadata, without `managedFields`, and the values at some
 * paths. A path through a list applies to each of its items; what lies on the way to a path is there, with nothing else in it.
 *
 * The shared caches keep the same part of each object (`cache/decode/filter.ts`), or more, if others need more. A view projects
 * what it shows, so that it shows the same wherever its objects come from.
 */
import { setMember } from '../../kube/apply/value.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'

/** The paths beside metadata; undefined: the whole object. */
export type ProjectedFields = readonly string[] | undefined

export interface Projection {
  readonly fields: ProjectedFields
  /** The object itself, if it has nothing else. */
  project(object: KubeObject): KubeObject
  /**
   * Whether the part is the same in two states of an object. Every write of an object changes its `resourceVersion`, and every
   * change of its spec its `generation`: these two count only if a path names them.
   */
  isSame(before: KubeObject, after: KubeObject): boolean
}

/** The members that are kept of a node; of a member without a tree, everything. */
type FieldTree = ReadonlyMap<string, FieldTree | undefined>

/** Deeper values are kept whole, as in the caches: the recursion must not overflow the stack. */
const deepest = 200

export function createProjection(fields: ProjectedFields): Projection {
  if (!fields) return { fields, project: (object) => object, isSame: () => false }
  const tree = treeOf(fields)
  const known = new WeakMap<KubeObject, KubeObject>()
  const counted = new Set(fields)
  return {
    fields,
    project(object) {
      let made = known.get(object)
      if (!made) known.set(object, (made = projected(object, tree)))
      return made
    },
    isSame: (before, after) =>
      isSameMetadata(asJson(before.metadata), asJson(after.metadata), counted) &&
      [...tree].every(([member, below]) =>
        isSamePart(ownMember(asJson(before), member), ownMember(asJson(after), member), below, 0),
      ),
  }
}

/** Sorted, each once, none below another. */
export function normalFields(paths: readonly string[]): readonly string[] {
  const all = new Set(paths)
  const isBelow = (path: string): boolean => {
    for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
      if (all.has(path.slice(0, dot))) return true
    }
    return false
  }
  return [...all].filter((path) => !isBelow(path)).toSorted()
}

/** Everything that any of them has. */
export function joinFields(all: readonly ProjectedFields[]): ProjectedFields {
  return all.includes(undefined) ? undefined : normalFields(all.flatMap((fields) => fields ?? []))
}

/** Whether the first has everything that the second has. */
export function fieldsServe(held: ProjectedFields, asked: ProjectedFields): boolean {
  if (!held) return true
  return asked?.every((path) => held.some((field) => isAtOrBelow(path, field))) ?? false
}

export function isAtOrBelow(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`)
}

function treeOf(fields: readonly string[]): FieldTree {
  const tree = new Map<string, FieldTree | undefined>()
  // Metadata is handled apart.
  for (const field of fields) if (!isAtOrBelow(field, 'metadata')) keep(tree, field.split('.'))
  return tree
}

function keep(members: Map<string, FieldTree | undefined>, [member = '', ...rest]: readonly string[]): void {
  if (rest.length === 0) members.set(member, undefined)
  else if (!members.has(member) || members.get(member) !== undefined) {
    const below = new Map(members.get(member))
    keep(below, rest)
    members.set(member, below)
  }
}

function projected(object: KubeObject, tree: FieldTree): KubeObject {
  const whole = asJson(object)
  const kept: Record<string, Json> = {}
  let isSame = true
  for (const member of Object.keys(whole)) {
    const value = whole[member]
    if (value === undefined) continue
    const part = partOfRoot(member, value, tree)
    if (part !== undefined) setMember(kept, member, part)
    if (part !== value) isSame = false
  }
  return isSame ? object : asObject(Object.freeze(kept))
}

function partOfRoot(member: string, value: Json, tree: FieldTree): Json | undefined {
  if (member === 'apiVersion' || member === 'kind') return value
  if (member === 'metadata') return withoutManagedFields(value)
  return tree.has(member) ? partOf(value, tree.get(member), 0) : undefined
}

function withoutManagedFields(metadata: Json): Json {
  if (!isJsonObject(metadata) || metadata['managedFields'] === undefined) return metadata
  const { managedFields: _, ...rest } = metadata
  return Object.freeze(rest)
}

/** The value itself, if nothing is left out. */
function partOf(value: Json, tree: FieldTree | undefined, depth: number): Json {
  if (!tree || typeof value !== 'object' || value === null || depth > deepest) return value
  if (isJsonArray(value)) {
    const items = value.map((item) => partOf(item, tree, depth + 1))
    return items.every((item, at) => item === value[at]) ? value : Object.freeze(items)
  }
  const members: JsonObject = value
  const kept: Record<string, Json> = {}
  let isSame = true
  for (const member of Object.keys(members)) {
    const before = members[member]
    if (before === undefined) continue
    if (!tree.has(member)) {
      isSame = false
      continue
    }
    const part = partOf(before, tree.get(member), depth + 1)
    setMember(kept, member, part)
    if (part !== before) isSame = false
  }
  return isSame ? value : Object.freeze(kept)
}

function isSamePart(
  before: Json | undefined,
  after: Json | undefined,
  tree: FieldTree | undefined,
  depth: number,
): boolean {
  if (before === after) return true
  if (!tree || depth > deepest) return equalJson(before, after)
  if (isJsonArray(before) && isJsonArray(after)) {
    return before.length === after.length && before.every((item, at) => isSamePart(item, after[at], tree, depth + 1))
  }
  if (!isJsonObject(before) || !isJsonObject(after)) return equalJson(before, after)
  return [...tree].every(([member, below]) =>
    isSamePart(ownMember(before, member), ownMember(after, member), below, depth + 1),
  )
}

function isSameMetadata(before: JsonObject, after: JsonObject, counted: ReadonlySet<string>): boolean {
  if (before === after) return true
  const members = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...members].every((member) => {
    if (member === 'managedFields') return true
    const isVersion = member === 'resourceVersion' || member === 'generation'
    if (isVersion && !counted.has(`metadata.${member}`)) return true
    return equalJson(ownMember(before, member), ownMember(after, member))
  })
}
