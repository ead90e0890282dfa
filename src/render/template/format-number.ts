/** Numbers as Go's `fmt` prints them: verbs, precision, signs and padding. */
import { formatGoFixed } from '../../kube/go/go-text.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'

/** What stands between `%` and the verb. */
export interface FormatFlags {
  readonly plus: boolean
  readonly minus: boolean
  readonly sharp: boolean
  readonly space: boolean
  readonly zero: boolean
  readonly width: number | undefined
  readonly precision: number | undefined
  /** `%+v`: names of fields. */
  readonly plusV: boolean
  /** `%#v`: Go syntax. */
  readonly sharpV: boolean
}

export const noFlags: FormatFlags = {
  plus: false,
  minus: false,
  sharp: false,
  space: false,
  zero: false,
  width: undefined,
  precision: undefined,
  plusV: false,
  sharpV: false,
}

/** Pads to the width, which counts characters. */
export function pad(text: string, flags: FormatFlags, isZero: boolean = flags.zero): string {
  if (!flags.width) return text
  let length = text.length
  for (const character of text) if (character.length > 1) length--
  const missing = flags.width - length
  if (missing <= 0) return text
  if (flags.minus) return text + ' '.repeat(missing)
  return (isZero ? '0' : ' ').repeat(missing) + text
}

export function formatInteger(value: bigint, verb: string, flags: FormatFlags): string {
  const base = { b: 2, o: 8, O: 8, x: 16, X: 16 }[verb] ?? 10
  const isNegative = value < 0n
  const magnitude = isNegative ? -value : value
  const sign = isNegative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  let precision = flags.precision ?? 0
  if (flags.precision === 0 && magnitude === 0n) return ' '.repeat(flags.width ?? 0)
  if (flags.precision === undefined && flags.zero && !flags.minus && flags.width !== undefined) {
    precision = flags.width - sign.length
  }
  let digits = magnitude.toString(base).padStart(precision, '0')
  if (verb === 'X') digits = digits.toUpperCase()
  if (flags.sharp) {
    if (base === 2) digits = `0b${digits}`
    else if (base === 8 && !digits.startsWith('0')) digits = `0${digits}`
    else if (base === 16) digits = (verb === 'X' ? '0X' : '0x') + digits
  }
  if (verb === 'O') digits = `0o${digits}`
  return pad(sign + digits, flags, false)
}

interface Decimal {
  /** Significant digits, without a point. */
  readonly digits: string
  /** Of the first digit. */
  readonly exponent: number
}

const mostDigits = 100

/** Rounded to this many digits after the first; halves to even. */
function roundedDecimal(value: number, fraction: number): Decimal {
  const exact = splitExponential(value.toExponential(mostDigits))
  const rounded = splitExponential(value.toExponential(Math.min(fraction, mostDigits)))
  const rest = exact.digits.slice(fraction + 1)
  const isTie = fraction < mostDigits && /^50*$/.test(rest)
  if (!isTie) return { ...rounded, digits: rounded.digits.padEnd(fraction + 1, '0') }
  const isEven = Number(exact.digits[fraction]) % 2 === 0
  return isEven ? { digits: exact.digits.slice(0, fraction + 1), exponent: exact.exponent } : rounded
}

function splitExponential(text: string): Decimal {
  const [mantissa = '', exponent = '0'] = text.split('e')
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) }
}

function exponential({ digits, exponent }: Decimal, letter: string): string {
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
  const power = String(Math.abs(exponent)).padStart(2, '0')
  return `${digits[0]}${fraction}${letter}${exponent < 0 ? '-' : '+'}${power}`
}

