/**
 * Type errors of request bodies, as kube-apiserver reports them. It decodes JSON into Go structs, and the messages are
 * those of Go's decoder: the struct, the field, and the expected type.
 */
import { base64Problem } from '../../kube/go/go-base64.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { findMessage, messageNamed } from '../../kube/protobuf/table.ts'
import { type Definitions, type Schema } from '../../kube/schema.ts'

interface Place {
  /** The struct that the field is in, by its Go name. */
  readonly struct: string
  /** The last field on the path from the root; elements of lists and maps are not part of it. */
  readonly step: Step | undefined
  /** Look only for errors of types with their own UnmarshalJSON. */
  readonly readers: boolean
}

/** A field and its parents, as a linked list: the path is only needed for an error, which is rare. */
interface Step {
  readonly before: Step | undefined
  /** The schema it is a field of. */
  readonly definition: string | undefined
  readonly key: string
}

/**
 * The first type error, with Go's message; undefined if there is none, or it is not known. An error in a type with its
 * own UnmarshalJSON, such as a time, ends the decoding; any other is reported at the end.
 */
export function goMismatch(value: Json, definition: string, definitions: Definitions): string | undefined {
  const look = (readers: boolean): string | undefined =>
    mismatch(value, { $ref: `#/definitions/${definition}` }, definitions, {
      struct: shortName(definition),
      step: undefined,
      readers,
    })
  return look(false) && (look(true) ?? look(false))
}

function mismatch(value: Json, schema: Schema, definitions: Definitions, place: Place): string | undefined {
  if (value === null) return undefined
  const name = referenceOf(schema)
  const resolved = name === undefined ? schema : definitions[name]
  // Quantities also accept numbers, and have their own errors; a RawExtension accepts anything.
  if (!resolved || name?.endsWith('.Quantity') || name?.endsWith('.RawExtension')) return undefined
  if (resolved['x-kubernetes-int-or-string'] || resolved.format === 'int-or-string') {
    const isFit = typeof value === 'string' || fitsNumber(value, { type: 'integer', format: 'int32' })
    return isFit ? undefined : refuse(value, 'int32', { ...place, readers: false })
  }
  switch (resolved.type) {
    case 'string':
      if (resolved.format === 'byte' && isJsonArray(value)) return byteMismatch(value, place)
      if (resolved.format === 'byte' && typeof value === 'string') return base64Mismatch(value, place)
      if (typeof value === 'string') return undefined
      return resolved.format === 'date-time'
        ? refuse(value, 'string', { ...place, readers: false })
        : refuse(value, name ? goType(schema) : 'string', place)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : refuse(value, 'bool', place)
    case 'integer':
    case 'number':
      return fitsNumber(value, resolved) ? undefined : refuse(value, goType(resolved), place)
    case 'array': {
      if (!isJsonArray(value)) return refuse(value, goType(resolved), place)
      return first(value, (item) => mismatch(item, resolved.items ?? {}, definitions, place))
    }
    case 'object': {
      if (!isJsonObject(value)) return refuse(value, goType(schema), place)
      return memberMismatch(value, resolved, name, definitions, place)
    }
    default:
      return undefined
  }
}

