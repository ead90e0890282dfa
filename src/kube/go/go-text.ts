/**
 * Values as Go prints them. Messages of an API server quote invalid values in Go's format: text with Go's escapes, numbers with
 * its exponents, objects as its JSON (keys sorted, angle brackets escaped).
 */
import { isJsonObject, type Json } from '../json.ts'
import { isJsonArray } from '../json-member.ts'

const escapes: ReadonlyMap<string, string> = new Map([
  ['\u{7}', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
])

/** `%q`: in double quotes, with non-printable characters escaped. */
export function quoteGo(text: string): string {
  // Printable ASCII without quotes and backslashes.
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`
  let quoted = '"'
  for (const character of text) {
    const escape = escapes.get(character)
    const code = character.codePointAt(0)!
    if (escape !== undefined) quoted += escape
    else if (code < 0x20 || code === 0x7f) quoted += `\\x${code.toString(16).padStart(2, '0')}`
    else if (/[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(character) || character === ' ') quoted += character
    else
      quoted += code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  }
  return `${quoted}"`
}

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

/** `%v`: the shortest digits; with an exponent below 1e-4, and from a million on. */
export function formatGoFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power < -4 || power >= 6) {
    return `${mantissa}e${power < 0 ? '-' : '+'}${Math.abs(power).toString().padStart(2, '0')}`
  }
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace(/[-.]/g, '')
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`
  const whole = digits.slice(0, power + 1).padEnd(power + 1, '0')
  const fraction = digits.slice(power + 1)
  return sign + whole + (fraction === '' ? '' : `.${fraction}`)
}

/** As many digits as JavaScript writes exactly. */
const mostDigits = 100

/** `%f`. `toFixed` is limited to 100 digits and 1e21. */
export function formatGoFixed(value: number, precision: number): string {
  if (Object.is(value, -0)) return `-${formatGoFixed(0, precision)}`
  if (Math.abs(value) >= 1e21) {
    return BigInt(value).toString() + (precision > 0 ? `.${'0'.repeat(precision)}` : '')
  }
  if (precision < mostDigits) {
    // Go rounds halves to even, JavaScript away from zero.
    const exact = value.toFixed(mostDigits)
    const end = exact.indexOf('.') + 1 + precision
    const even = exact.slice(0, precision === 0 ? end - 1 : end)
    if (/^50*$/.test(exact.slice(end)) && /[02468]$/.test(even)) return even
  }
  return precision <= mostDigits
    ? value.toFixed(precision)
    : value.toFixed(mostDigits) + '0'.repeat(precision - mostDigits)
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
