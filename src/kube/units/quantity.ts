/**
 * Resource quantities: `100m` of a CPU, `1.5Gi` of memory.
 *
 * A quantity is an exact decimal number, never a floating-point one, with the suffix format it was written in. The format is
 * kept by arithmetic and decides how the result is written: `1Gi` plus `512Mi` is `1536Mi`. The smallest unit is nano;
 * anything smaller is rounded up (away from zero), so that a request never becomes zero.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'

/** `12Mi`, `12M`, or `12e6`. */
type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

/** The number `mantissa` × 10^`exponent`. The mantissa does not end in a zero, so equal numbers have equal fields. */
export interface Quantity {
  readonly mantissa: bigint
  readonly exponent: number
  readonly format: QuantityFormat
}

const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
/** By exponent / 3, from nano on. */
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const finest = -9

/** The server's maximum with a binary suffix; the other formats have no limit. */
const binaryLimit = 2n ** 63n - 1n

/** The number `mantissa` × 10^`exponent`: `makeQuantity(1500, { exponent: -3 })` is `1500m`. */
export function makeQuantity(
  mantissa: bigint | number,
  options: { readonly exponent?: number; readonly format?: QuantityFormat } = {},
): Quantity {
  return roundUp(normal(BigInt(mantissa), options.exponent ?? 0, options.format ?? 'DecimalSI'), finest)
}

/**
 * Parses whatever an API server accepts: text with a suffix or an exponent, and JSON numbers.
 * @throws InvalidQuantity
 */
export function parseQuantity(source: string | number | bigint): Quantity {
  return read(String(source)).quantity
}

/**
 * The form that the server returns for a given quantity. Usually canonical; but short texts that need no conversion are kept:
 * `1.500`, `+1`, `1E3`.
 */
export function storedQuantity(source: string | number | bigint): string {
  const { text, quantity, isKept } = read(String(source))
  return isKept ? text : formatQuantity(quantity)
}

/** Surrounded only by white space that JSON allows unescaped in a string. Unambiguous for the regular expression engine. */
const quantityPattern =
  /^[\p{Z}\u{85}]*(?<text>(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<fraction>\d*))?(?<suffix>[a-zA-Z][-+\w]*)?)(?<end>[^]*)$/u

const onlySpace = /^[\p{Z}\u{85}]*$/u

/** Limit of digits: the cost of arithmetic grows faster than their number. */
const mostWritten = 10_000

function read(source: string): { readonly text: string; readonly quantity: Quantity; readonly isKept: boolean } {
  const parts = quantityPattern.exec(source)?.groups ?? {}
  const { text = '', sign = '', whole = '', fraction = '', suffix = '', end = '' } = parts
  const scale = text === '' || !onlySpace.test(end) ? undefined : readSuffix(suffix)
  const digits = (whole.replace(/^0+/, '') || '0') + fraction
  if (digits.length > mostWritten) throw new MusterError(kubeErrors.InvalidQuantity, 'a quantity has too many digits.')
  // A text without digits is zero on the fast path of the server ("k", "."), and rejected otherwise ("Pi").
  if (!scale || (whole + fraction === '' && !isShort(digits, fraction, scale))) {
    throw new MusterError(kubeErrors.InvalidQuantity, `"${source}" is not a quantity.`)
  }
  const exact = normal(BigInt(digits) << BigInt(scale.power2), scale.power10 - fraction.length, scale.format)
  const magnitude = scale.format === 'BinarySI' ? fitBinary(exact) : roundUp(exact, finest)
  return {
    text,
    quantity: sign === '-' ? negateQuantity(magnitude) : magnitude,
    isKept: isKeptAsWritten(digits, fraction, scale),
  }
}

