/**
 * Evaluates cron schedules: the next time after a given one. Five fields in a time zone; a day matches if the day of
 * the month or the day of the week does, unless one of them is `*`.
 */
import { durationToMs, parseDuration } from '../../../kube/units/duration.ts'

const names: readonly (readonly string[])[] = [
  [],
  [],
  [],
  ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
]
const bounds: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
]
const words: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

/** The first time after `after`; undefined when there is none in the next years. */
export type Schedule = (after: number) => number | undefined

const minuteMs = 60_000
const dayMs = 86_400_000
const longestSearchDays = 366 * 5

/** Parses a schedule that the server has validated. */
export function parseSchedule(text: string, zone = 'UTC'): Schedule {
  const [, inText, rest = text] = /^(?:CRON_)?TZ=(\S+)\s+([^]*)$/.exec(text) ?? []
  if (rest.startsWith('@every ')) {
    const every = Math.max(1000, durationToMs(parseDuration(rest.slice('@every '.length))))
    return (after) => Math.floor(after / 1000) * 1000 + every
  }
  const fields = (words.get(rest) ?? rest).trim().split(/\s+/)
  const [minutes, hours, days, months, weekdays] = fields.map(readField) as [Field, Field, Field, Field, Field]
  const isDay = (day: Local): boolean => {
    const [byDate, byWeekday] = [days.values.has(day.day), weekdays.values.has(day.weekday)]
    return months.values.has(day.month) && (days.isAll || weekdays.isAll ? byDate && byWeekday : byDate || byWeekday)
  }
  const local = localTimes(inText ?? zone)
  return (after) => {
    let moment = Math.floor(after / minuteMs) * minuteMs + minuteMs
    const end = moment + longestSearchDays * dayMs
    while (moment < end) {
      const now = local(moment)
      if (!isDay(now)) {
        // Hour by hour, not from midnight to midnight: daylight saving makes some days an hour longer or shorter.
        moment += (60 - now.minute) * minuteMs
      } else if (!hours.values.has(now.hour)) moment += (60 - now.minute) * minuteMs
      else if (!minutes.values.has(now.minute)) moment += minuteMs
      else return moment
    }
    return undefined
  }
}

interface Field {
  readonly values: ReadonlySet<number>
  readonly isAll: boolean
}

function readField(text: string, index: number): Field {
  const [lowest, highest] = bounds[index]!
  const values = new Set<number>()
  const numberOf = (word: string): number => {
    const named = names[index]!.indexOf(word.toLowerCase())
    return named >= 0 && word !== '' ? named : Number(word)
  }
  for (const range of text.split(',')) {
    const [span = '', step] = range.split('/')
    const [low = '', high] = span.split('-')
    const isAll = low === '*' || low === '?'
    const from = isAll ? lowest : numberOf(low)
    const to = isAll || (step !== undefined && high === undefined) ? highest : numberOf(high ?? low)
    for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value)
  }
  return { values, isAll: /^[*?]/.test(text) }
}

interface Local {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  readonly weekday: number
}

function localTimes(zone: string): (moment: number) => Local {
  if (zone === 'UTC' || zone === 'Etc/UTC') return (moment) => localOf(moment)
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  return (moment) => {
    const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]))
    const at = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0
    return localOf(Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute')))
  }
}

function localOf(moment: number): Local {
  const date = new Date(moment)
  return {
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    weekday: date.getUTCDay(),
  }
}