function base64Mismatch(value: string, { readers }: Place): string | undefined {
  const at = readers ? undefined : base64Problem(value)
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`
}

/** A []byte may also be a list of numbers. */
function byteMismatch(value: readonly Json[], place: Place): string | undefined {
  return first(value, (item) => {
    const isByte = item === null || (typeof item === 'number' && Number.isInteger(item) && item >= 0 && item < 256)
    return isByte ? undefined : refuse(item, 'uint8', place)
  })
}

function memberMismatch(
  value: JsonObject,
  schema: Schema,
  name: string | undefined,
  definitions: Definitions,
  place: Place,
): string | undefined {
  const { properties, additionalProperties } = schema
  if (properties) {
    const struct = name === undefined ? place.struct : shortName(name)
    for (const key of Object.keys(value)) {
      const member = value[key]
      const declared = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (!declared || member === undefined || isText(member, declared)) continue
      const step = { before: place.step, definition: name, key }
      const found = mismatch(member, declared, definitions, { struct, step, readers: place.readers })
      if (found !== undefined) return found
    }
    return undefined
  }
  if (typeof additionalProperties !== 'object') return undefined
  return first(Object.values(value), (member) => mismatch(member ?? null, additionalProperties, definitions, place))
}

/** Most fields are texts without a format: nothing can be wrong with one. */
function isText(value: Json, { type, format }: Schema): boolean {
  return typeof value === 'string' && type === 'string' && format === undefined
}

/** The fields from the root on, with embedded structs. */
function pathOf(step: Step | undefined): readonly string[] {
  if (!step) return []
  const { before, definition, key } = step
  return [...pathOf(before), ...(definition === undefined ? [] : embeddedIn(definition, key)), key]
}

/** Go's path names an embedded struct, although its fields are inlined in JSON. */
function embeddedIn(definition: string, member: string): readonly string[] {
  const [group = '', version = '', kind = ''] = definition.split('.').slice(-3)
  const message = findMessage(`${group}/${version}.${kind}`)
  if (!message || message.fields.some(({ name }) => name === member)) return []
  for (const { name, type } of message.fields) {
    if (name !== '') continue
    if (messageNamed(type).fields.some((field) => field.name === member)) return [shortName(type)]
  }
  return []
}

function first<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = look(item)
    if (found !== undefined) return found
  }
  return undefined
}

function fitsNumber(value: Json, { type, format }: Schema): boolean {
  if (typeof value === 'bigint') return format !== 'int32'
  if (typeof value !== 'number' || type === 'number') return typeof value === 'number'
  return Number.isInteger(value) && (format !== 'int32' || Math.abs(value) < 2 ** 31)
}

function refuse(value: Json, type: string, { struct, step, readers }: Place): string | undefined {
  if (readers) return undefined
  const path = pathOf(step)
  // Go quotes the value of a number only if a number was expected.
  const what = typeof value === 'number' && !/^(?:u?int|float)\d*$/.test(type) ? 'number' : jsonName(value)
  if (path.length === 0) return `json: cannot unmarshal ${what} into Go value of type ${type}`
  return `json: cannot unmarshal ${what} into Go struct field ${struct}.${path.join('.')} of type ${type}`
}

/** Go's name for the type of a JSON value; with the value for a number that is out of range. */
export function jsonName(value: Json): string {
  if (isJsonArray(value)) return 'array'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) >= 2 ** 31)) return `number ${value}`
  return typeof value === 'bigint' ? 'number' : typeof value
}

function goType(schema: Schema): string {
  const name = referenceOf(schema)
  if (name !== undefined) return qualifiedName(name)
  if (schema.type === 'array') return `[]${goType(schema.items ?? {})}`
  if (schema.type === 'integer') return schema.format ?? 'int'
  if (schema.type === 'number') return 'float64'
  if (schema.type === 'boolean') return 'bool'
  if (schema.type !== 'object') return 'string'
  const { additionalProperties } = schema
  return `map[string]${typeof additionalProperties === 'object' ? goType(additionalProperties) : 'interface {}'}`
}

function referenceOf({ $ref, allOf }: Schema): string | undefined {
  const target = $ref ?? (allOf?.length === 1 ? allOf[0]?.$ref : undefined)
  return target?.slice(target.lastIndexOf('/') + 1)
}

/** `io.k8s.api.core.v1.PodSpec`: PodSpec. */
function shortName(definition: string): string {
  return definition.slice(definition.lastIndexOf('.') + 1)
}

/** `io.k8s.api.core.v1.PodSpec`: v1.PodSpec. */
function qualifiedName(definition: string): string {
  return definition.split('.').slice(-2).join('.')
}
