/**
 * What the real server says of a body that does not fit its kind. It decodes JSON into Go structs, and its words are
 * those of Go's decoder: which struct, which field, and which type would have fitted.
 */
import { base64Problem } from '../../kube/go-base64.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { findMessage, messageNamed } from '../../kube/protobuf/table.ts'
import { type Definitions, type Schema } from '../../kube/schema.ts'

interface Place {
  /** The struct that the field is in, by its Go name. */
  readonly struct: string
  /** The last field on the way from the root; elements of lists and maps are not counted. */
  readonly step: Step | undefined
  /** Looked for are only values that read themselves. */
  readonly readers: boolean
}

/** A field, and the way to it. Nearly always all fits, and nobody asks for the names of what was passed. */
interface Step {
  readonly before: Step | undefined
  /** What it is a field of. */
  readonly definition: string | undefined
  readonly key: string
}

/**
 * The first thing that does not fit, in the decoder's words; undefined when all does, or it cannot be told. Values that
 * read themselves, times and the like, end the decoding; everything else is told when it is through.
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
  // Quantities are read from numbers, too, and speak for themselves; what is raw may be anything.
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

/** Bytes may also be a list of numbers. */
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
    return first(Object.entries(value), ([key, member]) => {
      const declared = ownMember(properties as unknown as JsonObject, key) as Schema | undefined
      if (!declared || member === undefined) return undefined
      const step = { before: place.step, definition: name, key }
      return mismatch(member, declared, definitions, { struct, step, readers: place.readers })
    })
  }
  if (typeof additionalProperties !== 'object') return undefined
  return first(Object.values(value), (member) => mismatch(member ?? null, additionalProperties, definitions, place))
}

/** Fields from the root on. */
function pathOf(step: Step | undefined): readonly string[] {
  if (!step) return []
  const { before, definition, key } = step
  return [...pathOf(before), ...(definition === undefined ? [] : embeddedIn(definition, key)), key]
}

/** A struct within a struct, whose fields JSON shows as the outer one's, is still a step on Go's way to them. */
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
  // A number is quoted where another one would have fitted.
  const what = typeof value === 'number' && !/^(?:u?int|float)\d*$/.test(type) ? 'number' : jsonName(value)
  if (path.length === 0) return `json: cannot unmarshal ${what} into Go value of type ${type}`
  return `json: cannot unmarshal ${what} into Go struct field ${struct}.${path.join('.')} of type ${type}`
}

/** What Go calls a kind of JSON value. A number that does not fit is quoted. */
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
