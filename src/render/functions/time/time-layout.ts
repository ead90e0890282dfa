/** Go's layouts of times: the reference time, written as the text should look. */
import { trimEnd } from '../../../kube/text/trim-end.ts'
import { GoError } from '../../template/go-error.ts'
import { textBytes } from '../../template/text-bytes.ts'

/** A moment as a clock on a wall shows it. */
export interface WallTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly nanosecond: number
  readonly weekday: number
  readonly yearDay: number
  readonly zoneSeconds: number
  readonly zoneName: string
}

export const months: readonly string[] =
  'January February March April May June July August September October November December'.split(' ')
const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** The longest first, where one begins with another. */
const chunkPattern =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|002|01|02|03|04|05|06|__2|_2006|_2|15|1|2|3|4|5|PM|pm|Z07:00:00|Z070000|Z07:00|Z0700|Z07|-07:00:00|-070000|-07:00|-0700|-07|[.,](?:0+|9+)(?!\d)/g

/** In double quotes; whatever is not printable ASCII as bytes. */
export function quoteTime(text: string): string {
  let quoted = '"'
  for (const byte of textBytes(text)) {
    const character = String.fromCharCode(byte)
    if (byte < 0x20 || byte > 0x7f) quoted += `\\x${byte.toString(16).padStart(2, '0')}`
    else quoted += character === '"' || character === '\\' ? `\\${character}` : character
  }
  return `${quoted}"`
}

type Piece = { readonly text: string } | { readonly chunk: string }

