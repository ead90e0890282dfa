/**
 * Timestamps and durations: parsing, formatting, arithmetic and calendar. Years 1 to 9999 and 64-bit nanoseconds, as in Go; a
 * timestamp is formatted in the zone it was parsed with, and evaluated in UTC unless a zone is given.
 */
import { kubeErrors } from '../../errors.ts'
import { isMusterError } from '../../muster-error.ts'
import { parseDuration } from '../../units/duration.ts'
import { trimEnd } from '../../text/trim-end.ts'
import { CelRuntimeError } from './error.ts'
import { checkedInt } from './integer.ts'
import { CelDuration, CelTimestamp } from './value.ts'

const firstSecond = -62_135_596_800
const lastSecond = 253_402_300_799
const perSecond = 1_000_000_000n

const timestampOverflow = (): CelRuntimeError => new CelRuntimeError('timestamp overflow')

export function timestampOfSeconds(seconds: number | bigint): CelTimestamp {
  if (seconds < firstSecond || seconds > lastSecond) throw timestampOverflow()
  return new CelTimestamp(Number(seconds), 0)
}

const pattern = /^(\d{4}-\d\d-\d\d)T(\d\d?:\d\d:\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

/** RFC 3339 as Go parses it; undefined if invalid. */
export function parseTimestamp(text: string): CelTimestamp | undefined {
  const [, date, time = '', fraction = '', sign, hours = '0', minutes = '0'] = pattern.exec(text) ?? []
  if (date === undefined || Number(hours) > 24 || Number(minutes) > 60) return undefined
  const clock = `${date}T${time.padStart(8, '0')}`
  const local = secondsOf(clock)
  if (local === undefined) return undefined
  const zone = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1)
  const seconds = local - zone * 60
  if (seconds < firstSecond || seconds > lastSecond) throw timestampOverflow()
  return new CelTimestamp(seconds, Number(fraction.slice(0, 9).padEnd(9, '0')), zone + 0)
}

/** `2026-01-31`; undefined if there is no such day. */
export function parseDate(text: string): CelTimestamp | undefined {
  const seconds = /^\d{4}-\d\d-\d\d$/.test(text) ? secondsOf(`${text}T00:00:00`) : undefined
  return seconds === undefined ? undefined : new CelTimestamp(seconds, 0)
}

/** `Date` accepts February 31 as March 3 and 24:00 as the next day; Go rejects them. */
function secondsOf(clock: string): number | undefined {
  const ms = Date.parse(`${clock}Z`)
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(clock) ? undefined : ms / 1000
}

export function formatTimestamp({ seconds, nanos, zoneMinutes }: CelTimestamp): string {
  const clock = new Date((seconds + zoneMinutes * 60) * 1000).toISOString().slice(0, -5)
  const fraction = nanos === 0 ? '' : `.${trimEnd(nanos.toString().padStart(9, '0'), '0')}`
  return `${clock}${fraction}${zoneText(zoneMinutes)}`
}

function zoneText(minutes: number): string {
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  const two = (number: number): string => number.toString().padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${two(Math.trunc(size / 60))}:${two(size % 60)}`
}

/** Go's notation; undefined if invalid. */
export function parseCelDuration(text: string): CelDuration | undefined {
  try {
    return new CelDuration(parseDuration(text))
  } catch (error) {
    if (isMusterError(error, kubeErrors.InvalidDuration)) return undefined
    throw error
  }
}

/** Seconds as a decimal number: `5400s`, `0.25s`. With the digits of a double, as in the server. */
export function formatCelDuration({ nanos }: CelDuration): string {
  return `${plainDecimal(durationSeconds(nanos))}s`
}

function durationSeconds(nanos: bigint): number {
  return Number(nanos / perSecond) + Number(nanos % perSecond) / 1e9
}

/** A double in digits, without an exponent. */
function plainDecimal(value: number): string {
  const text = value.toString()
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text) ?? []
  if (exponent === undefined) return text
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  return sign + digits.padEnd(point, '0')
}

export function addDurations(a: CelDuration, b: CelDuration): CelDuration {
  return new CelDuration(BigInt(checkedInt(a.nanos + b.nanos)))
}

export function negateDuration(a: CelDuration): CelDuration {
  return new CelDuration(BigInt(checkedInt(-a.nanos)))
}

export function moveTimestamp(time: CelTimestamp, by: bigint): CelTimestamp {
  const total = BigInt(time.seconds) * perSecond + BigInt(time.nanos) + by
  const nanos = ((total % perSecond) + perSecond) % perSecond
  const seconds = (total - nanos) / perSecond
  if (seconds < firstSecond || seconds > lastSecond) throw timestampOverflow()
  return new CelTimestamp(Number(seconds), Number(nanos), time.zoneMinutes)
}

export function timeBetween(from: CelTimestamp, to: CelTimestamp): CelDuration {
  const seconds = BigInt(checkedInt(BigInt(to.seconds - from.seconds) * perSecond))
  return new CelDuration(BigInt(checkedInt(seconds + BigInt(to.nanos - from.nanos))))
}

/** Calendar fields. Months and days count from zero, as in CEL; `date` from one. */
export interface CalendarParts {
  readonly year: number
  readonly month: number
  readonly date: number
  readonly dayOfYear: number
  readonly dayOfWeek: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
}

export function calendarOf(time: CelTimestamp, zone?: string): CalendarParts {
  const offset = zone === undefined ? 0 : zoneOffset(time, zone)
  const at = new Date((time.seconds + offset) * 1000)
  const year = at.getUTCFullYear()
  const newYear = new Date(0)
  newYear.setUTCFullYear(year, 0, 1)
  return {
    year,
    month: at.getUTCMonth(),
    date: at.getUTCDate(),
    dayOfYear: Math.floor((at.getTime() - newYear.getTime()) / 86_400_000),
    dayOfWeek: at.getUTCDay(),
    hours: at.getUTCHours(),
    minutes: at.getUTCMinutes(),
    seconds: at.getUTCSeconds(),
  }
}

/** Seconds east of UTC: `+02:00`, or a name of the time zone database. */
function zoneOffset(time: CelTimestamp, zone: string): number {
  if (!zone.includes(':')) return namedZoneOffset(time, zone)
  const hour = numberIn(zone.slice(0, zone.indexOf(':')))
  const minute = numberIn(zone.slice(zone.indexOf(':') + 1))
  return (zone.startsWith('-') ? hour * 60 - minute : hour * 60 + minute) * 60
}

function numberIn(text: string): number {
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw new CelRuntimeError(`strconv.Atoi: parsing "${text}": invalid syntax`)
}

function namedZoneOffset(time: CelTimestamp, zone: string): number {
  if (zone === '' || zone === 'UTC') return 0
  try {
    const parts = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }).formatToParts(time.seconds * 1000)
    const part = (type: string): number => Number(parts.find((found) => found.type === type)?.value)
    const local = new Date(0)
    local.setUTCFullYear(part('year'), part('month') - 1, part('day'))
    local.setUTCHours(part('hour'), part('minute'), part('second'))
    return local.getTime() / 1000 - time.seconds
  } catch (error) {
    if (error instanceof RangeError) throw new CelRuntimeError(`unknown time zone ${zone}`)
    throw error
  }
}
