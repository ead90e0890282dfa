/**
 * Times as Go decodes them from JSON: RFC 3339, in whole seconds (`Time`) or with exactly six decimals (`MicroTime`). Errors
 * have Go's messages, which clients of a real server see.
 */
interface ReadTime {
  /** As the server writes it: in UTC, with the decimals of its kind. */
  readonly text?: string
  readonly problem?: string
}

const plain = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/

export function readGoTime(text: string, isMicro: boolean): ReadTime {
  const layout = isMicro ? '2006-01-02T15:04:05.000000Z07:00' : '2006-01-02T15:04:05Z07:00'
  const head = `parsing time ${JSON.stringify(text)}`
  let rest = text
  let wrong: ReadTime | undefined
  const unfit = (element: string): ReadTime => ({
    problem: `${head} as "${layout}": cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(element)}`,
  })
  const take = (
    element: string,
    pattern: RegExp,
    highest?: readonly [what: string, lowest: number, limit: number],
  ): string => {
    if (wrong) return ''
    const found = pattern.exec(rest)?.[0]
    if (found === undefined) {
      wrong = unfit(element)
      return ''
    }
    rest = rest.slice(found.length)
    if (highest && (Number(found) < highest[1] || Number(found) > highest[2])) {
      wrong = { problem: `${head}: ${highest[0]} out of range` }
    }
    return found
  }
  const two = /^\d\d/
  const year = take('2006', /^\d{4}/)
  take('-', /^-/)
  const month = take('01', two, ['month', 1, 12])
  take('-', /^-/)
  const day = take('02', two)
  take('T', /^T/)
  take('15', two, ['hour', 0, 23])
  take(':', /^:/)
  take('04', two, ['minute', 0, 59])
  take(':', /^:/)
  take('05', two, ['second', 0, 59])
  const decimals = isMicro ? take('.000000', /^[.,]\d{6}/) : take('', /^(?:[.,]\d+)?/)
  const zone = take('Z07:00', /^(?:Z|[+-]\d\d:\d\d)/)
  if (!wrong && rest !== '') wrong = { problem: `${head}: extra text: ${JSON.stringify(rest)}` }
  if (!wrong && (Number(day) < 1 || Number(day) > daysIn(Number(year), Number(month)))) {
    wrong = { problem: `${head}: day out of range` }
  }
  if (wrong) return wrong
  const whole = text.slice(0, '2006-01-02T15:04:05'.length)
  const local = zone === 'Z' ? whole : shifted(whole, zone)
  return { text: `${local}${isMicro ? decimals.replace(',', '.') : ''}Z` }
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}

function shifted(whole: string, zone: string): string {
  const [, year, month, day, hour, minute, second] = plain.exec(whole)!.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const [hours, minutes] = zone.slice(1).split(':').map(Number) as [number, number]
  const minutesAhead = (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
  const instant = Date.UTC(year, month - 1, day, hour, minute - minutesAhead, second)
  return new Date(instant).toISOString().slice(0, 19)
}
