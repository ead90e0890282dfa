/** Writes log lines from a level on: as JSON for programs or as text for people. */
import { formatTime } from '../../kube/duration.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { Settings } from './settings.ts'
import { type Log, type LogLevel, logLevels } from '../logging/log-line.ts'

/** Failures are errors, findings and slowness are warnings, the rest is info. */
function levelOf(line: JsonObject): LogLevel {
  if (line['error'] !== undefined || line['outcome'] === 'failed') return 'error'
  if (line['problem'] !== undefined || line['finding'] !== undefined || line['warning'] !== undefined) return 'warn'
  return 'info'
}

/** `logging` is read for each line: it may change. */
export function logWriter(write: (text: string) => void, now: () => number, logging: () => Settings['logging']): Log {
  return (line) => {
    const { format, level } = logging()
    const own = levelOf(line)
    if (logLevels.indexOf(own) < logLevels.indexOf(level)) return
    const head = { time: formatTime(now()), level: own }
    // Time and level come first for readers, and are assigned last so that no member of the line replaces them.
    const whole = Object.assign({ ...head }, line, head)
    write(format === 'json' ? JSON.stringify(whole) : [head.time, own, ...words(line)].join(' '))
  }
}

function words(line: JsonObject): readonly string[] {
  return Object.entries(line).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${name}=${/^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text)}`
  })
}
