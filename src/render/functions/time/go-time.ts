/** `time.Time` as templates see it: an instant with a zone, and its methods. */
import { goFunction, type GoFunction } from '../../template/function-type.ts'
import { GoInteger, GoObject, int64 } from '../../template/values.ts'
import { formatLayout, type ParsedTime, type WallTime } from './time-layout.ts'
import { zoneOffset } from './time-zones.ts'

/** The value behind a `time.Time`. */
export interface Instant {
  /** Nanoseconds since the epoch. */
  readonly nanoseconds: bigint
  /** A name of the IANA database, or a fixed offset. */
  readonly zone: string | { readonly seconds: number; readonly name: string }
}

/** Go's zero time, the first second of the year 1. */
export const zeroTime: Instant = { nanoseconds: -62_135_596_800n * 1_000_000_000n, zone: 'UTC' }

const billion = 1_000_000_000n

export function instantOf(value: GoObject): Instant {
  return value.inner as Instant
}

export function isTime(value: unknown): value is GoObject {
  return value instanceof GoObject && value.type === 'time.Time'
}

function secondsOf({ nanoseconds }: Instant): bigint {
  const seconds = nanoseconds / billion
  return nanoseconds < 0n && nanoseconds % billion !== 0n ? seconds - 1n : seconds
}

function wallTime(instant: Instant): WallTime {
  const seconds = secondsOf(instant)
  const ms = Number(seconds) * 1000
  const offset = typeof instant.zone === 'string' ? zoneOffset(instant.zone, ms) : instant.zone
  const local = new Date(ms + offset.seconds * 1000)
  const yearStart = new Date(local)
  yearStart.setUTCMonth(0, 1)
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    nanosecond: Number(instant.nanoseconds - seconds * billion),
    weekday: local.getUTCDay(),
    yearDay: Math.round((local.getTime() - yearStart.getTime()) / 86_400_000) + 1,
    zoneSeconds: offset.seconds,
    zoneName: offset.name,
  }
}

/** The instant of a parsed time; without a zone of its own, in the given one. */
export function instantFrom(time: ParsedTime, zone: string): Instant {
  const date = new Date(0)
  date.setUTCFullYear(time.year, time.month - 1, time.day)
  date.setUTCHours(time.hour, time.minute, time.second)
  const utc = date.getTime()
  const at = (ms: number): bigint => BigInt(ms) * 1_000_000n + BigInt(time.nanosecond)
  if (time.zoneSeconds !== undefined) {
    const name = time.zoneName
    const fixed =
      time.zoneSeconds === 0 && (name === 'UTC' || name === '') ? 'UTC' : { seconds: time.zoneSeconds, name }
    return { nanoseconds: at(utc - time.zoneSeconds * 1000), zone: fixed }
  }
  if (time.zoneName !== '') return { nanoseconds: at(utc), zone: { seconds: 0, name: time.zoneName } }
  const guess = utc - zoneOffset(zone, utc).seconds * 1000
  return { nanoseconds: at(utc - zoneOffset(zone, guess).seconds * 1000), zone }
}

const printed = '2006-01-02 15:04:05.999999999 -0700 MST'

export function formatInstant(layout: string, instant: Instant): string {
  const wall = wallTime(instant)
  // A zone without a name is shown by its offset.
  return formatLayout(layout, wall.zoneName === '' ? { ...wall, zoneName: formatLayout('-0700', wall) } : wall)
}

export function timeObject(instant: Instant): GoObject {
  const text = (): string => formatInstant(printed, instant)
  const value = (make: (wall: WallTime) => unknown): GoFunction => goFunction('', () => make(wallTime(instant)))
  const compared = (test: (a: bigint, b: bigint) => unknown): GoFunction =>
    goFunction('time.Time', ([other]: [GoObject]) => test(instant.nanoseconds, instantOf(other).nanoseconds))
  return new GoObject('time.Time', {
    inner: instant,
    text,
    json: formatInstant('2006-01-02T15:04:05.999999999Z07:00', instant),
    methods: {
      Format: goFunction('string', ([layout]: [string]) => formatInstant(layout, instant)),
      String: goFunction('', text),
      Year: value(({ year }) => BigInt(year)),
      Month: value(({ month }) => new GoInteger('time.Month', BigInt(month))),
      Day: value(({ day }) => BigInt(day)),
      Hour: value(({ hour }) => BigInt(hour)),
      Minute: value(({ minute }) => BigInt(minute)),
      Second: value(({ second }) => BigInt(second)),
      Nanosecond: value(({ nanosecond }) => BigInt(nanosecond)),
      Weekday: value(({ weekday }) => new GoInteger('time.Weekday', BigInt(weekday))),
      YearDay: value(({ yearDay }) => BigInt(yearDay)),
      Unix: goFunction('', () => int64(secondsOf(instant))),
      UnixMilli: goFunction('', () => int64(BigInt.asIntN(64, floorDivide(instant.nanoseconds, 1_000_000n)))),
      UnixNano: goFunction('', () => int64(instant.nanoseconds)),
      UTC: goFunction('', () => timeObject({ ...instant, zone: 'UTC' })),
      IsZero: goFunction('', () => instant.nanoseconds === zeroTime.nanoseconds),
      AddDate: goFunction('int int int', ([years, months, days]: [bigint, bigint, bigint]) =>
        timeObject(addDate(instant, Number(years), Number(months), Number(days))),
      ),
      Before: compared((a, b) => a < b),
      After: compared((a, b) => a > b),
      Equal: compared((a, b) => a === b),
      Sub: compared((a, b) => new GoInteger('time.Duration', BigInt.asIntN(64, a - b))),
    },
  })
}

function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value < 0n && value % divisor !== 0n ? quotient - 1n : quotient
}

function addDate(instant: Instant, years: number, months: number, days: number): Instant {
  const wall = wallTime(instant)
  const date = new Date(0)
  date.setUTCFullYear(wall.year + years, wall.month - 1 + months, wall.day + days)
  const time: ParsedTime = {
    ...wall,
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    isAfternoon: undefined,
    zoneSeconds: typeof instant.zone === 'string' ? undefined : instant.zone.seconds,
    zoneName: '',
  }
  return { ...instantFrom(time, typeof instant.zone === 'string' ? instant.zone : 'UTC'), zone: instant.zone }
}
