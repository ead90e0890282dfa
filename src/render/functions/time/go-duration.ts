/** Durations in text, with Go's messages. */
import { isMusterError } from '../../../kube/muster-error.ts'
import { parseDuration } from '../../../kube/units/duration.ts'
import { GoError } from '../../template/go-error.ts'
import { quoteTime } from './time-layout.ts'

/** Nanoseconds. @throws GoError */
export function readDuration(text: string): bigint {
  try {
    return parseDuration(text)
  } catch (error) {
    if (isMusterError(error)) throw new GoError(problemOf(text))
    throw error
  }
}

const knownUnits: ReadonlySet<string> = new Set(['ns', 'us', '\u{b5}s', '\u{3bc}s', 'ms', 's', 'm', 'h'])

function problemOf(text: string): string {
  const invalid = `time: invalid duration ${quoteTime(text)}`
  let rest = text.replace(/^[+-]/, '')
  if (rest === '') return invalid
  while (rest !== '') {
    const number = /^\d*(?:\.\d*)?/.exec(rest)![0]
    if (!/\d/.test(number)) return invalid
    const unit = /^[^\d.]*/.exec(rest.slice(number.length))![0]
    if (unit === '') return `time: missing unit in duration ${quoteTime(text)}`
    if (!knownUnits.has(unit)) return `time: unknown unit ${quoteTime(unit)} in duration ${quoteTime(text)}`
    rest = rest.slice(number.length + unit.length)
  }
  return invalid
}
