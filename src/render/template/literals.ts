/** Go's literals: numbers in all notations, quoted text, characters. */
import { quoteGo } from '../../kube/go/go-text.ts'
import { bytesText } from './text-bytes.ts'

/** A number may be used as any of the types that can hold it. */
export interface NumberLiteral {
  readonly text: string
  readonly int: bigint | undefined
  readonly uint: bigint | undefined
  readonly float: number | undefined
  readonly isComplex: boolean
}

const digitsOfBase: Readonly<Record<string, string>> = {
  x: '[0-9a-fA-F]',
  o: '[0-7]',
  b: '[01]',
  d: '[0-9]',
}

const patterns: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(digitsOfBase).map(([base, digit]) => [base, new RegExp(`^${digit}+(?:_${digit}+)*$`)]),
)

/** `strconv.ParseInt(text, 0, …)` without its range: undefined if it is not an integer. */
export function parseGoInteger(text: string): bigint | undefined {
  const isNegative = text.startsWith('-')
  let digits = /^[+-]/.test(text) ? text.slice(1) : text
  let base = 'd'
  if (/^0[xX]/.test(digits)) [base, digits] = ['x', digits.slice(2)]
  else if (/^0[oO]/.test(digits)) [base, digits] = ['o', digits.slice(2)]
  else if (/^0[bB]/.test(digits)) [base, digits] = ['b', digits.slice(2)]
  else if (/^0./.test(digits)) [base, digits] = ['o', digits.slice(1)]
  // An underscore may follow the prefix.
  if (base !== 'd' && digits.startsWith('_')) digits = digits.slice(1)
  if (!patterns.get(base)!.test(digits)) return undefined
  const plain = digits.replaceAll('_', '').replace(/^0+(?=.)/, '')
  // No 64-bit integer has more digits, and longer ones are slow to parse.
  if (plain.length > 64) return undefined
  const value = BigInt(base === 'd' ? plain : `0${base}${plain}`)
  return isNegative ? -value : value
}

export function fitsInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}

export function fitsUint64(value: bigint): boolean {
  return BigInt.asUintN(64, value) === value
}

const decimalFloat = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const hexFloat = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?\d+)$/
const underscoresBetweenDigits = /^[^_]*(?:[0-9a-fA-FxX]_[0-9a-fA-F][^_]*)*$/

/**
 * `strconv.ParseFloat`; undefined if it is not a number or too large.
 * @param isLiteral whether underscores are allowed, only with a base prefix
 */
export function parseGoFloat(text: string): number | undefined {
  const special = /^([+-]?)(?:inf|infinity)$/i.exec(text)
  if (special) return special[1] === '-' ? -Infinity : Infinity
  if (/^[+-]?nan$/i.test(text)) return Number.NaN
  let plain = text
  if (text.includes('_')) {
    if (!/^[+-]?0[xX]/.test(text) || !underscoresBetweenDigits.test(text)) return undefined
    plain = text.replaceAll('_', '')
  }
  const hex = hexFloat.exec(plain)
  if (hex) {
    const [, sign, whole = '', fraction = '', exponent] = hex
    if (whole === '' && fraction === '') return undefined
    const digits = `${whole}${fraction}`.replace(/^0+(?=.)/, '')
    if (digits.length > 300) return undefined
    const value = Number(BigInt(`0x${digits}`)) * 2 ** (Number(exponent) - 4 * fraction.length)
    return Number.isFinite(value) ? (sign === '-' ? -value : value) : undefined
  }
  if (!decimalFloat.test(plain)) return undefined
  const value = Number(plain)
  return Number.isFinite(value) ? value : undefined
}

