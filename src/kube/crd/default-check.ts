/** Validation of the defaults in a schema: each must be valid by the schema itself. */
import { type Cause, formatCause, invalidValue } from '../validation/cause.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { checkEmbedded, checkResource, type EmbeddedChecks } from '../structural/embedded.ts'
import { decodeMetadata } from '../structural/metadata.ts'
import type { SchemaNode } from '../structural/node.ts'
import { pruneValue } from '../structural/prune.ts'
import { checkRules } from '../structural/rules.ts'
import { checkValue } from '../structural/value.ts'

export function defaultCauses(root: SchemaNode, path: string, checks: EmbeddedChecks): readonly Cause[] {
  return causesAt(root, path, { checks, isResource: true, around: identity, isInMetadata: false })
}

interface Walk {
  readonly checks: EmbeddedChecks
  /** Whether the node describes a whole object (embedded resource). */
  readonly isResource: boolean
  /** Wraps a value at this path into the object that it would be part of. */
  readonly around: (value: Json) => Json
  readonly isInMetadata: boolean
}

const identity = (value: Json): Json => value

function causesAt(node: SchemaNode, path: string, given: Walk): readonly Cause[] {
  if (!node.has.defaults) return []
  const walk = node.embedded ? { ...given, isResource: true, around: identity, isInMetadata: false } : given
  const own = node.default === undefined ? [] : checkDefault(node, node.default, `${path}.default`, walk)
  const { around } = walk
  const below = { ...walk, isResource: false }
  const items = node.items
    ? causesAt(node.items, `${path}.items`, { ...below, around: (value) => around([value]) })
    : []
  // `additionalProperties` are not descended into: a default there only replaces nulls.
  const members = [...node.properties].flatMap(([name, member]) =>
    causesAt(member, `${path}.properties[${name}]`, {
      ...below,
      around: (value) => around({ [name]: value }),
      isInMetadata: walk.isInMetadata || (walk.isResource && isMeta(name)),
    }),
  )
  return [...own, ...items, ...members]
}

const isMeta = (name: string): boolean => name === 'apiVersion' || name === 'kind' || name === 'metadata'

function checkDefault(node: SchemaNode, value: Json, path: string, walk: Walk): readonly Cause[] {
  const problems = walk.isInMetadata ? metadataCauses(value, path, walk) : contentCauses(node, value, path, walk.checks)
  if (problems.isFinal) return problems.causes
  const invalid = checkValue(value, node).map(({ cause }) => cause(path))
  if (invalid.length > 0) return [...problems.causes, ...invalid]
  const isRoot = walk.isResource
  const asUpdate = checkRules(value, node, { old: value, isRatcheting: false, path, isRoot })
  const broken = asUpdate.length > 0 ? asUpdate : checkRules(value, node, { path, isRoot })
  return [...problems.causes, ...broken]
}

interface Problems {
  readonly causes: readonly Cause[]
  /** Whether no further errors are reported. */
  readonly isFinal: boolean
}

function metadataCauses(value: Json, path: string, { around, checks }: Walk): Problems {
  const object: JsonObject = { kind: 'Validation', apiVersion: 'validation/v1', ...(around(value) as JsonObject) }
  const { problem } = decodeMetadata(object['metadata'] ?? {})
  const refuse = (why: string): Problems => ({
    causes: [invalidValue(path, value, `must result in valid metadata: ${why}`)],
    isFinal: true,
  })
  if (problem !== undefined) return refuse(formatCause(invalidValue('metadata', object['metadata'] ?? null, problem)))
  const causes = checkResource(object, '', checks)
  if (causes.length === 0) return { causes, isFinal: false }
  const texts = causes.map(formatCause)
  return refuse(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`)
}

function contentCauses(node: SchemaNode, value: Json, path: string, checks: EmbeddedChecks): Problems {
  const unpruned = equalJson(pruneValue(value, node), value)
    ? []
    : [invalidValue(path, value, 'must not have unknown fields')]
  const malformed = malformedMetadata(value, node, path)
  if (malformed) return { causes: [...unpruned, malformed], isFinal: true }
  const embedded = checkEmbedded(value, node, checks, path)
  return { causes: [...unpruned, ...embedded], isFinal: embedded.length > 0 }
}

/** The first path at which the metadata of an embedded object cannot be decoded. */
function malformedMetadata(value: Json, node: SchemaNode | undefined, path: string): Cause | undefined {
  if (!node?.has.embedded || typeof value !== 'object' || value === null) return undefined
  if (isJsonArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = malformedMetadata(item, node.items, `${path}[${index}]`)
      if (found) return found
    }
    return undefined
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const at = `${path}.${name}`
    if (node.embedded && name === 'metadata') {
      const { problem } = decodeMetadata(member)
      if (problem !== undefined) return invalidValue(at, member, problem)
    } else if (node.embedded && isMeta(name) && typeof member !== 'string') {
      return invalidValue(at, member, 'must be a string')
    }
    const own =
      node.properties.get(name) ?? (isJsonObject(node.additional) ? (node.additional as SchemaNode) : undefined)
    const found = malformedMetadata(member, own, at)
    if (found) return found
  }
  return undefined
}
