/**
 * Writes log lines of a level and above, in the format that the reader of the log expects: JSON for log collectors, text for
 * people, or klog's header for tools that parse the logs of Kubernetes components.
 */
import type { Json, JsonObject } from '../../kube/json.ts'
import { type Log, type LogLevel, logLevels } from './log-line.ts'

export const logFormats = ['json', 'text', 'klog'] as const

export interface LogSettings {
  readonly format: (typeof logFormats)[number]
  /** The lowest level that is written. */
  readonly level: LogLevel
}

interface Written {
  readonly time: Date
  readonly level: LogLevel
  readonly msg: string
  /** The other members. */
  readonly members: JsonObject
}

const formats: Readonly<Record<LogSettings['format'], (line: Written) => string>> = {
  // Time, level and message come first for readers, and are assigned last: no member of the line replaces them.
  json({ time, level, msg, members }) {
    const head = { time: time.toISOString(), level, msg }
    return JSON.stringify(Object.assign({ ...head }, members, head))
  },
  text: ({ time, level, msg, members }) => [time.toISOString(), level, quoted(msg), ...pairs(members)].join(' '),
  klog({ time, level, msg, members }) {
    const [date = '', clock = ''] = time.toISOString().slice(5, -1).split('T')
    const source = typeof members['operator'] === 'string' ? members['operator'] : 'muster'
    const head = `${klogSeverity[level]}${date.replace('-', '')} ${clock}000 ${process.pid} ${word(source)}]`
    return [head, JSON.stringify(msg), ...pairs(members)].join(' ')
  },
}

/** klog has no debug severity: verbose lines are informational. */
const klogSeverity: Readonly<Record<LogLevel, string>> = { debug: 'I', info: 'I', warn: 'W', error: 'E' }

/** `settings` is read for each line: it may change while the manager runs. */
export function logWriter(write: (text: string) => void, now: () => number, settings: () => LogSettings): Log {
  return ({ level = 'info', msg, ...members }) => {
    const { format, level: lowest } = settings()
    if (logLevels.indexOf(level) < logLevels.indexOf(lowest)) return
    write(formats[format]({ time: new Date(now()), level, msg, members }))
  }
}

function pairs(members: JsonObject): readonly string[] {
  return Object.entries(members).map(([name, value]) => `${name}=${quoted(value)}`)
}

function quoted(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return /^[\w./:@-]+$/.test(text) ? text : JSON.stringify(text)
}

/** Without white space and brackets, which end the header. */
function word(text: string): string {
  return text.replaceAll(/[^\w.@-]/g, '_')
}
