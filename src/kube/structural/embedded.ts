/** Embedded objects (`x-kubernetes-embedded-resource`): they need apiVersion and kind, and valid metadata. */
import { type Cause, invalidValue, requiredValue } from '../validation/cause.ts'
import type { Json, JsonObject } from '../json.ts'
import { isJsonArray } from '../json-member.ts'
import { memberNode, type SchemaNode } from './node.ts'

/** Validates the metadata of an embedded object. Passed in, because its messages are the server's. */
type MetadataCheck = (metadata: JsonObject, field: string) => readonly Cause[]
/** Validates a kind, with the server's messages. */
type KindCheck = (kind: string) => readonly string[]

export interface EmbeddedChecks {
  readonly metadata: MetadataCheck
  /** Of a DNS-1035 label. */
  readonly kind: KindCheck
}

export function checkEmbedded(
  value: Json,
  node: SchemaNode | undefined,
  checks: EmbeddedChecks,
  path = '',
): readonly Cause[] {
  if (!node?.has.embedded || typeof value !== 'object' || value === null) return []
  if (isJsonArray(value))
    return value.flatMap((item, index) => checkEmbedded(item, node.items, checks, `${path}[${index}]`))
  const object = value
  const below = Object.entries(object).flatMap(([name, member]) => {
    const isOwn = node.properties.has(name)
    return checkEmbedded(member!, memberNode(node, name), checks, isOwn ? childPath(path, name) : `${path}[${name}]`)
  })
  return node.embedded ? [...checkResource(object, path, checks), ...below] : below
}

function childPath(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

export function checkResource(object: JsonObject, path: string, checks: EmbeddedChecks): readonly Cause[] {
  const { apiVersion, kind, metadata } = object
  const at = (name: string): string => childPath(path, name)
  return [
    ...(apiVersion === undefined ? [requiredValue(at('apiVersion'))] : []),
    ...(kind === undefined ? [requiredValue(at('kind'))] : []),
    ...(apiVersion === undefined ? [] : checkApiVersion(apiVersion, at('apiVersion'))),
    ...(kind === undefined ? [] : checkKind(kind, at('kind'), checks.kind)),
    ...(metadata === undefined ? [] : checks.metadata(metadata as JsonObject, at('metadata'))),
  ]
}

function checkApiVersion(apiVersion: Json, field: string): readonly Cause[] {
  if (typeof apiVersion !== 'string') return [invalidValue(field, apiVersion, 'must be a string')]
  if (apiVersion === '') return [invalidValue(field, '', 'must not be empty')]
  if (apiVersion.split('/').length <= 2) return []
  return [invalidValue(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
}

function checkKind(kind: Json, field: string, check: KindCheck): readonly Cause[] {
  if (typeof kind !== 'string') return [invalidValue(field, kind, 'must be a string')]
  if (kind === '') return [invalidValue(field, '', 'must not be empty')]
  const problems = check(kind.toLowerCase())
  if (problems.length === 0) return []
  return [invalidValue(field, kind, `may have mixed case, but should otherwise match: ${problems.join(',')}`)]
}
