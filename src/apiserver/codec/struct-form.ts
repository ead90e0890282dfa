/**
 * The form of a built-in object after a round trip through its Go struct, as on kube-apiserver.
 *
 * Empty fields are dropped, unless they are pointers (`replicas: 0`) or lack `omitempty` (`resources: {}`); fields
 * without `omitempty` are added (`status: {}`). Fields are in the order of the struct. Quantities and times are
 * normalized.
 */
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { base64Problem } from '../../kube/go/go-base64.ts'
import { readGoTime } from '../../kube/go/go-time.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type ProtobufField, type Message, messageNamed, messageOfKind } from '../../kube/protobuf/table.ts'
import { storedQuantity } from '../../kube/units/quantity.ts'
import { badRequest } from '../errors/status-error.ts'

/** Custom objects, and kinds without a protobuf message, are returned unchanged. */
export function structForm(object: UntypedObject): UntypedObject {
  const { apiVersion, kind } = object
  const message = messageOfKind(apiVersion, kind)
  if (!message) return object
  try {
    const members = structOf(object as unknown as JsonObject, message)
    return { apiVersion, kind, ...members } as unknown as UntypedObject
  } catch (error) {
    const why =
      error instanceof DecodeError ? error.message : isMusterError(error, kubeErrors.InvalidQuantity) && quantityRule
    if (!why) throw error
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`)
  }
}

/** A string that cannot be parsed as its type, with Go's message. */
class DecodeError extends Error {}

/**
 * Empty lists and maps are stored as null. Before that they count: the field manager that sends `rules: []` owns them.
 */
export function storedForm(object: UntypedObject): UntypedObject {
  const message = hasEmptyList(object as unknown as JsonObject) && messageOfKind(object.apiVersion, object.kind)
  if (!message) return object
  const { apiVersion, kind } = object
  return { apiVersion, kind, ...structOf(object as unknown as JsonObject, message, null) } as unknown as UntypedObject
}

function hasEmptyList(value: Json | undefined): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (isJsonArray(value)) {
    if (value.length === 0) return true
    for (const item of value) if (hasEmptyList(item)) return true
    return false
  }
  for (const name in value) if (hasEmptyList(value[name])) return true
  return false
}

const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** The zero value of a top-level field: the `status` of a new StatefulSet. */
export function zeroOf(apiVersion: string, kind: string, member: string): Json | undefined {
  const field = messageOfKind(apiVersion, kind)?.fields.find(({ name }) => name === member)
  return field && memberOf(undefined, field)
}

/** With `empty: null`, empty lists and maps without `omitempty` become null; by default they stay. */
function structOf(source: JsonObject, message: Message, empty?: null): JsonObject {
  const members: { [name: string]: Json } = {}
  for (const field of message.fields) {
    if (field.name === '') {
      Object.assign(members, structOf(source, messageNamed(field.type), empty))
      continue
    }
    const member = memberOf(ownMember(source, field.name) ?? undefined, field, empty)
    if (member !== undefined) members[field.name] = member
  }
  return members
}

/** Undefined if the field is omitted. */
function memberOf(value: Json | undefined, field: ProtobufField, empty?: null): Json | undefined {
  if (field.many === 'list') {
    if (isJsonArray(value) && value.length > 0) return value.map((item) => itemOf(item, field, empty))
    return value === undefined || isJsonArray(value)
      ? field.always
        ? empty === null
          ? null
          : (value ?? null)
        : undefined
      : value
  }
  if (field.many === 'map') {
    if (isJsonObject(value) && Object.keys(value).length > 0) return mapOf(value, field, empty)
    return value === undefined || isJsonObject(value)
      ? field.always
        ? empty === null
          ? null
          : (value ?? null)
        : undefined
      : value
  }
  if (value === undefined && (field.pointer || field.special === 'time' || field.special === 'microtime')) {
    return field.always ? null : undefined
  }
  if (value === undefined && !field.always) return undefined
  const form = itemOf(value, field, empty)
  return field.pointer || field.always || !isZero(form) ? form : undefined
}

function isZero(value: Json): boolean {
  return value === '' || value === 0 || value === false
}

/** Go writes maps in the order of their keys. */
function mapOf(value: JsonObject, field: ProtobufField, empty?: null): JsonObject {
  const keys = Object.keys(value).toSorted()
  return Object.fromEntries(
    keys.map((key) => [key, itemOf(value[key] ?? (field.scalar === 'bytes' ? '' : undefined), field, empty)]),
  )
}

const zeroScalars = { string: '', bytes: null, bool: false, int32: 0, int64: 0, double: 0 } as const

function itemOf(value: Json | undefined, { scalar, special, type }: ProtobufField, empty?: null): Json {
  if (scalar === 'bytes' && isJsonArray(value)) return Buffer.from(value.map(Number)).toString('base64')
  if (scalar === 'bytes' && typeof value === 'string') return bytesOf(value)
  if (scalar) return value ?? zeroScalars[scalar]
  if (special === 'quantity') {
    const sent = value ?? 0
    if (typeof sent === 'object' || typeof sent === 'boolean') throw new DecodeError(quantityRule)
    return storedQuantity(sent)
  }
  if (special === 'time' || special === 'microtime') {
    if (value === undefined || value === null) return null
    if (typeof value !== 'string') throw new DecodeError('a time must be text')
    return timeOf(value, special === 'microtime')
  }
  if (special === 'intorstring') return value ?? 0
  if (special) return value ?? null
  const message = messageNamed(type)
  if (message.unwrapped) return memberOf(value, { ...message.fields[0]!, always: false }, empty) ?? null
  return value === undefined || value === null
    ? structOf({}, message, empty)
    : isJsonObject(value)
      ? structOf(value, message, empty)
      : value
}

function timeOf(sent: string, isMicro: boolean): string {
  const { text, problem } = readGoTime(sent, isMicro)
  if (text === undefined) throw new DecodeError(problem)
  return text
}

function bytesOf(sent: string): string {
  const at = base64Problem(sent)
  if (at !== undefined) throw new DecodeError(`illegal base64 data at input byte ${at}`)
  return /[\r\n]/.test(sent) ? sent.replaceAll(/[\r\n]/g, '') : sent
}
