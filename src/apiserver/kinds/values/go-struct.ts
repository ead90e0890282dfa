/**
 * How the real server prints its own structs in error messages that show more than a single value: with Go's field
 * names, in their order, including empty fields.
 *
 * `go-structs.json` (from `scripts/generate-go-structs.ts`) has a line for each struct, and in it for each field its Go
 * name, its JSON name and its type; `~ ~ Type` is an embedded struct.
 */
import { createRequire } from 'node:module'
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { isJsonArray, ownMember } from '../../../kube/json-member.ts'

const load = createRequire(import.meta.url)
let table: Readonly<Record<string, string>> | undefined

/** A value as the server's struct `name`. */
export function goStruct(value: unknown, name: string): JsonObject {
  return shownStruct((value ?? {}) as JsonObject, name)
}

function shownStruct(value: JsonObject, name: string): JsonObject {
  table ??= load('./go-structs.json') as Readonly<Record<string, string>>
  const shown: { [member: string]: Json } = {}
  for (const field of (table[name] ?? '').split(';')) {
    const [goName = '', jsonName = '', type = ''] = field.split(' ')
    if (goName !== '~') shown[goName] = shownValue(ownMember(value, jsonName) ?? undefined, type)
    // The internal metadata struct uses JSON names as well.
    else Object.assign(shown, type === 'json' ? ownMember(value, 'metadata') : shownStruct(value, type))
  }
  return shown
}

const zeros: Readonly<Record<string, Json>> = {
  string: '',
  number: 0,
  bool: false,
  quantity: '0',
  time: null,
  json: null,
}

function shownValue(value: Json | undefined, type: string): Json {
  if (type.startsWith('*')) return value === undefined ? null : shownValue(value, type.slice(1))
  if (type.startsWith('[]')) return isJsonArray(value) ? value.map((item) => shownValue(item, type.slice(2))) : null
  if (type.startsWith('{}')) return isJsonObject(value) ? value : null
  const zero = zeros[type]
  return zero === undefined ? shownStruct(isJsonObject(value) ? value : {}, type) : (value ?? zero)
}
