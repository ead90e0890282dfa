/**
 * JSON as Kubernetes uses it. The one difference from JavaScript's own: int64 values beyond 2^53 are preserved.
 * Such an integer is a `bigint` in a {@link Json} value; every other number is a plain `number`.
 */

export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** Text that may contain an integer too long for a double: sixteen consecutive digits, outside of what looks like a string. */
const longInteger = /(?:^|[[:,\s])-?\d{16,}/

function keepLongIntegers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = context?.source
  // Beyond the range of a double it is not a valid JSON number for any reader, and slow to parse.
  const isInteger = source !== undefined && Number.isFinite(value) && /^-?\d+$/.test(source)
  return isInteger ? BigInt(source) : value
}

function writeLongIntegers(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJson(value.toString()) : value
}

const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (this: void, text: string) => unknown }

/** Parses JSON; the slow path that preserves long integers is taken only if the text may contain one. */
export function parseJson(text: string): Json {
  return (longInteger.test(text) ? JSON.parse(text, keepLongIntegers) : JSON.parse(text)) as Json
}

export function stringifyJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent)
  } catch (error) {
    // JSON.stringify rejects a bigint; the replacer is used only then.
    if (!(error instanceof TypeError) || !error.message.includes('BigInt')) throw error
    return JSON.stringify(value, writeLongIntegers, indent)
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Deep equality of JSON values: key order does not matter, `undefined` members count as absent. */
export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    // 1n and 1 are the same JSON number.
    return (typeof a === 'bigint' || typeof b === 'bigint') && isNumeric(a) && isNumeric(b) && a == b
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((item: Json, index) => equalJson(item, b[index] as Json))
  }
  return equalMembers(a as JsonObject, b as JsonObject)
}

function equalMembers(left: JsonObject, right: JsonObject): boolean {
  let surplus = 0
  for (const key of Object.keys(left)) {
    if (left[key] === undefined) continue
    if (!Object.hasOwn(right, key) || !equalJson(left[key], right[key])) return false
    surplus++
  }
  for (const key of Object.keys(right)) if (right[key] !== undefined) surplus--
  return surplus === 0
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
