/**
 * A path to a field, as people write it: `spec.replicas`, `metadata.annotations["example.com/size"]`,
 * `spec.template.spec.containers[name=app].image`. An item of a list is chosen by one of its members.
 */
import { MusterError } from '../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'

type Part = { readonly member: string } | { readonly key: string; readonly value: string }

export type FieldPath = readonly Part[]

const partPattern = /\.?([A-Za-z_][\w-]*)|\["((?:[^"\\]|\\.)*)"\]|\[([A-Za-z_][\w-]*)=([^\]]*)\]/y

/** @throws InvalidFieldPath */
export function parseFieldPath(text: string): FieldPath {
  const parts: Part[] = []
  partPattern.lastIndex = 0
  while (partPattern.lastIndex < text.length) {
    const at = partPattern.lastIndex
    const [, plain, quoted, key, value] = partPattern.exec(text) ?? fault(text, at)
    parts.push(key === undefined ? { member: plain ?? (JSON.parse(`"${quoted}"`) as string) } : { key, value: value! })
  }
  return parts.length > 0 ? parts : fault(text, 0)
}

function fault(text: string, at: number): never {
  const why = text === '' ? 'It is empty.' : `It cannot be read from character ${at + 1} on.`
  throw new MusterError('InvalidFieldPath', `"${text}" is no path to a field. ${why}`)
}

export function readField(value: Json | undefined, path: FieldPath): Json | undefined {
  let found = value
  for (const part of path) found = step(found, part)
  return found
}

/** The value without that field; the same value when it has none. */
export function withoutField(value: Json, path: FieldPath): Json {
  return readField(value, path) === undefined ? value : change(value, path, undefined)
}

/** The value with that field set. Where a list has no such item, nothing changes: whoever added it took it away. */
export function withField(value: Json, path: FieldPath, field: Json): Json {
  return change(value, path, field)
}

function step(value: Json | undefined, part: Part): Json | undefined {
  if ('member' in part) return isJsonObject(value) ? ownMember(value, part.member) : undefined
  return isJsonArray(value) ? value.find((item) => isItem(item, part)) : undefined
}

function isItem(item: Json, { key, value }: { readonly key: string; readonly value: string }): boolean {
  const found = isJsonObject(item) ? ownMember(item, key) : undefined
  return (typeof found === 'string' || typeof found === 'number') && String(found) === value
}

function change(value: Json, [part, ...rest]: FieldPath, field: Json | undefined): Json {
  if (!part) return field ?? null
  if ('member' in part) {
    const object = isJsonObject(value) ? value : {}
    const below = rest.length > 0 ? change(ownMember(object, part.member) ?? {}, rest, field) : field
    return withMember(object, part.member, below)
  }
  if (!isJsonArray(value)) return value
  return value.flatMap((item) => {
    if (!isItem(item, part)) return [item]
    if (rest.length > 0) return [change(item, rest, field)]
    return field === undefined ? [] : [field]
  })
}

function withMember(object: JsonObject, name: string, value: Json | undefined): JsonObject {
  const entries = Object.entries(object).filter(([other]) => other !== name)
  return Object.fromEntries(value === undefined ? entries : [...entries, [name, value]])
}