/** A positive number in the notation of a verb; without precision, as few digits as identify it. */
function unsignedFloat(value: number, verb: string, precision: number | undefined): string {
  if (verb === 'x' || verb === 'X' || verb === 'b') return binaryFloat(value, verb, precision)
  if (verb === 'f') return formatGoFixed(value, precision ?? 6)
  if (verb === 'e' || verb === 'E') return exponential(roundedDecimal(value, precision ?? 6), verb)
  const letter = verb === 'G' ? 'E' : 'e'
  const isShortest = precision === undefined
  const most = Math.max(precision ?? 0, 1)
  let decimal = isShortest ? splitExponential(value.toExponential()) : roundedDecimal(value, most - 1)
  const digits = trimEnd(decimal.digits, '0')
  decimal = { ...decimal, digits: digits === '' ? '0' : digits }
  let limit = isShortest ? 6 : most
  if (!isShortest && limit > decimal.digits.length && decimal.digits.length > decimal.exponent) {
    limit = decimal.digits.length
  }
  if (value !== 0 && (decimal.exponent < -4 || decimal.exponent >= Math.max(limit, 0))) {
    return exponential(decimal, letter)
  }
  return positional(decimal)
}

function positional({ digits, exponent }: Decimal): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const fraction = digits.slice(exponent + 1)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** `%b` and `%x`: the mantissa and a power of two. */
function binaryFloat(value: number, verb: string, precision: number | undefined): string {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const stored = Number((bits >> 52n) & 0x7ffn)
  let mantissa = (bits & 0xfffffffffffffn) | (stored === 0 ? 0n : 1n << 52n)
  let power = (stored === 0 ? 1 : stored) - 1023
  if (verb === 'b') return `${mantissa}p${power - 52 < 0 ? '-' : '+'}${Math.abs(power - 52)}`
  if (mantissa === 0n) power = 0
  while (mantissa !== 0n && mantissa >> 52n === 0n) {
    mantissa <<= 1n
    power--
  }
  let hex = mantissa.toString(16).padStart(14, '0')
  if (precision !== undefined && precision < 13) {
    const drop = BigInt((13 - precision) * 4)
    const half = 1n << (drop - 1n)
    const rest = mantissa & ((1n << drop) - 1n)
    let kept = mantissa >> drop
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept++
    if (kept >> BigInt(precision * 4 + 1) !== 0n) {
      kept >>= 1n
      power++
    }
    hex = kept.toString(16).padStart(precision + 1, '0')
  }
  const head = hex[0]!
  const fraction = precision === undefined ? trimEnd(hex.slice(1), '0') : hex.slice(1).padEnd(precision, '0')
  const exponent = `${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
  const text = `0x${head}${fraction === '' ? '' : `.${fraction}`}p${exponent}`
  return verb === 'X' ? text.toUpperCase() : text
}

export function formatFloat(value: number, verb: string, flags: FormatFlags): string {
  const isNegative = value < 0 || Object.is(value, -0)
  const sign = isNegative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  if (!Number.isFinite(value)) {
    if (Number.isNaN(value)) return pad(`${sign}NaN`, flags, false)
    return pad(`${isNegative ? '-' : flags.space && !flags.plus ? ' ' : '+'}Inf`, flags, false)
  }
  let text = unsignedFloat(Math.abs(value), verb, flags.precision)
  if (flags.sharp && verb !== 'b') text = withPoint(text, verb, flags.precision)
  if (flags.zero && !flags.minus && flags.width !== undefined) {
    return sign + text.padStart(flags.width - sign.length, '0')
  }
  return pad(sign + text, flags, false)
}

/** `#`: always a point, and trailing zeros for `%g`. */
function withPoint(text: string, verb: string, precision: number | undefined): string {
  // An e is a digit there.
  const exponent = text.search(verb === 'x' || verb === 'X' ? /[pP]/ : /[eEpP]/)
  const number = exponent < 0 ? text : text.slice(0, exponent)
  const tail = exponent < 0 ? '' : text.slice(exponent)
  let digits = verb === 'g' || verb === 'G' || verb === 'x' ? (precision ?? 6) : 0
  const significant = number.replace('.', '').replace(/^0+/, '')
  digits -= significant.length
  const hasPoint = number.includes('.')
  if (!hasPoint && number === '0') digits--
  return number + (hasPoint ? '' : '.') + '0'.repeat(Math.max(digits, 0)) + tail
}
