/**
 * Types of CEL expressions. A type has a kind, a name and optional parameters (`list(string)`); two types are the same if their
 * text is the same. Objects of a schema are identified by their name and fields.
 *
 * A type from a schema also defines how JSON is read as its value (see `json-value.ts`): those attributes (`nullable`, `format`,
 * `listType`, ...) matter only to values, not to the checker.
 */

type CelKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'object'
  | 'opaque'
  | 'string'
  | 'timestamp'
  | 'type'
  | 'uint'
  /** A type variable: `A` in `list(A)`. */
  | 'variable'
  /** Data without a schema inside of data with one: not visible to expressions, but compared. */
  | 'preserved'

export interface CelType {
  readonly kind: CelKind
  readonly name: string
  readonly parameters: readonly CelType[]
  /** Of an object: by the (escaped) name in expressions. */
  readonly fields?: ReadonlyMap<string, CelField>
  /** Of an object: by the name in JSON. */
  readonly properties?: ReadonlyMap<string, CelType>
  readonly nullable?: boolean
  /** The JSON representation, where there is a choice: `date` and `date-time` for a timestamp, `int-or-string` for dyn. */
  readonly format?: string
  readonly listType?: 'set' | 'map'
  readonly listKeys?: readonly string[]
}

export interface CelField {
  /** The name in JSON. */
  readonly property: string
  readonly type: CelType
}

const simple = (kind: CelKind, name: string = kind): CelType => ({ kind, name, parameters: [] })

export const boolType: CelType = simple('bool')
export const bytesType: CelType = simple('bytes')
export const doubleType: CelType = simple('double')
export const durationType: CelType = simple('duration', 'google.protobuf.Duration')
export const dynType: CelType = simple('dyn')
export const errorType: CelType = simple('error', '!error!')
export const intType: CelType = simple('int')
export const nullType: CelType = simple('null', 'null_type')
export const stringType: CelType = simple('string')
export const timestampType: CelType = simple('timestamp', 'google.protobuf.Timestamp')
export const uintType: CelType = simple('uint')
export const typeType: CelType = simple('type')
export const preservedType: CelType = simple('preserved', 'unknown')

export function listOf(element: CelType): CelType {
  return { kind: 'list', name: 'list', parameters: [element] }
}

export function mapOf(key: CelType, value: CelType): CelType {
  return { kind: 'map', name: 'map', parameters: [key, value] }
}

export function optionalOf(value: CelType): CelType {
  return { kind: 'opaque', name: 'optional_type', parameters: [value] }
}

export function typeOfType(type: CelType): CelType {
  return { kind: 'type', name: 'type', parameters: [type] }
}

export function typeVariable(name: string): CelType {
  return { kind: 'variable', name, parameters: [] }
}

/** A type without fields, accessible only by functions: a quantity, a URL. */
export function objectTypeNamed(name: string): CelType {
  return { kind: 'object', name, parameters: [] }
}

export function opaqueTypeNamed(name: string): CelType {
  return { kind: 'opaque', name, parameters: [] }
}

/** An object with the given fields, for variables without a schema. */
export function objectTypeOf(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  const entries = Object.entries(fields)
  return {
    kind: 'object',
    name,
    parameters: [],
    fields: new Map(entries.map(([property, type]) => [property, { property, type }])),
    properties: new Map(entries),
  }
}

export const listType: CelType = listOf(dynType)
export const mapType: CelType = mapOf(dynType, dynType)
export const optionalType: CelType = optionalOf(dynType)

/** As in messages of the checker. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'duration':
      return 'duration'
    case 'timestamp':
      return 'timestamp'
    case 'null':
      return 'null'
    default:
      if (type.parameters.length === 0) return type.name
      return `${type.name}(${type.parameters.map(formatType).join(', ')})`
  }
}

export function sameType(a: CelType, b: CelType): boolean {
  return (
    a === b ||
    (a.kind === b.kind &&
      a.name === b.name &&
      a.parameters.length === b.parameters.length &&
      a.parameters.every((parameter, index) => sameType(parameter, b.parameters[index]!)))
  )
}

export function isDynamic(type: CelType): boolean {
  return type.kind === 'dyn'
}

export function isOptionalType(type: CelType): boolean {
  return type.kind === 'opaque' && type.name === 'optional_type'
}
