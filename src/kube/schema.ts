/**
 * The part of OpenAPI that has a meaning in Kubernetes. Built-in kinds (from the generated table) and CRDs (from their schema)
 * have the same vocabulary, so patches, apply and validation take one kind of input.
 */
import type { Json } from './json.ts'

export interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly nullable?: boolean
  readonly default?: Json
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'granular' | 'atomic'
  readonly 'x-kubernetes-patch-strategy'?: string
  readonly 'x-kubernetes-patch-merge-key'?: string
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-unions'?: Json
}

/** Definitions by name, as `$ref`s point at them. */
export type Definitions = Readonly<Record<string, Schema>>

const emptySchema: Schema = {}

/** Follows `$ref` (and the one-element `allOf` that OpenAPI v3 wraps it in) to the actual schema. */
export function resolveSchema(schema: Schema | undefined, definitions: Definitions): Schema {
  if (schema === undefined) return emptySchema
  if (targetOf(schema) === undefined) return schema
  const known = resolved.get(definitions) ?? new WeakMap<Schema, Schema>()
  resolved.set(definitions, known)
  const found = known.get(schema) ?? follow(schema, definitions)
  known.set(schema, found)
  return found
}

/** Schemas do not change, and every place is resolved for every object. */
const resolved = new WeakMap<Definitions, WeakMap<Schema, Schema>>()

function targetOf({ $ref, allOf }: Schema): string | undefined {
  return $ref ?? (allOf?.length === 1 ? allOf[0]?.$ref : undefined)
}

function follow(schema: Schema, definitions: Definitions): Schema {
  let current = schema
  for (;;) {
    const target = targetOf(current)
    if (target === undefined) return current
    const name = target.slice(target.lastIndexOf('/') + 1)
    // Extensions beside the reference (an atomic use of a granular type) override those of the definition.
    const { $ref: _ref, allOf: _allOf, ...marks } = current
    const definition = definitions[name]
    if (!definition) return emptySchema
    current = Object.keys(marks).length === 0 ? definition : { ...definition, ...marks }
  }
}
