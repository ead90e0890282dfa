/**
 * What a refusal quotes of a patch whose outcome is no object of its kind. A real server prints what it has at hand: of
 * a strategic patch the map it was read into, as Go prints maps; otherwise the outcome as JSON, members sorted.
 */
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { invalidField as invalidValue } from '../../kube/validation/field-error.ts'
import { invalid, type StatusError } from './status-error.ts'

export function patchRefusal(change: Json, outcome: JsonObject, isStrategic: boolean, why: string): StatusError {
  const shown = isStrategic ? printed(change) : stringifyJson(sorted(outcome))
  // A strategic patch is not decoded from text, so it fails in other words.
  const type = isStrategic ? /^json: cannot unmarshal .* of type (int32|int64|bool|string)$/.exec(why)?.[1] : undefined
  const fallible = why.startsWith('illegal base64') && isStrategic ? `error decoding from json: ${why}` : why
  const reason = type === undefined ? fallible : `unrecognized type: ${type}`
  return invalid({ group: '', kind: '' }, '', [invalidValue('patch', shown, reason)])
}

function printed(value: Json | undefined): string {
  if (value === null || value === undefined) return '<nil>'
  if (isJsonArray(value)) return `[${value.map(printed).join(' ')}]`
  if (!isJsonObject(value)) return String(value)
  // Merging has taken the nulls out of the map already.
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
