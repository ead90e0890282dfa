/**
 * Prints mistakes of author code to standard error, for tests without a log of their own: a test that fails because a field is
 * misspelt names the field. Each mistake is printed once.
 */
import { operatorErrors } from '../../operator/errors.ts'
import { whoOf } from '../findings/finding.ts'
import type { Log, LogLine } from '../logging/log-line.ts'

export function authorMistakes(print: (line: string) => void): Log {
  const printed = new Set<string>()
  return (line) => {
    if (!isMistake(line)) return
    const text = mistakeText(line)
    if (printed.has(text)) return
    printed.add(text)
    print(text)
  }
}

/** What the kit rejects, and errors that the author did not foresee. Decisions (`fail`, `giveUp`) and API errors are neither. */
function isMistake({ level, reason, stack }: LogLine): boolean {
  if (level !== 'error') return false
  // An object of another owner is a fact of the cluster.
  const isRejected = typeof reason === 'string' && Object.hasOwn(operatorErrors, reason) && reason !== 'NotOurs'
  return stack !== undefined || isRejected
}

function mistakeText(line: LogLine): string {
  const text = (member: string): string => {
    const value = line[member]
    return typeof value === 'string' ? value : ''
  }
  const who = whoOf({ operator: text('operator'), controller: text('controller'), key: text('key') })
  const at = text('at')
  return `${who}: ${text('reason')}: ${text('error')}${at === '' ? '' : ` (${at})`}`
}
