/**
 * The maximum size of data under a schema. Without a limit in the schema, the request size is the limit: a list of strings has
 * at most as many items as quotes and commas fit into a request.
 */
import type { JSONSchemaProps } from '../../types/apiextensions/v1.ts'
import { escapeName } from '../value/escape.ts'

export interface SchemaSize {
  /** The maximum of characters, items or entries; undefined for values without a length. */
  readonly most: number
  /** The minimum size as JSON, in bytes. */
  readonly leastBytes: number
  /** Of an object: by the name in expressions. */
  readonly fields?: ReadonlyMap<string, SchemaSize>
  /** Of a list or map. */
  readonly element?: SchemaSize
  readonly key?: SchemaSize
}

/** The largest request, in bytes. */
const largestRequest = 3 * 1024 * 1024

/** How often data of a size fits into one request. */
export function mostOccurrences({ leastBytes }: SchemaSize): number {
  return Math.floor(largestRequest / (leastBytes + 1))
}

/** Undefined for data that expressions cannot see. `isRoot`: the schema of a whole object. */
export function sizeOfSchema(given: JSONSchemaProps, isRoot: boolean): SchemaSize | undefined {
  if (given['x-kubernetes-int-or-string'] === true) return { most: textLength(given), leastBytes: 1 }
  const schema = isRoot ? withMeta(given) : given
  switch (schema.type) {
    case 'array':
      return listSize(schema)
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? mapSize(schema, schema.additionalProperties)
        : objectSize(schema)
    case 'string':
      return textSize(schema)
    case 'boolean':
      return { most: 0, leastBytes: 4 }
    case 'number':
    case 'integer':
      return { most: 0, leastBytes: 1 }
    default:
      return undefined
  }
}

const inner = (schema: JSONSchemaProps): SchemaSize | undefined =>
  sizeOfSchema(schema, schema['x-kubernetes-embedded-resource'] === true)

function listSize({ items, maxItems }: JSONSchemaProps): SchemaSize | undefined {
  const element = items && !Array.isArray(items) ? inner(items as JSONSchemaProps) : undefined
  if (!element) return undefined
  const most = limit(maxItems) ?? Math.floor((largestRequest - 2) / (element.leastBytes + 1))
  return { most, leastBytes: 2, element }
}

/** Keys are not considered: for estimates they have no length. */
const keySize: SchemaSize = { most: 0, leastBytes: 2 }

function mapSize({ maxProperties }: JSONSchemaProps, values: JSONSchemaProps): SchemaSize | undefined {
  const element = inner(values)
  if (!element) return undefined
  const most = limit(maxProperties) ?? Math.floor((largestRequest - 2) / (element.leastBytes + 6))
  return { most, leastBytes: 2, key: keySize, element }
}

function objectSize({ properties = {}, required = [] }: JSONSchemaProps): SchemaSize {
  const fields = new Map<string, SchemaSize>()
  let leastBytes = 2
  for (const [name, schema] of Object.entries(properties)) {
    const size = inner(schema)
    if (!size) continue
    const field = escapeName(name)
    if (field !== undefined) fields.set(field, size)
    const isSent = required.includes(name) && (schema.default === undefined || schema.default === null)
    if (isSent) leastBytes += Buffer.byteLength(name) + size.leastBytes + 4
  }
  return { most: 0, leastBytes, fields }
}

function textSize(schema: JSONSchemaProps): SchemaSize {
  switch (schema.format) {
    case 'byte':
      return { most: limit(schema.maxLength) ?? largestRequest - 2, leastBytes: 2 }
    case 'duration':
      return { most: 32, leastBytes: 3 }
    case 'date':
      return { most: 12, leastBytes: 12 }
    case 'date-time':
      return { most: 32, leastBytes: 21 }
    default:
  }
  const { maxLength, enum: values = [] } = schema
  const isListed = maxLength === undefined && values.length > 0
  const lengths = values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0))
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0)
  return { most: isListed ? longest : textLength(schema), leastBytes: 2 }
}

/** Limits count characters, estimates bytes; a character may take four. */
function textLength({ maxLength }: JSONSchemaProps): number {
  const most = limit(maxLength)
  return most === undefined ? largestRequest - 2 : most * 4
}

function limit(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.max(0, value)
}

const longestName = 253

/** Names of objects are known to be short, whatever their schema says. */
function withMeta(schema: JSONSchemaProps): JSONSchemaProps {
  const { properties = {} } = schema
  const meta = properties['metadata']
  const { name, generateName } = meta?.properties ?? {}
  const isThere =
    properties['kind']?.type === 'string' &&
    properties['apiVersion']?.type === 'string' &&
    meta?.type === 'object' &&
    name?.type === 'string' &&
    generateName?.type === 'string'
  if (isThere) return schema
  const short = (own: JSONSchemaProps | undefined, most: number): JSONSchemaProps => ({
    type: 'string',
    maxLength: Math.min(own?.maxLength ?? most, most),
  })
  const metadata: JSONSchemaProps = {
    type: 'object',
    properties: { name: short(name, longestName), generateName: short(generateName, longestName - 1) },
  }
  return {
    ...schema,
    properties: { ...properties, kind: { type: 'string' }, apiVersion: { type: 'string' }, metadata },
  }
}