function pieces(layout: string): readonly Piece[] {
  const found: Piece[] = []
  let at = 0
  for (const match of layout.matchAll(chunkPattern)) {
    const chunk = match[0]
    // `_2006` is an underscore and a year.
    const isPrefixed = chunk === '_2006'
    const start = isPrefixed ? match.index + 1 : match.index
    if (start > at) found.push({ text: layout.slice(at, start) })
    found.push({ chunk: isPrefixed ? '2006' : chunk })
    at = match.index + chunk.length
  }
  if (at < layout.length) found.push({ text: layout.slice(at) })
  return found
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

export function formatLayout(layout: string, time: WallTime): string {
  return pieces(layout)
    .map((piece) => ('text' in piece ? piece.text : formatChunk(piece.chunk, time)))
    .join('')
}

function formatChunk(chunk: string, time: WallTime): string {
  const hour12 = time.hour % 12 === 0 ? 12 : time.hour % 12
  switch (chunk) {
    case '2006':
      return time.year < 0 ? `-${String(-time.year).padStart(4, '0')}` : String(time.year).padStart(4, '0')
    case '06':
      return two(Math.abs(time.year % 100))
    case 'January':
      return months[time.month - 1]!
    case 'Jan':
      return months[time.month - 1]!.slice(0, 3)
    case '1':
      return String(time.month)
    case '01':
      return two(time.month)
    case 'Monday':
      return weekdays[time.weekday]!
    case 'Mon':
      return weekdays[time.weekday]!.slice(0, 3)
    case '2':
      return String(time.day)
    case '_2':
      return String(time.day).padStart(2, ' ')
    case '02':
      return two(time.day)
    case '__2':
      return String(time.yearDay).padStart(3, ' ')
    case '002':
      return String(time.yearDay).padStart(3, '0')
    case '15':
      return two(time.hour)
    case '3':
      return String(hour12)
    case '03':
      return two(hour12)
    case '4':
      return String(time.minute)
    case '04':
      return two(time.minute)
    case '5':
      return String(time.second)
    case '05':
      return two(time.second)
    case 'PM':
      return time.hour >= 12 ? 'PM' : 'AM'
    case 'pm':
      return time.hour >= 12 ? 'pm' : 'am'
    case 'MST':
      return time.zoneName
    default:
      return /^[.,]/.test(chunk) ? formatFraction(chunk, time.nanosecond) : formatOffset(chunk, time.zoneSeconds)
  }
}

function formatFraction(chunk: string, nanosecond: number): string {
  const digits = String(nanosecond)
    .padStart(9, '0')
    .slice(0, chunk.length - 1)
  if (chunk[1] === '0') return chunk[0]! + digits
  const trimmed = trimEnd(digits, '0')
  return trimmed === '' ? '' : chunk[0]! + trimmed
}

function formatOffset(chunk: string, seconds: number): string {
  if (chunk.startsWith('Z') && seconds === 0) return 'Z'
  const length = Math.abs(seconds)
  const colon = chunk.includes(':') ? ':' : ''
  const parts = [two(Math.floor(length / 3600))]
  const count = chunk.replaceAll(/[^0-9]/g, '').length / 2
  if (count > 1) parts.push(two(Math.floor(length / 60) % 60))
  if (count > 2) parts.push(two(length % 60))
  return (seconds < 0 ? '-' : '+') + parts.join(colon)
}

/** A time as parsed; without a zone its offset is undefined. */
export interface ParsedTime {
  year: number
  month: number
  day: number
  yearDay: number
  hour: number
  minute: number
  second: number
  nanosecond: number
  isAfternoon: boolean | undefined
  zoneSeconds: number | undefined
  zoneName: string
}

/** @throws GoError */
export function parseLayout(layout: string, value: string): ParsedTime {
  const time: ParsedTime = {
    year: 0,
    month: 0,
    day: 0,
    yearDay: 0,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    isAfternoon: undefined,
    zoneSeconds: undefined,
    zoneName: '',
  }
  let rest = value
  const all = pieces(layout)
  for (const [index, piece] of all.entries()) {
    const element = 'text' in piece ? piece.text : piece.chunk
    const taken = 'text' in piece ? takeText(rest, piece.text) : takeChunk(rest, piece.chunk, time, all[index + 1])
    if (taken === undefined || (typeof taken === 'number' && taken < 0)) {
      rest = rest.slice(taken === undefined ? 0 : -taken - 1)
      throw new GoError(
        `parsing time ${quoteTime(value)} as ${quoteTime(layout)}: cannot parse ${quoteTime(rest)} as ${quoteTime(element)}`,
      )
    }
    if (typeof taken === 'string') throw new GoError(`parsing time ${quoteTime(value)}: ${taken} out of range`)
    rest = rest.slice(taken)
  }
  if (rest !== '') throw new GoError(`parsing time ${quoteTime(value)}: extra text: ${quoteTime(rest)}`)
  return finished(time, value)
}

function finished(time: ParsedTime, value: string): ParsedTime {
  const outOfRange = (what: string): GoError => new GoError(`parsing time ${quoteTime(value)}: ${what} out of range`)
  if (time.isAfternoon !== undefined) {
    if (time.isAfternoon && time.hour < 12) time.hour += 12
    else if (!time.isAfternoon && time.hour === 12) time.hour = 0
  }
  if (time.yearDay > 0) {
    const date = new Date(Date.UTC(2000, 0, 1))
    date.setUTCFullYear(time.year, 0, time.yearDay)
    if (date.getUTCFullYear() !== time.year) throw outOfRange('day-of-year')
    time.month = date.getUTCMonth() + 1
    time.day = date.getUTCDate()
  }
  if (time.month === 0) time.month = 1
  if (time.day === 0) time.day = 1
  if (time.day > daysIn(time.year, time.month)) throw outOfRange('day')
  return time
}

function daysIn(year: number, month: number): number {
  const date = new Date(0)
  date.setUTCFullYear(year, month, 0)
  return date.getUTCDate()
}

/** How much of the text matches the layout's text, a run of spaces any other; if it ends too early, −1 less that much. */
function takeText(rest: string, text: string): number {
  let at = 0
  for (const character of text.replaceAll(/ +/g, ' ')) {
    if (character === ' ') {
      if (at < rest.length && rest[at] !== ' ') return -at - 1
      while (rest[at] === ' ') at++
    } else if (rest.startsWith(character, at)) at += character.length
    else return -at - 1
  }
  return at
}

interface Field {
  readonly pattern: RegExp
  readonly name: keyof ParsedTime
  readonly low: number
  readonly high: number
  readonly what: string
}

const oneOrTwo = /^\d\d?/
const exactlyTwo = /^\d\d/
const spaced = /^ ?\d\d?/

function field(pattern: RegExp, name: keyof ParsedTime, low: number, high: number, what: string = name): Field {
  return { pattern, name, low, high, what }
}

const fields: Readonly<Record<string, Field>> = {
  '2006': field(/^\d{4}/, 'year', 0, 9999),
  '1': field(oneOrTwo, 'month', 1, 12),
  '01': field(exactlyTwo, 'month', 1, 12),
  '2': field(oneOrTwo, 'day', 0, 99),
  _2: field(spaced, 'day', 0, 99),
  '02': field(exactlyTwo, 'day', 0, 99),
  '002': field(/^\d{3}/, 'yearDay', 1, 366, 'day-of-year'),
  __2: field(/^ {0,2}\d{1,3}/, 'yearDay', 1, 366, 'day-of-year'),
  '15': field(oneOrTwo, 'hour', 0, 23),
  '3': field(oneOrTwo, 'hour', 0, 12),
  '03': field(exactlyTwo, 'hour', 0, 12),
  '4': field(oneOrTwo, 'minute', 0, 59),
  '04': field(exactlyTwo, 'minute', 0, 59),
  '5': field(oneOrTwo, 'second', 0, 59),
  '05': field(exactlyTwo, 'second', 0, 59),
}

/** How many characters it takes; undefined if it does not match, a text if it is out of range. */
function takeChunk(
  rest: string,
  chunk: string,
  time: ParsedTime,
  next: Piece | undefined,
): number | string | undefined {
  const known = fields[chunk]
  if (known) {
    const found = known.pattern.exec(rest)?.[0]
    if (found === undefined) return undefined
    const value = Number(found)
    if (value < known.low || value > known.high) return known.what
    Object.assign(time, { [known.name]: value })
    const hasFraction = next !== undefined && 'chunk' in next && /^[.,]/.test(next.chunk)
    if (known.name === 'second' && !hasFraction) return found.length + takeFraction(rest.slice(found.length), time)
    return found.length
  }
  if (/^[.,]/.test(chunk)) return takeLayoutFraction(rest, chunk, time)
  return takeName(rest, chunk, time) ?? takeOffset(rest, chunk, time)
}

function takeFraction(rest: string, time: ParsedTime): number {
  const found = /^[.,]\d+/.exec(rest)?.[0]
  if (found === undefined) return 0
  time.nanosecond = Number(found.slice(1, 10).padEnd(9, '0'))
  return found.length
}

function takeLayoutFraction(rest: string, chunk: string, time: ParsedTime): number | undefined {
  if (chunk[1] === '9') return takeFraction(rest, time)
  const digits = rest.slice(1, chunk.length)
  if (!/^[.,]/.test(rest) || !/^\d+$/.test(digits) || digits.length !== chunk.length - 1) return undefined
  time.nanosecond = Number(digits.padEnd(9, '0').slice(0, 9))
  return chunk.length
}

function takeName(rest: string, chunk: string, time: ParsedTime): number | undefined {
  const find = (names: readonly string[]): number =>
    names.findIndex((name) => rest.slice(0, name.length).toLowerCase() === name.toLowerCase())
  switch (chunk) {
    case '06': {
      const found = exactlyTwo.exec(rest)?.[0]
      if (found === undefined) return undefined
      time.year = Number(found) + (Number(found) >= 69 ? 1900 : 2000)
      return 2
    }
    case 'January':
    case 'Jan': {
      const names = chunk === 'Jan' ? months.map((name) => name.slice(0, 3)) : months
      const index = find(names)
      if (index < 0) return undefined
      time.month = index + 1
      return names[index]!.length
    }
    case 'Monday':
    case 'Mon': {
      const names = chunk === 'Mon' ? weekdays.map((name) => name.slice(0, 3)) : weekdays
      const index = find(names)
      return index < 0 ? undefined : names[index]!.length
    }
    case 'PM':
    case 'pm': {
      const mark = rest.slice(0, 2)
      const [am, pm] = chunk === 'PM' ? ['AM', 'PM'] : ['am', 'pm']
      if (mark !== am && mark !== pm) return undefined
      time.isAfternoon = mark === pm
      return 2
    }
    case 'MST': {
      const found = /^(?:UTC|GMT(?:[+-]\d{1,2})?|[A-Z]{3,5}|[+-]\d\d)/.exec(rest)?.[0]
      if (found === undefined) return undefined
      time.zoneName = found
      if (found === 'UTC') time.zoneSeconds = 0
      return found.length
    }
    default:
      return undefined
  }
}

function takeOffset(rest: string, chunk: string, time: ParsedTime): number | undefined {
  if (!/^[Z-]/.test(chunk)) return undefined
  if (chunk.startsWith('Z') && rest.startsWith('Z')) {
    time.zoneSeconds = 0
    time.zoneName = 'UTC'
    return 1
  }
  const parts = chunk.replaceAll(/[^0-9]/g, '').length / 2
  const colon = chunk.includes(':') ? ':' : ''
  const length = 1 + parts * 2 + (colon === '' ? 0 : parts - 1)
  const found = rest.slice(0, length)
  if (!/^[+-]\d\d(?::?\d\d){0,2}$/.test(found) || found.length !== length || found.includes(':') !== (colon !== '')) {
    return undefined
  }
  const [hours = 0, minutes = 0, seconds = 0] = (found.slice(1).match(/\d\d/g) ?? []).map(Number)
  if (hours > 24 || minutes > 59 || seconds > 59) return undefined
  const total = hours * 3600 + minutes * 60 + seconds
  time.zoneSeconds = found.startsWith('-') ? -total : total
  return length
}
