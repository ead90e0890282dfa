/** What a manager does, one line each: JSON for programs, words for people, from a level on. */
import { formatTime } from '../../kube/duration.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { Settings } from './settings.ts'
import { type Log, type LogLevel, logLevels } from '../logging/log-line.ts'

/** What failed needs somebody; what was found or is slow should be looked at; the rest is told. */
function levelOf(line: JsonObject): LogLevel {
  if (line['error'] !== undefined || line['outcome'] === 'failed') return 'error'
  if (line['problem'] !== undefined || line['finding'] !== undefined || line['warning'] !== undefined) return 'warn'
  return 'info'
}

/** `logging` is asked for each line: it may change. */
export function logWriter(write: (text: string) => void, now: () => number, logging: () => Settings['logging']): Log {
  return (line) => {
    const { format, level } = logging()
    const own = levelOf(line)
    if (logLevels.indexOf(own) < logLevels.indexOf(level)) return
    const head = { time: formatTime(now()), level: own }
    // First for who reads, and last for what counts: no member of a line takes their place.
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
