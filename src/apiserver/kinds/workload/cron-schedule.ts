/**
 * Validation of a cron schedule: five fields (minute, hour, day of the month, month, day of the week), or a macro such
 * as `@daily`. `simulated/job/cron-time.ts` evaluates schedules.
 */
import { parseDuration } from '../../../kube/units/duration.ts'

interface Field {
  readonly lowest: number
  readonly highest: number
  readonly names?: readonly string[]
}

const months = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const fields: readonly Field[] = [
  { lowest: 0, highest: 59 },
  { lowest: 0, highest: 23 },
  { lowest: 1, highest: 31 },
  { lowest: 1, highest: 12, names: months },
  { lowest: 0, highest: 6, names: days },
]
const words = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'])

/** The error message of a schedule; undefined when it is valid. */
export function scheduleProblem(schedule: string): string | undefined {
  const zone = /^(?:CRON_)?TZ=([^ ]*) /.exec(schedule)
  const text = zone ? schedule.slice(zone[0].length).trim() : schedule
  if (/^(?:CRON_)?TZ=/.test(text)) return 'invalid schedule format: runtime error: slice bounds out of range [:-1]'
  if (text.startsWith('@')) return wordProblem(text)
  const given = text.split(/\s+/).filter((one) => one !== '')
  if (given.length !== fields.length) {
    return `expected exactly ${fields.length} fields, found ${given.length}: [${given.join(' ')}]`
  }
  for (const [index, field] of fields.entries()) {
    for (const range of given[index]!.split(',').filter((one) => one !== '')) {
      const problem = rangeProblem(range, field)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

function wordProblem(text: string): string | undefined {
  if (words.has(text)) return undefined
  if (!text.startsWith('@every ')) return `unrecognized descriptor: ${text}`
  const duration = text.slice('@every '.length)
  try {
    parseDuration(duration)
    return undefined
  } catch {
    return `failed to parse duration ${text}: time: invalid duration "${duration}"`
  }
}

/** `3`, `1-5`, `*`, each with an optional `/step`. */
function rangeProblem(text: string, field: Field): string | undefined {
  const [span = '', stepText, ...moreSteps] = text.split('/')
  const [lowText = '', highText, ...moreBounds] = span.split('-')
  const isAll = lowText === '*' || lowText === '?'
  const low = isAll ? field.lowest : readNumber(lowText, field.names)
  if (typeof low === 'string') return low
  if (!isAll && moreBounds.length > 0 && highText !== undefined) return `too many hyphens: ${text}`
  const high = isAll ? field.highest : highText === undefined ? low : readNumber(highText, field.names)
  if (typeof high === 'string') return high
  if (moreSteps.length > 0) return `too many slashes: ${text}`
  const step = stepText === undefined ? 1 : readNumber(stepText)
  if (typeof step === 'string') return step
  // `5/10` starts at five.
  const end = stepText !== undefined && highText === undefined ? field.highest : high
  if (low < field.lowest) return `beginning of range (${low}) below minimum (${field.lowest}): ${text}`
  if (end > field.highest) return `end of range (${end}) above maximum (${field.highest}): ${text}`
  if (low > end) return `beginning of range (${low}) beyond end of range (${end}): ${text}`
  return step === 0 ? `step of range should be a positive number: ${text}` : undefined
}

/** A string result is the error message. */
function readNumber(text: string, names: readonly string[] = []): number | string {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase())
  if (named >= 0) return named
  if (!/^[+-]?\d+$/.test(text)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
  }
  const number = Number(text)
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number
}

const zonePart = /^[A-Za-z.\-_0-9+]{1,14}$/

/** The error message of a time zone name; undefined when it is valid. */
export function zoneProblem(zone: string): string | undefined {
  if (zone === '') return 'timeZone must be nil or non-empty string'
  const isName = zone
    .split('/')
    .every((part) => part !== '.' && part !== '..' && !part.startsWith('-') && zonePart.test(part))
  if (isName && zone.toLowerCase() === 'local') {
    return 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'
  }
  return isName && isZone(zone) ? undefined : `unknown time zone ${zone}`
}

function isZone(zone: string): boolean {
  if (/^[+-]/.test(zone)) return false
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions()
    // The runtime ignores case; the files of the time zone database do not.
    return timeZone.toLowerCase() !== zone.toLowerCase() || timeZone === zone
  } catch {
    return false
  }
}
