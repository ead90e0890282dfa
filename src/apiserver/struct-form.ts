/**
 * How an object of a built-in kind looks once it has been a Go struct, which on the real server every one has.
 *
 * What is empty goes, unless somebody can tell it from absent (a pointer: `replicas: 0`) or it is always written
 * (`resources: {}`, `status: {}`); what is always written comes, if nobody wrote it. Members stand in the order of the
 * struct. Quantities and times come back in the form in which the server writes them.
 */
import { isMusterError } from '../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'
import type { UntypedObject } from '../kube/object.ts'
import { type Field, type Message, messageNamed, messageOfKind } from '../kube/protobuf/table.ts'
import { storedQuantity } from '../kube/quantity.ts'
import { badRequest } from './refusal.ts'

/** A custom object, or one of a kind that is not in the table, stays as it is. */
export function structForm(object: UntypedObject): UntypedObject {
  const { apiVersion, kind } = object
  const message = messageOfKind(apiVersion, kind)
  if (!message) return object
  try {
    const members = structOf(object as unknown as JsonObject, message)
    return { apiVersion, kind, ...members } as unknown as UntypedObject
  } catch (error) {
    if (!isMusterError(error, 'InvalidQuantity')) throw error
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${quantityRule}`)
  }
}

const quantityRule = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

/** What a member is before anybody wrote to it: the `status` of a new StatefulSet. */
export function zeroOf(apiVersion: string, kind: string, member: string): Json | undefined {
  const field = messageOfKind(apiVersion, kind)?.fields.find(({ name }) => name === member)
  return field && memberOf(undefined, field)
}

function structOf(source: JsonObject, message: Message): JsonObject {
  const members: { [name: string]: Json } = {}
  for (const field of message.fields) {
    if (field.name === '') {
      Object.assign(members, structOf(source, messageNamed(field.type)))
      continue
    }
    const member = memberOf(ownMember(source, field.name) ?? undefined, field)
    if (member !== undefined) members[field.name] = member
  }
  return members
}

/** Undefined: it is left out. */
function memberOf(value: Json | undefined, field: Field): Json | undefined {
  if (field.many === 'list') {
    if (isJsonArray(value) && value.length > 0) return value.map((item) => itemOf(item, field))
    // What is empty is stored as nothing.
    return value === undefined || isJsonArray(value) ? (field.always ? null : undefined) : value
  }
  if (field.many === 'map') {
    if (isJsonObject(value) && Object.keys(value).length > 0) return mapOf(value, field)
    return value === undefined || isJsonObject(value) ? (field.always ? null : undefined) : value
  }
  if (value === undefined && (field.pointer || field.special === 'time' || field.special === 'microtime')) {
    return field.always ? null : undefined
  }
  if (value === undefined && !field.always) return undefined
  const form = itemOf(value, field)
  return field.pointer || field.always || !isZero(form) ? form : undefined
}

function isZero(value: Json): boolean {
  return value === '' || value === 0 || value === false
}

/** Go writes maps in the order of their keys. */
function mapOf(value: JsonObject, field: Field): JsonObject {
  const keys = Object.keys(value).toSorted()
  return Object.fromEntries(keys.map((key) => [key, itemOf(value[key], field)]))
}

const zeroScalars = { string: '', bytes: null, bool: false, int32: 0, int64: 0, double: 0 } as const

function itemOf(value: Json | undefined, { scalar, special, type }: Field): Json {
  if (scalar) return value ?? zeroScalars[scalar]
  if (special === 'quantity') {
    return storedQuantity(
      typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? value : 0,
    )
  }
  if (special === 'time') return typeof value === 'string' ? wholeSeconds(value) : (value ?? null)
  if (special === 'intorstring') return value ?? 0
  if (special) return value ?? null
  const message = messageNamed(type)
  if (message.unwrapped) return memberOf(value, { ...message.fields[0]!, always: false }) ?? null
  return value === undefined || value === null
    ? structOf({}, message)
    : isJsonObject(value)
      ? structOf(value, message)
      : value
}

/** Times are written in UTC, without fractions of seconds. */
function wholeSeconds(time: string): string {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time)) return time
  const instant = Date.parse(time)
  return Number.isNaN(instant) ? time : `${new Date(instant).toISOString().slice(0, 19)}Z`
}
