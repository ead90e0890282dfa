/** Formats values as YAML on one line: as JSON, without quotes where they are not needed. */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'

export function scalar(value: Json): string {
  if (typeof value === 'string') return quoted(value)
  if (isJsonArray(value)) return `[${value.map(scalar).join(', ')}]`
  if (!isJsonObject(value)) return String(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${scalar(member!)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

const plain = /^(?:[A-Za-z][\w./-]*|\d+(?:ms|s|m|h|Mi|Gi))$/
const meaningful = /^(?:y|yes|n|no|on|off|true|false|null|nan|inf)$/i

/** A key, or a string value. */
export function quoted(text: string): string {
  return plain.test(text) && !meaningful.test(text) ? text : JSON.stringify(text)
}
