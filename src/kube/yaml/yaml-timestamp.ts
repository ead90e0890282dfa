/** Timestamps of YAML 1.1, which kustomize writes as RFC 3339. */
import { trimEnd } from '../text/trim-end.ts'

const pattern =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})| (\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?))?$/

/** The timestamp in RFC 3339; undefined if the text is none. */
export function readTimestamp(text: string): string | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const [, year, month, day] = match
  const [hour = '0', minute = '0', second = '0', fraction = ''] =
    match[4] === undefined ? match.slice(9) : match.slice(4)
  const zone = match[8]
  const time = [hour, minute, second].map(Number)
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  const isValid =
    Number(month) >= 1 &&
    Number(month) <= 12 &&
    Number(day) >= 1 &&
    Number(day) <= days &&
    time[0]! < 24 &&
    time[1]! < 60 &&
    time[2]! < 60
  if (!isValid) return undefined
  const padded = [month, day, hour, minute, second].map((part) => part!.padStart(2, '0'))
  const parts = trimEnd(fraction, '0')
  const offset = zone === undefined || zone === '+00:00' || zone === '-00:00' ? 'Z' : zone
  return `${year}-${padded[0]}-${padded[1]}T${padded.slice(2).join(':')}${parts === '.' ? '' : parts}${offset}`
}
