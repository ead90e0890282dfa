/**
 * The environment of an expression: variables with their types. Functions are the same everywhere (see `library.ts`).
 *
 * A type from a schema has exactly the fields of the schema: stored fields that it does not describe are not visible.
 */
import { type Definitions, type Schema, resolveSchema } from '../../schema.ts'
import { escapeName } from '../value/escape.ts'
import {
  type CelField,
  type CelType,
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  preservedType,
  stringType,
  timestampType,
} from '../value/type.ts'

export interface CelEnvironment {
  readonly variables: Readonly<Record<string, CelType>>
  /** Types of objects that expressions may construct, by name: `Object.spec{replicas: 1}`. @default none */
  readonly makes?: ((typeName: string) => CelType | undefined) | undefined
}

interface SchemaTypeOptions {
  /** The targets of `$ref`s. */
  readonly definitions?: Definitions
  /** The schema of a whole object: `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are visible. */
  readonly isRoot?: boolean
  /** The name of the type in messages. @default 'object' */
  readonly name?: string
}

/** The type of data under a schema; undefined if it is not visible to expressions. */
export function celTypeOfSchema(schema: Schema, options: SchemaTypeOptions = {}): CelType | undefined {
  const { definitions = {}, name = 'object' } = options
  const type = typeOf(schema, definitions, options.isRoot ?? false, name, 0)
  return type.kind === 'preserved' ? undefined : type
}

/** Depth limit of recursive definitions. */
const deepest = 30

function typeOf(given: Schema, definitions: Definitions, isRoot: boolean, name: string, depth: number): CelType {
  const schema = resolveSchema(given, definitions)
  const nullable = schema.nullable === true ? { nullable: true } : {}
  if (depth > deepest) return preservedType
  if (schema['x-kubernetes-int-or-string'] === true) return { ...dynType, format: 'int-or-string', ...nullable }
  const inner = (part: Schema, label: string): CelType =>
    typeOf(part, definitions, part['x-kubernetes-embedded-resource'] === true, `${name}.${label}`, depth + 1)
  switch (schema.type) {
    case 'array': {
      const element = schema.items ? inner(schema.items, '@idx') : preservedType
      return element.kind === 'preserved' ? preservedType : { ...listOf(element), ...listMarks(schema), ...nullable }
    }
    case 'object': {
      if (typeof schema.additionalProperties === 'object') {
        const value = inner(schema.additionalProperties, '@elem')
        return value.kind === 'preserved' ? preservedType : { ...mapOf(stringType, value), ...nullable }
      }
      return { ...objectType(isRoot ? withMeta(schema) : schema, name, inner), ...nullable }
    }
    case 'string':
      return { ...textType(schema), ...nullable }
    case 'boolean':
      return { ...boolType, ...nullable }
    case 'number':
      return { ...doubleType, ...nullable }
    case 'integer':
      return { ...intType, ...nullable }
    default:
      return preservedType
  }
}

function listMarks(schema: Schema): Pick<CelType, 'listType' | 'listKeys'> {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return { listType: 'set' }
    case 'map':
      return {
        listType: 'map',
        listKeys: (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => escapeName(key) ?? key),
      }
    default:
      return {}
  }
}

function objectType(schema: Schema, name: string, inner: (part: Schema, label: string) => CelType): CelType {
  const fields = new Map<string, CelField>()
  const properties = new Map<string, CelType>()
  for (const [property, part] of Object.entries(schema.properties ?? {})) {
    const field = escapeName(property)
    const type = inner(part, field ?? property)
    properties.set(property, type)
    if (field !== undefined && type.kind !== 'preserved') fields.set(field, { property, type })
  }
  return { kind: 'object', name, parameters: [], fields, properties }
}

function textType({ format }: Schema): CelType {
  switch (format) {
    case 'byte':
      return bytesType
    case 'duration':
      return durationType
    case 'date':
    case 'date-time':
      return { ...timestampType, format }
    default:
      return stringType
  }
}

const text: Schema = { type: 'string' }

/** The members that every object has, whether or not its schema declares them. */
function withMeta(schema: Schema): Schema {
  const { properties = {} } = schema
  const meta = properties['metadata']
  const isThere =
    properties['kind']?.type === 'string' &&
    properties['apiVersion']?.type === 'string' &&
    meta?.type === 'object' &&
    meta.properties?.['name']?.type === 'string' &&
    meta.properties['generateName']?.type === 'string'
  if (isThere) return schema
  const metadata: Schema = { type: 'object', properties: { name: text, generateName: text } }
  return { ...schema, properties: { ...properties, kind: text, apiVersion: text, metadata } }
}
