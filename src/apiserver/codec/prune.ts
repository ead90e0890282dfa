/**
 * Drops unknown fields. For built-in kinds this is what Go's decoding into structs does; custom resources are pruned by
 * their structural schema.
 */
import type { Json, JsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { type Definitions, resolveSchema, type Schema } from '../../kube/schema.ts'
import type { StructuralSchema } from '../../kube/structural/structural.ts'

export interface SchemaOfKind {
  readonly schema: Schema | undefined
  readonly definitions: Definitions
  /** From a CRD. */
  readonly custom: boolean
  /** The compiled structural schema of a custom kind. */
  readonly structural?: StructuralSchema | undefined
}

interface PrunedObject {
  readonly object: JsonObject
  /** Paths of dropped fields: `spec.replicsa`, `spec.ports[0].nam`. */
  readonly unknown: readonly string[]
  /** Why the object cannot be decoded at all, with the decoder's message. */
  readonly problem?: string | undefined
}

export function pruneUnknownFields(
  object: JsonObject,
  { schema, definitions, structural }: SchemaOfKind,
): PrunedObject {
  if (structural) return structural.prune(object)
  const unknown: string[] = []
  if (!schema) return { object, unknown }
  return { object: pruneValue(object, schema, '', { definitions, unknown }) as JsonObject, unknown }
}

interface Walk {
  readonly definitions: Definitions
  readonly unknown: string[]
}

function pruneValue(value: Json, declared: Schema | undefined, path: string, walk: Walk): Json {
  if (typeof value !== 'object' || value === null) return value
  const schema = resolveSchema(declared, walk.definitions)
  if (isJsonArray(value)) {
    if (!schema.items) return value
    return value.map((item, index) =>
      pruneValue(item ?? zeroOf(schema.items, walk), schema.items, `${path}[${index}]`, walk),
    )
  }
  const { properties, additionalProperties } = schema
  if (!properties && !additionalProperties) return value
  const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true || additionalProperties === true

  const kept: [string, Json][] = []
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue
    const at = path === '' ? name : `${path}.${name}`
    const known = properties && Object.hasOwn(properties, name) ? properties[name] : undefined
    const own = known ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    if (!own) {
      if (isFree) kept.push([name, member])
      else walk.unknown.push(at)
    }
    // To a typed decoder, null means "not set": a field is absent, an item has its zero value.
    else if (member !== null || !known) kept.push([name, pruneValue(member ?? zeroOf(own, walk), own, at, walk)])
  }
  return Object.fromEntries(kept)
}

function zeroOf(declared: Schema | undefined, { definitions }: Walk): Json {
  const { type, format } = resolveSchema(declared, definitions)
  if (format === 'int-or-string') return 0
  if (type === 'string') return declared?.$ref?.endsWith('Quantity') ? '0' : ''
  if (type === 'integer' || type === 'number') return 0
  if (type === 'boolean') return false
  if (type === 'array') return []
  // A field of any JSON type may be null.
  return type === 'object' ? {} : null
}
