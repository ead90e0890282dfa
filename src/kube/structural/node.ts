/**
 * A parsed structural schema: every place of an object has one node, which describes the allowed values. Pruning, defaulting
 * and validation walk these nodes together with the object.
 *
 * Schemas under `allOf`, `anyOf`, `oneOf` and `not` are nodes, too, but only for validation; they do not prune or default.
 */
import type { Json } from '../json.ts'
import type { JSONSchemaProps, ValidationRule } from '../types/apiextensions/v1.ts'
import { formatCheckOf, isKnownFormat } from './format.ts'
import { patternOf } from './pattern.ts'

export interface SchemaNode {
  readonly schema: JSONSchemaProps
  /** The allowed types; two for int-or-string; none if any type is allowed. */
  readonly types: readonly string[]
  readonly nullable: boolean
  /** Undefined if there is none; null counts as none. */
  readonly default: Json | undefined
  readonly properties: ReadonlyMap<string, SchemaNode>
  /** The same, for iteration. */
  readonly members: readonly { readonly name: string; readonly node: SchemaNode }[]
  /** The schema of undeclared members: a node, anything, or (false) not allowed. */
  readonly additional: SchemaNode | boolean | undefined
  readonly items: SchemaNode | undefined
  readonly preserves: boolean
  readonly embedded: boolean
  readonly listType: string | undefined
  readonly listKeys: readonly string[]
  readonly rules: readonly ValidationRule[]

  /** The format as messages name it; empty if it has no meaning. */
  readonly format: string
  readonly checkFormat: ((text: string) => boolean) | undefined
  readonly matches: ((text: string) => boolean) | undefined
  readonly required: readonly string[]
  readonly anyOf: readonly SchemaNode[]
  readonly oneOf: readonly SchemaNode[]
  readonly allOf: readonly SchemaNode[]
  readonly not: SchemaNode | undefined

  /** Whether anything at or below this node has the extension; walks that look for it stop otherwise. */
  readonly has: Marks
}

export interface Marks {
  readonly defaults: boolean
  readonly embedded: boolean
  readonly listTypes: boolean
  readonly rules: boolean
}

const none: readonly never[] = []

export function compileNode(schema: JSONSchemaProps): SchemaNode {
  const isIntOrString = schema['x-kubernetes-int-or-string'] === true
  const types = isIntOrString ? ['integer', 'string'] : schema.type ? [schema.type] : none
  const properties = new Map(Object.entries(schema.properties ?? {}).map(([name, own]) => [name, compileNode(own)]))
  const { additionalProperties } = schema
  const additional = typeof additionalProperties === 'object' ? compileNode(additionalProperties) : additionalProperties
  const items = schema.items && !Array.isArray(schema.items) ? compileNode(schema.items as JSONSchemaProps) : undefined
  const format = formatOf(schema, types)
  const node: Omit<SchemaNode, 'has'> = {
    schema,
    types,
    nullable: schema.nullable === true,
    default: schema.default ?? undefined,
    properties,
    members: Array.from(properties, ([name, member]) => ({ name, node: member })),
    additional,
    items,
    preserves: schema['x-kubernetes-preserve-unknown-fields'] === true,
    embedded: schema['x-kubernetes-embedded-resource'] === true,
    listType: schema['x-kubernetes-list-type'],
    listKeys: schema['x-kubernetes-list-map-keys'] ?? none,
    rules: schema['x-kubernetes-validations'] ?? none,
    format,
    checkFormat: formatCheckOf(format),
    matches: schema.pattern ? patternOf(schema.pattern) : undefined,
    required: schema.required ?? none,
    anyOf: (schema.anyOf ?? none).map(compileNode),
    oneOf: (schema.oneOf ?? none).map(compileNode),
    allOf: (schema.allOf ?? none).map(compileNode),
    not: schema.not && compileNode(schema.not),
  }
  const below = [
    ...properties.values(),
    ...(items ? [items] : []),
    ...(typeof additional === 'object' ? [additional] : []),
  ]
  return {
    ...node,
    has: {
      defaults: node.default !== undefined || below.some(({ has }) => has.defaults),
      embedded: node.embedded || below.some(({ has }) => has.embedded),
      listTypes: node.listType === 'set' || node.listType === 'map' || below.some(({ has }) => has.listTypes),
      rules: node.rules.length > 0 || below.some(({ has }) => has.rules),
    },
  }
}

/** A format counts only with its own type. */
function formatOf({ format = '' }: JSONSchemaProps, types: readonly string[]): string {
  const type = types.length === 1 ? types[0] : undefined
  switch (type) {
    case 'integer':
      return format === 'int32' || format === 'int64' ? format : ''
    case 'number':
      return format === 'float' || format === 'double' ? format : ''
    case 'string':
    case undefined:
      return isKnownFormat(format) ? format : ''
    default:
      return ''
  }
}

/** The node of a member: its own, or the one of all undeclared members. */
export function memberNode(node: SchemaNode | undefined, name: string): SchemaNode | undefined {
  if (!node) return undefined
  const own = node.properties.get(name)
  if (own) return own
  return typeof node.additional === 'object' ? node.additional : undefined
}
