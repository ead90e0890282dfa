/**
 * One line of a manager's log: a message, its level, and members with stable names. The writer adds the time.
 *
 * Members that recur have one name each: `operator`, `controller`, `key` (`namespace/name` of the CR), `reconcileID`,
 * `cause` and `trigger` of a reconcile (`change`, `retry` or `resync`; the object that changed), `cluster`, `resource`, `error` (the
 * text of the cause), `retryAfterMs`. Log queries depend on them.
 */
import type { JsonObject } from '../../kube/json.ts'

/** From the least to the most severe. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

export type LogLine = JsonObject & {
  /** What happened, as a short sentence without a full stop. */
  readonly msg: string
  /** @default "info" */
  readonly level?: LogLevel
  /** Added by the writer. */
  readonly time?: never
}

export type Log = (line: LogLine) => void
