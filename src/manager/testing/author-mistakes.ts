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

function mistakeText({ operator, controller, key, reason, error, at }: LogLine): string {
  const who = whoOf({ operator: String(operator), controller: String(controller), key: String(key) })
  return `${who}: ${String(reason)}: ${String(error)}${at === undefined ? '' : ` (${String(at)})`}`
}