function fitBinary(magnitude: Quantity): Quantity {
  if (isBeyond(magnitude, binaryLimit)) return makeQuantity(binaryLimit, { format: 'BinarySI' })
  const rounded = roundUp(magnitude, finest)
  // A fraction of a byte: only decimal suffixes can express it.
  const isPart = rounded.exponent < 0 && !isBeyond(rounded, 1n)
  return isPart ? { ...rounded, format: 'DecimalSI' } : rounded
}

interface Scale {
  readonly power2: number
  readonly power10: number
  readonly format: QuantityFormat
}

function readSuffix(suffix: string): Scale | undefined {
  const decimal = decimalSuffixes.indexOf(suffix)
  if (decimal >= 0) return { power2: 0, power10: decimal * 3 + finest, format: 'DecimalSI' }
  const binary = binarySuffixes.indexOf(suffix)
  if (binary > 0) return { power2: binary * 10, power10: 0, format: 'BinarySI' }
  if (!/^[eE][+-]?\d+$/.test(suffix)) return undefined
  // Nineteen digits are 64 bits; leading zeros do not count.
  const digits = suffix
    .slice(1)
    .replace('+', '')
    .replace(/^(-?)0+(?=\d)/, '$1')
  if (digits.length > 20) return undefined
  const exponent = BigInt(digits)
  if (BigInt.asIntN(64, exponent) !== exponent) return undefined
  // The server truncates it to 32 bits.
  return { power2: 0, power10: Number(BigInt.asIntN(32, exponent)), format: 'DecimalExponent' }
}

/** The numbers for which the server uses a 64-bit integer. */
function isShort(digits: string, fraction: string, { power2, power10, format }: Scale): boolean {
  if (format === 'BinarySI') return fraction === '' && digits.length + Math.trunc((power2 * 3) / 10) <= 14
  return digits.length <= 18 && power10 - fraction.length >= finest
}

/** The rule by which the server accepts a short text as canonical. */
function isKeptAsWritten(digits: string, fraction: string, scale: Scale): boolean {
  if (!isShort(digits, fraction, scale)) return false
  if (scale.format === 'BinarySI') return Number(digits) % 8 !== 0
  return (scale.power10 - fraction.length) % 3 === 0 && !digits.startsWith('0') && !digits.endsWith('000')
}

/** The canonical text: no fraction, the largest lossless suffix, the format kept where possible. */
export function formatQuantity(quantity: Quantity): string {
  const { mantissa, exponent, format } = quantity
  // Below 1Ki, or with a fraction, a binary suffix is useless or wrong.
  if (format === 'BinarySI' && exponent >= 0 && isBeyond(quantity, 1023n)) {
    return formatBinary(mantissa * 10n ** BigInt(exponent))
  }
  // Exponents are multiples of three, and suffixes end at E: 10^21 is 1000E.
  const third = Math.floor(exponent / 3)
  const step = format === 'DecimalExponent' ? third : Math.min(third, 6)
  const digits = `${mantissa}${'0'.repeat(steps(exponent - step * 3))}`
  if (format !== 'DecimalExponent') return digits + decimalSuffixes[step + 3]
  return step === 0 ? digits : `${digits}e${step * 3}`
}

function formatBinary(integer: bigint): string {
  let rest = integer
  let step = 0
  while (rest % 1024n === 0n && step < binarySuffixes.length - 1) {
    rest /= 1024n
    step++
  }
  return `${rest}${binarySuffixes[step]}`
}

/** −1, 0 or 1. The format does not matter: `1Ki` equals `1024`. */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  const sign = signOfQuantity(a)
  if (sign !== signOfQuantity(b)) return sign < signOfQuantity(b) ? -1 : 1
  // Numbers of different length need no arithmetic: 1e1000000 is compared at once.
  const order = Math.sign(lengthOf(a) - lengthOf(b)) * sign
  if (order !== 0) return order < 0 ? -1 : 1
  const [left, right] = align(a, b)
  return left < right ? -1 : left > right ? 1 : 0
}

export function equalQuantities(a: Quantity, b: Quantity): boolean {
  return a.mantissa === b.mantissa && a.exponent === b.exponent
}

