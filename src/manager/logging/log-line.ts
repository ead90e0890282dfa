/**
 * A line of a manager's log: what is reported, without its time and its level, which the writer adds. A member called `level` would take the
 * place of the line's own, and log tools would read it as a severity: so the type has no room for one.
 */
import type { JsonObject } from '../../kube/json.ts'

/** From the least to the most severe. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

export type LogLine = JsonObject & { readonly time?: never; readonly level?: never }

export type Log = (line: LogLine) => void
