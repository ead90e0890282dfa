/**
 * What a schema lets through. An API server keeps no field that it does not know: those of built-in kinds are lost when
 * they are decoded, which is what happens here; those of custom ones are pruned by their structural schema.
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
  /** The schema of a custom kind, ready for use. */
  readonly structural?: StructuralSchema | undefined
}

export interface PrunedObject {
  readonly object: JsonObject
  /** Paths of what was dropped: `spec.replicsa`, `spec.ports[0].nam`. */
  readonly unknown: readonly string[]
  /** Why it cannot be read at all, in the decoder's words. */
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
    // To a typed decoder null is "not set": a field is not there, an item is empty.
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
  // Any JSON at all may also be null.
  return type === 'object' ? {} : null
}
