/**
 * JSON as the API server writes and sorts it. managedFields hold list keys as JSON text inside of a JSON key, and sort
 * everything: to produce the server's bytes, text and order must be the same (UTF-8 order, HTML-safe strings).
 */
import type { Json, JsonObject } from '../json.ts'

/** Orders text by its UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const shared = Math.min(a.length, b.length)
  for (let at = 0; at < shared; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return utf8Rank(left) - utf8Rank(right)
  }
  return a.length - b.length
}

/** UTF-16 puts surrogates (characters beyond U+FFFF) below U+E000; in UTF-8 they come last. */
function utf8Rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Orders any two JSON values: numbers, strings, booleans, lists, maps, null. */
export function compareJson(a: Json, b: Json): number {
  const rank = rankOf(a)
  const difference = rank - rankOf(b)
  if (difference !== 0) return difference
  if (rank === 0) return Number((a as number) > (b as number)) - Number((a as number) < (b as number))
  if (rank === 1) return compareText(a as string, b as string)
  if (rank === 2) return Number(a) - Number(b)
  if (rank === 3) return compareLists(a as readonly Json[], b as readonly Json[])
  if (rank === 4) return compareMaps(a as JsonObject, b as JsonObject)
  return 0
}

function rankOf(value: Json): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0
  if (typeof value === 'string') return 1
  if (typeof value === 'boolean') return 2
  if (value === null) return 5
  return Array.isArray(value) ? 3 : 4
}

function compareLists(a: readonly Json[], b: readonly Json[]): number {
  const shared = Math.min(a.length, b.length)
  for (let at = 0; at < shared; at++) {
    const order = compareJson(a[at] as Json, b[at] as Json)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function compareMaps(a: JsonObject, b: JsonObject): number {
  const left = sortedKeys(a)
  const right = sortedKeys(b)
  const shared = Math.min(left.length, right.length)
  for (let at = 0; at < shared; at++) {
    // The map without the smaller key is the greater one.
    const key = compareText(left[at] as string, right[at] as string)
    if (key !== 0) return key
    const order = compareJson(a[left[at] as string] as Json, b[right[at] as string] as Json)
    if (order !== 0) return order
  }
  return left.length - right.length
}

function sortedKeys(map: JsonObject): readonly string[] {
  const keys = Object.keys(map)
  let isWhole = true
  let isSorted = true
  for (let at = 0; at < keys.length; at++) {
    isWhole &&= map[keys[at]!] !== undefined
    isSorted &&= at === 0 || compareText(keys[at - 1]!, keys[at]!) <= 0
  }
  // Most maps are already sorted and have no undefined members.
  const named = isWhole ? keys : keys.filter((key) => map[key] !== undefined)
  return isSorted ? named : named.toSorted(compareText)
}

/** Compact JSON with sorted keys and HTML-safe strings. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return String(value)
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) text += `${text === '' ? '' : ','}${canonicalJson(item)}`
    return `[${text}]`
  }
  const map = value as JsonObject
  for (const key of sortedKeys(map)) {
    text += `${text === '' ? '' : ','}${quote(key)}:${canonicalJson(map[key] as Json)}`
  }
  return `{${text}}`
}

/** Characters that must be escaped in a string: quotes, control characters, and those special in HTML. */
// oxlint-disable-next-line no-control-regex
const unsafe = /["\\<>&\u0000-\u001f\u2028\u2029]/
const everyUnsafe = new RegExp(unsafe, 'g')

function quote(text: string): string {
  return unsafe.test(text) ? `"${text.replaceAll(everyUnsafe, escapeCharacter)}"` : `"${text}"`
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

function escapeCharacter(character: string): string {
  return shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
