/**
 * Values as Go prints them. Messages of an API server quote invalid values in Go's format: text with Go's escapes, numbers with
 * its exponents, objects as its JSON (keys sorted, angle brackets escaped).
 */
import { goQuote } from './cel/go-text.ts'
import { isJsonObject, type Json } from './json.ts'
import { isJsonArray } from './json-member.ts'

/** Text in quotes, as `%q` writes it. */
export const quoteGo: (text: string) => string = goQuote

const int64Limit = 2 ** 63

/** Whether Go would decode this number as an integer. */
export function isGoInteger(value: number | bigint): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value
  return Number.isInteger(value) && value >= -int64Limit && value < int64Limit
}

/** A number as `%v` writes it: integers in full, others with an exponent from a million on. */
export function formatGoNumber(value: number | bigint): string {
  return isGoInteger(value) ? String(typeof value === 'number' ? BigInt(value) : value) : formatGoFloat(Number(value))
}

/** A float64 as `%v` writes it. */
export function formatGoFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** A JSON value as Go's encoder writes it. */
export function formatGoJson(value: Json): string {
  if (typeof value === 'string') {
    return JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, (character) => {
      return String.raw`\u${character.codePointAt(0)!.toString(16).padStart(4, '0')}`
    })
  }
  if (isJsonArray(value)) return `[${value.map(formatGoJson).join(',')}]`
  if (!isJsonObject(value)) return String(value)
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .toSorted()
    .map((name) => `${formatGoJson(name)}:${formatGoJson(value[name]!)}`)
  return `{${members.join(',')}}`
}

/** A value as a message shows it. */
export function formatGoValue(value: Json): string {
  if (typeof value === 'string') return quoteGo(value)
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  return formatGoJson(value)
}