/** @returns the literal, or what is wrong with it */
export function parseNumber(text: string, isComplexPair: boolean): NumberLiteral | string {
  if (isComplexPair || (text.endsWith('i') && parseGoFloat(text.slice(0, -1)) !== undefined)) {
    return { text, int: undefined, uint: undefined, float: undefined, isComplex: true }
  }
  const integer = parseGoInteger(text)
  if (integer !== undefined) {
    const int = fitsInt64(integer) ? integer : undefined
    const uint = fitsUint64(integer) && !/^[+-]/.test(text) ? integer : int === 0n ? 0n : undefined
    if (int !== undefined || uint !== undefined) {
      return { text, int, uint, float: Number(int ?? uint), isComplex: false }
    }
  }
  const float = parseGoFloat(text)
  if (float === undefined) return integer === undefined ? `illegal number syntax: ${quoteGo(text)}` : overflow(text)
  if (!/[.eEpP]/.test(text)) return overflow(text)
  const whole = Number.isInteger(float) ? BigInt(float) : undefined
  return {
    text,
    int: whole !== undefined && fitsInt64(whole) ? whole : undefined,
    uint: whole !== undefined && fitsUint64(whole) ? whole : undefined,
    float,
    isComplex: false,
  }
}

function overflow(text: string): string {
  return `integer overflow: ${quoteGo(text)}`
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\u{7}',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
}

/** The value of a quoted text, in double quotes or in back quotes; undefined if invalid. */
export function unquote(quoted: string): string | undefined {
  const inner = quoted.slice(1, -1)
  if (quoted.startsWith('`')) return inner.replaceAll('\r', '')
  if (!inner.includes('\\')) return inner
  const parts: (string | Buffer)[] = []
  let hasBytes = false
  let at = 0
  while (at < inner.length) {
    if (inner[at] !== '\\') {
      const next = inner.indexOf('\\', at)
      const end = next < 0 ? inner.length : next
      parts.push(inner.slice(at, end))
      at = end
      continue
    }
    const escape = readEscape(inner, at, '"')
    if (!escape) return undefined
    hasBytes ||= escape.isByte
    parts.push(escape.isByte ? Buffer.from([escape.code]) : String.fromCodePoint(escape.code))
    at = escape.end
  }
  if (!hasBytes) return parts.join('')
  return bytesText(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))))
}

interface Escape {
  readonly code: number
  /** Whether it stands for one byte rather than for a character. */
  readonly isByte: boolean
  readonly end: number
}

function readEscape(text: string, at: number, quote: string): Escape | undefined {
  const letter = text[at + 1]
  if (letter === undefined) return undefined
  const simple = simpleEscapes[letter]
  if (simple !== undefined) return { code: simple.charCodeAt(0), isByte: false, end: at + 2 }
  if (letter === quote) return { code: quote.charCodeAt(0), isByte: false, end: at + 2 }
  const length = { x: 2, u: 4, U: 8 }[letter]
  if (length !== undefined) {
    const hex = text.slice(at + 2, at + 2 + length)
    if (hex.length < length || !/^[0-9a-fA-F]+$/.test(hex)) return undefined
    const code = Number.parseInt(hex, 16)
    if (letter !== 'x' && (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))) return undefined
    return { code, isByte: letter === 'x', end: at + 2 + length }
  }
  const octal = text.slice(at + 1, at + 4)
  if (!/^[0-7]{3}$/.test(octal)) return undefined
  const code = Number.parseInt(octal, 8)
  return code > 255 ? undefined : { code, isByte: true, end: at + 4 }
}

/** A character constant such as `'a'`, as its code; or what is wrong with it. */
export function parseCharacter(text: string): NumberLiteral | string {
  const escape = text[1] === '\\' ? readEscape(text, 1, "'") : undefined
  const plain = text[1] === '\\' || text[1] === "'" ? undefined : text.codePointAt(1)
  const code = escape?.code ?? plain
  if (code === undefined) return 'invalid syntax'
  const end = escape?.end ?? 1 + String.fromCodePoint(code).length
  if (text.slice(end) !== "'") return `malformed character constant: ${text}`
  return { text, int: BigInt(code), uint: BigInt(code), float: code, isComplex: false }
}
