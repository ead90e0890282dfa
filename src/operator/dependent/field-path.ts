/**
 * A path to a field: `spec.replicas`, `metadata.annotations["example.com/size"]`,
 * `spec.template.spec.containers[name=app].image`. An item of a list is selected by one of its members.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'

type Part = { readonly member: string } | { readonly key: string; readonly value: string }

export type FieldPath = readonly Part[]

// Ledgers quote the value of a key; authors need not.
const partPattern =
  /\.?([A-Za-z_][\w-]*)|\[("(?:[^"\\]|\\.)*")\]|\[([A-Za-z_][\w-]*)=(?:("(?:[^"\\]|\\.)*")|([^\]"]*))\]/y

/** @throws InvalidFieldPath */
export function parseFieldPath(text: string): FieldPath {
  const parts: Part[] = []
  partPattern.lastIndex = 0
  while (partPattern.lastIndex < text.length) {
    const at = partPattern.lastIndex
    const [, plain, member, key, quoted, value] = partPattern.exec(text) ?? fault(text, at)
    if (key === undefined) parts.push({ member: plain ?? unquoted(member!, text, at) })
    else parts.push({ key, value: value ?? unquoted(quoted!, text, at) })
  }
  return parts.length > 0 ? parts : fault(text, 0)
}

function unquoted(quoted: string, text: string, at: number): string {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return fault(text, at)
  }
}

function fault(text: string, at: number): never {
  const why = text === '' ? 'It is empty.' : `It cannot be read from character ${at + 1} on.`
  throw new MusterError(operatorErrors.InvalidFieldPath, `"${text}" is no path to a field. ${why}`)
}

/** Whether the path part selects this item. */
export function isItem(item: Json, { key, value }: { readonly key: string; readonly value: string }): boolean {
  const found = isJsonObject(item) ? ownMember(item, key) : undefined
  return (typeof found === 'string' || typeof found === 'number') && String(found) === value
}
