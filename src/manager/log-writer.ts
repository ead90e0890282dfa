/** What a manager does, one line each: JSON for programs, words for people, from a level on. */
import { formatTime } from '../kube/duration.ts'
import type { JsonObject } from '../kube/json.ts'
import type { Settings } from './config/settings.ts'

type Level = Settings['logging']['level']

const levels: readonly Level[] = ['debug', 'info', 'warn', 'error']

/** What failed needs somebody; what was found or is slow should be looked at; the rest is told. */
function levelOf(line: JsonObject): Level {
  if (line['error'] !== undefined || line['outcome'] === 'failed') return 'error'
  if (line['problem'] !== undefined || line['finding'] !== undefined) return 'warn'
  return 'info'
}

/** `logging` is asked for each line: it may change. */
export function logWriter(
  write: (text: string) => void,
  now: () => number,
  logging: () => Settings['logging'],
): (line: JsonObject) => void {
  return (line) => {
    const { format, level } = logging()
    const own = levelOf(line)
    if (levels.indexOf(own) < levels.indexOf(level)) return
    const time = formatTime(now())
    write(format === 'json' ? JSON.stringify({ time, level: own, ...line }) : [time, own, ...words(line)].join(' '))
  }
}

function words(line: JsonObject): readonly string[] {
  return Object.entries(line).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return `${name}=${/^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text)}`
  })
}
