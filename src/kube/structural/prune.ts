/**
 * Pruning: fields that the schema does not know are dropped. With `x-kubernetes-preserve-unknown-fields` unknown fields stay,
 * though known ones below them are pruned again. It includes the other effects of decoding: a null that is not nullable counts
 * as absent, and metadata is decoded.
 *
 * Unchanged values are returned as they are; others are copied, never changed.
 */
import { invalidValue, formatCause } from '../validation/cause.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { withMembers } from './members.ts'
import { decodeMetadata } from './metadata.ts'
import { memberNode, type SchemaNode } from './node.ts'

export interface PrunedFields {
  readonly object: JsonObject
  /** Paths of dropped fields, as the strict decoder reports them: `spec.replicsa`, `spec.ports[0].nam`. */
  readonly unknown: readonly string[]
  /** Why it cannot be decoded at all (metadata of a wrong type), in the decoder's words. */
  readonly problem: string | undefined
}

export function pruneObject(object: JsonObject, root: SchemaNode): PrunedFields {
  const walk: Walk = { path: [], dropped: [] }
  let pruned = pruneMembers(object, root, true, walk)
  pruned = dropNulls(pruned, root) as JsonObject
  const decoding: Decoding = { unknown: [], problem: undefined }
  if (root.has.embedded) pruned = decodeEmbedded(pruned, root, '', decoding) as JsonObject
  const { metadata, unknown, problem } = decodeMetadata(pruned['metadata'] ?? {})
  if (metadata !== pruned['metadata']) pruned = withMember(pruned, 'metadata', metadata)
  return {
    object: pruned,
    unknown: [
      ...unknown.toSorted().map((path) => `metadata.${path}`),
      ...walk.dropped.toSorted(),
      ...decoding.unknown.toSorted(),
    ],
    problem: problem ?? decoding.problem,
  }
}

/** A value without fields that its schema does not know: for defaults, which are not whole objects. */
export function pruneValue(value: Json, node: SchemaNode): Json {
  const walk: Walk = { path: [], dropped: [] }
  return isJsonObject(value) && node.embedded ? pruneMembers(value, node, true, walk) : prune(value, node, walk)
}

interface Walk {
  readonly path: (string | number)[]
  readonly dropped: string[]
}

const isMeta = (name: string): boolean => name === 'apiVersion' || name === 'kind' || name === 'metadata'

function prune(value: Json, node: SchemaNode | undefined, walk: Walk): Json {
  if (typeof value !== 'object' || value === null) return value
  if (isJsonArray(value)) return pruneItems(value, node, walk)
  return pruneMembers(value, node, node?.embedded === true, walk)
}

function pruneItems(items: readonly Json[], node: SchemaNode | undefined, walk: Walk): Json {
  // Below a place that preserves unknown fields, items without a schema are kept, too.
  if (node?.preserves && !node.items) return items
  let copy: Json[] | undefined
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!
    if (typeof item !== 'object' || item === null) continue
    walk.path.push(index)
    const kept = node?.preserves ? pruneKept(item, node.items!, walk) : prune(item, node?.items, walk)
    walk.path.pop()
    if (kept !== item) (copy ??= [...items])[index] = kept
  }
  return copy ?? items
}

/** Items of a list that preserves unknown fields preserve them, too. */
function pruneKept(value: Json, node: SchemaNode, walk: Walk): Json {
  return prune(value, node.preserves ? node : { ...node, preserves: true }, walk)
}

function pruneMembers(object: JsonObject, node: SchemaNode | undefined, isResource: boolean, walk: Walk): JsonObject {
  let changed: Map<string, Json | undefined> | undefined
  for (const name in object) {
    const member = object[name]
    if (member === undefined || (isResource && isMeta(name))) continue
    const own = node?.properties.get(name)
    if (own || node?.additional !== undefined) {
      if (typeof member !== 'object' || member === null) continue
      walk.path.push(name)
      const kept = prune(member, own ?? (typeof node!.additional === 'object' ? node!.additional : undefined), walk)
      walk.path.pop()
      if (kept !== member) (changed ??= new Map()).set(name, kept)
    } else if (!node?.preserves) {
      ;(changed ??= new Map()).set(name, undefined)
      // apiVersion, kind and metadata are never reported at the root.
      if (!isMeta(name) || walk.path.length > 0) walk.dropped.push(formatPrunedPath([...walk.path, name]))
    }
  }
  return changed ? withMembers(object, changed) : object
}

function withMember(object: JsonObject, name: string, value: Json): JsonObject {
  return Object.hasOwn(object, name) ? withMembers(object, new Map([[name, value]])) : { ...object, [name]: value }
}

/** A null that is not nullable, and has no default, counts as absent. */
function dropNulls(value: Json, node: SchemaNode | undefined): Json {
  if (!node || typeof value !== 'object' || value === null) return value
  if (isJsonArray(value)) {
    let copy: Json[] | undefined
    for (let index = 0; index < value.length; index++) {
      const kept = dropNulls(value[index]!, node.items)
      if (kept !== value[index]) (copy ??= [...value])[index] = kept
    }
    return copy ?? value
  }
  let changed: Map<string, Json | undefined> | undefined
  const object = value
  for (const name in object) {
    const member = object[name]
    if (typeof member !== 'object') continue
    const own = memberNode(node, name)
    const kept =
      member === null ? (own && !own.nullable && own.default === undefined ? undefined : null) : dropNulls(member, own)
    if (kept !== member) (changed ??= new Map()).set(name, kept)
  }
  return changed ? withMembers(object, changed) : object
}

interface Decoding {
  readonly unknown: string[]
  problem: string | undefined
}

/** Embedded objects have metadata, too. */
function decodeEmbedded(value: Json, node: SchemaNode | undefined, path: string, decoding: Decoding): Json {
  if (!node?.has.embedded || typeof value !== 'object' || value === null) return value
  if (isJsonArray(value)) {
    const items = value.map((item, index) => decodeEmbedded(item, node.items, `${path}[${index}]`, decoding))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  const changed = new Map<string, Json | undefined>()
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const isOwn = node.properties.has(name)
    const at = isOwn || node.embedded ? (path === '' ? name : `${path}.${name}`) : `${path}[${name}]`
    let kept = member
    if (node.embedded && isMeta(name)) kept = decodeMember(name, member, at, decoding)
    kept = decodeEmbedded(kept, memberNode(node, name), at, decoding)
    if (kept !== member) changed.set(name, kept)
  }
  return changed.size > 0 ? withMembers(value, changed) : value
}

function decodeMember(name: string, member: Json, path: string, decoding: Decoding): Json {
  if (name !== 'metadata') {
    if (typeof member !== 'string') decoding.problem ??= formatCause(invalidValue(path, member, 'must be a string'))
    return member
  }
  const { metadata, unknown, problem } = decodeMetadata(member)
  if (problem !== undefined) decoding.problem ??= formatCause(invalidValue(path, member, problem))
  for (const below of unknown) decoding.unknown.push(`${path}.${below}`)
  return metadata
}

/** `spec.ports[0].name`. */
function formatPrunedPath(path: readonly (string | number)[]): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? step : `.${step}`
  }
  return text
}