/** The format is that of `a`, unless `a` is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  if (b.mantissa === 0n && a.mantissa !== 0n) return a
  if (a.mantissa === 0n) return b
  const [left, right] = align(a, b)
  return normal(left + right, Math.min(a.exponent, b.exponent), a.format)
}

/** The format is that of `a`, unless `a` is zero. */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return addQuantities(a, negateQuantity(b))
}

export function negateQuantity(quantity: Quantity): Quantity {
  return { ...quantity, mantissa: -quantity.mantissa }
}

export function isZeroQuantity(quantity: Quantity): boolean {
  return quantity.mantissa === 0n
}

export function signOfQuantity({ mantissa }: Quantity): -1 | 0 | 1 {
  return mantissa < 0n ? -1 : mantissa > 0n ? 1 : 0
}

/** The nearest floating-point number: lossy, for ratios and charts, never for decisions. */
export function quantityToNumber({ mantissa, exponent }: Quantity): number {
  return Number(`${mantissa}e${exponent}`)
}

/** Whole units, rounded up (away from zero). */
export function quantityToInteger(quantity: Quantity): bigint {
  return quantityToScale(quantity, 0)
}

/** Thousandths, rounded up (away from zero): `1.5` of a CPU is 1500. */
export function quantityToMilli(quantity: Quantity): bigint {
  return quantityToScale(quantity, -3)
}

function quantityToScale(quantity: Quantity, scale: number): bigint {
  const { mantissa, exponent } = roundUp(quantity, scale)
  return mantissa * 10n ** BigInt(steps(exponent - scale))
}

/** Away from zero to a multiple of 10^`scale`. */
function roundUp(quantity: Quantity, scale: number): Quantity {
  const { mantissa, exponent, format } = quantity
  if (exponent >= scale) return quantity
  // More digits are cut off than exist: one unit remains, however small the number was.
  if (lengthOf(quantity) <= scale) return normal(mantissa < 0n ? -1n : 1n, scale, format)
  const divisor = 10n ** BigInt(scale - exponent)
  // The mantissa does not end in a zero, so something is always cut off.
  const step = mantissa < 0n ? -1n : 1n
  return normal(mantissa / divisor + step, scale, format)
}

/** Greater than `limit`, ignoring the sign. */
function isBeyond(quantity: Quantity, limit: bigint): boolean {
  const magnitude = quantity.mantissa < 0n ? negateQuantity(quantity) : quantity
  return compareQuantities(magnitude, makeQuantity(limit)) > 0
}

/** Digits before the decimal point; zero or less if the first digit comes after it. */
function lengthOf({ mantissa, exponent }: Quantity): number {
  const digits = (mantissa < 0n ? -mantissa : mantissa).toString()
  return digits.length + exponent
}

/** Both mantissas at the smaller of the two exponents. */
function align(a: Quantity, b: Quantity): readonly [bigint, bigint] {
  const exponent = Math.min(a.exponent, b.exponent)
  return [
    a.mantissa * 10n ** BigInt(steps(a.exponent - exponent)),
    b.mantissa * 10n ** BigInt(steps(b.exponent - exponent)),
  ]
}

/** A few characters, `1e999999999`, must not cost gigabytes. */
const mostDigits = 100_000

function steps(count: number): number {
  if (count > mostDigits)
    throw new MusterError(kubeErrors.InvalidQuantity, `A quantity of ${count} digits is too large to compute with.`)
  return count
}

function normal(mantissa: bigint, exponent: number, format: QuantityFormat): Quantity {
  if (mantissa === 0n) return { mantissa, exponent: 0, format }
  const digits = mantissa.toString()
  let zeros = 0
  while (digits.at(-1 - zeros) === '0') zeros++
  if (zeros === 0) return { mantissa, exponent, format }
  return { mantissa: BigInt(digits.slice(0, digits.length - zeros)), exponent: exponent + zeros, format }
}
