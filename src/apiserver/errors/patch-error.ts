/**
 * The error for a patch whose result is not a valid object of its kind. kube-apiserver quotes a strategic merge patch
 * as the Go map it was decoded into, and any other patch by its result, as JSON with sorted fields.
 */
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { invalidField as invalidValue } from '../../kube/validation/field-error.ts'
import { invalid, type StatusError } from './status-error.ts'

export function patchRefusal(change: Json, outcome: JsonObject, isStrategic: boolean, why: string): StatusError {
  const shown = isStrategic ? printed(change) : stringifyJson(sorted(outcome))
  // The result of a strategic merge patch is not decoded from text, so its errors have other messages.
  const type = isStrategic ? /^json: cannot unmarshal .* of type (int32|int64|bool|string)$/.exec(why)?.[1] : undefined
  const fallible = why.startsWith('illegal base64') && isStrategic ? `error decoding from json: ${why}` : why
  const reason = type === undefined ? fallible : `unrecognized type: ${type}`
  return invalid({ group: '', kind: '' }, '', [invalidValue('patch', shown, reason)])
}

function printed(value: Json | undefined): string {
  if (value === null || value === undefined) return '<nil>'
  if (isJsonArray(value)) return `[${value.map(printed).join(' ')}]`
  if (!isJsonObject(value)) return String(value)
  // The merge has already removed the nulls from the map.
  const kept = sortedMembers(value).filter(([, member]) => member !== null)
  const members = kept.map(([key, member]) => `${key}:${printed(member)}`)
  return `map[${members.join(' ')}]`
}

function sorted(value: Json): Json {
  if (isJsonArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(sortedMembers(value).map(([key, member]) => [key, sorted(member)]))
}

function sortedMembers(value: JsonObject): [string, Json][] {
  const members = Object.entries(value).filter((member): member is [string, Json] => member[1] !== undefined)
  return members.toSorted(([a], [b]) => (a < b ? -1 : 1))
}
