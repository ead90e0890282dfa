/**
 * Durations and times as Kubernetes writes them: `metav1.Duration` is Go's notation (`1h30m0s`, `250ms`), `metav1.Time` and
 * `MicroTime` are RFC 3339 in UTC.
 *
 * A duration is a `bigint` of nanoseconds, as in Go: a `number` would lose nanoseconds after 104 days, and a value that is read
 * must be written back unchanged. For timers there is {@link durationToMs}. A time is a `number` of milliseconds since the
 * epoch, as from a clock.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { trimEnd } from '../text/trim-end.ts'

/** Nanoseconds, between −2^63 and 2^63 − 1. */
export type Duration = bigint

const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['\u{b5}s', 1000n],
  ['\u{3bc}s', 1000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])

const partPattern = /(\d*)(?:\.(\d*))?([^\d.]*)/gy

/** The number of digits of 2^63. */
const mostDigits = 19

/** One more than the longest positive duration; only a negative one can have it. */
const beyondLongest = 2n ** 63n

/**
 * `90s`, `1h30m`, `-1.5h`, `.5s`, `0`.
 * @throws InvalidDuration
 */
export function parseDuration(text: string): Duration {
  const unsigned = text.replace(/^[+-]/, '')
  if (unsigned === '0') return 0n
  let total = 0n
  let end = 0
  // Text that is not a part ends the search: each character is read by one attempt.
  for (const [part, whole = '', fraction = '', unit = ''] of unsigned.matchAll(partPattern)) {
    if (unit === '') break
    const scale = units.get(unit)
    if (whole + fraction === '') throw invalid(text, `there is no number before "${unit}"`)
    if (scale === undefined) throw invalid(text, `"${unit}" is no unit`)
    if (whole.replace(/^0+/, '').length > mostDigits) throw invalid(text, 'it is too long')
    total += BigInt(whole) * scale + fractionOf(fraction, scale)
    if (total > beyondLongest) throw invalid(text, 'it is too long')
    end += part.length
  }
  const rest = unsigned.slice(end)
  if (end === 0 || rest !== '') throw invalid(text, /\d/.test(rest) ? 'a unit is missing' : 'there is no number')
  if (text.startsWith('-')) return -total
  if (total === beyondLongest) throw invalid(text, 'it is too long')
  return total
}

/** The fraction of a unit after the decimal point, truncated to nanoseconds with the rounding of Go. */
function fractionOf(digits: string, scale: bigint): bigint {
  let value = 0n
  let divisor = 1
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit)
    if (next > beyondLongest - 1n) break
    value = next
    divisor *= 10
  }
  return BigInt(Math.trunc(Number(value) * (Number(scale) / divisor)))
}

function invalid(text: string, reason: string): MusterError {
  return new MusterError(kubeErrors.InvalidDuration, `"${text}" is not a duration: ${reason}.`)
}

/** As Go writes it: `1h30m0s`, `1.5s`, `250ms`, `0s`. */
export function formatDuration(duration: Duration): string {
  const sign = duration < 0n ? '-' : ''
  const length = duration < 0n ? -duration : duration
  if (length === 0n) return '0s'
  if (length < 1000n) return `${sign}${length}ns`
  if (length < 1_000_000n) return `${sign}${decimal(length, 1000n)}\u{b5}s`
  if (length < 1_000_000_000n) return `${sign}${decimal(length, 1_000_000n)}ms`
  const minutes = length / 60_000_000_000n
  const seconds = decimal(length % 60_000_000_000n, 1_000_000_000n)
  if (minutes === 0n) return `${sign}${seconds}s`
  if (minutes < 60n) return `${sign}${minutes}m${seconds}s`
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}s`
}

/** `value` / `scale` (a power of ten) without trailing zeros. */
function decimal(value: bigint, scale: bigint): string {
  const fraction = trimEnd(((value % scale) + scale).toString().slice(1), '0')
  return `${value / scale}${fraction === '' ? '' : `.${fraction}`}`
}

export function durationToMs(duration: Duration): number {
  return Number(duration) / 1e6
}

/** `metav1.Time`: whole seconds, `2026-01-01T00:00:00Z`. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== lastSecond) {
    lastTime = countedTime(second)
    lastSecond = second
  }
  return lastTime
}

// Most times are written in the current second, many times over.
let lastSecond = Number.NaN
let lastTime = ''

/** By counting days: the first `Date` of a process loads the time zone tables, which are a megabyte. */
function countedTime(second: number): string {
  const day = Math.floor(second / 86_400)
  // From here on a year begins in March, so that the leap day is its last day.
  const sinceMarch = day + 719_468
  const era = Math.floor(sinceMarch / 146_097)
  const dayOfEra = sinceMarch - era * 146_097
  const leaps = Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leaps) / 365)
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const fromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  if (!(year >= 0 && year <= 9999)) return `${new Date(second * 1000).toISOString().slice(0, -5)}Z`
  const monthDay = dayOfYear - Math.floor((153 * fromMarch + 2) / 5) + 1
  const rest = second - day * 86_400
  const clock = `${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}:${two(rest % 60)}`
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(monthDay)}T${clock}Z`
}

function two(number: number): string {
  return number < 10 ? `0${number}` : String(number)
}

/** `metav1.MicroTime`: `2026-01-01T00:00:00.000000Z`. */
export function formatMicroTime(ms: number): string {
  const whole = Math.floor(ms)
  const micros = Math.floor((ms - whole) * 1000)
  return `${new Date(whole).toISOString().slice(0, -1)}${micros.toString().padStart(3, '0')}Z`
}

const timePattern = /^(\d{4}-\d\d-\d\d)T(\d\d?:\d\d:\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

/** Milliseconds since the epoch of an RFC 3339 time, parsed as `metav1.Time` does; undefined if it is invalid. */
export function parseTime(text: string): number | undefined {
  const [, date, time = '', fraction = '', sign, hours = '0', minutes = '0'] = timePattern.exec(text) ?? []
  const clock = `${date}T${time.padStart(8, '0')}`
  const seconds = Date.parse(`${clock}Z`)
  // `Date` accepts February 31 as March 3 and 24:00 as the next day; Kubernetes rejects them.
  if (Number.isNaN(seconds) || !new Date(seconds).toISOString().startsWith(clock)) return undefined
  if (Number(hours) > 24 || Number(minutes) > 60) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000
  return seconds + Number(fraction.padEnd(3, '0').slice(0, 3)) - (sign === '-' ? -offset : offset)
}
