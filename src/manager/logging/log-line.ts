/**
 * One line of a manager's log, without its time and level, which the writer adds. A member called `level` would replace
 * the line's own, and log tools would read it as the severity: so the type excludes it.
 */
import type { JsonObject } from '../../kube/json.ts'

/** From the least to the most severe. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

export type LogLine = JsonObject & { readonly time?: never; readonly level?: never }

export type Log = (line: LogLine) => void
