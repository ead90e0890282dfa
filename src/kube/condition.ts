/**
 * Standard conditions (`metav1.Condition`): one observation per type.
 *
 * Everything here is pure and returns the same array if nothing changed: a caller that compares by identity writes no status
 * without a change, and causes no reconcile.
 */
import { formatTime, parseTime } from './duration.ts'
import { checkQualifiedName } from './name.ts'

type ConditionStatus = 'True' | 'False' | 'Unknown'

export interface Condition {
  /** `Ready`, or `example.com/Ready`. */
  readonly type: string
  readonly status: ConditionStatus
  /** Machine-readable: `MinimumReplicasAvailable`. */
  readonly reason: string
  /** Human-readable; may be empty. */
  readonly message: string
  /** When `status` last changed, and only that. */
  readonly lastTransitionTime: string
  /** The `metadata.generation` this was observed at. */
  readonly observedGeneration?: number
}

/** A condition as a controller sets it. */
export interface ConditionUpdate extends Omit<Condition, 'message' | 'lastTransitionTime'> {
  /** @default "" */
  readonly message?: string
  /** If the time of the change is known. @default now, if the status changes */
  readonly lastTransitionTime?: string
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type)
}

export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True'
}

export function isConditionFalse(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'False'
}

/** The conditions with this one set; the same array if nothing changes. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  update: ConditionUpdate,
  now: number,
): readonly Condition[] {
  const list = conditions ?? []
  const at = list.findIndex(({ type }) => type === update.type)
  const existing = list[at]
  const isTransition = existing?.status !== update.status
  const { type, status, reason, message = '', observedGeneration } = update
  const condition: Condition = {
    type,
    status,
    reason,
    message,
    lastTransitionTime: isTransition ? (update.lastTransitionTime ?? formatTime(now)) : existing.lastTransitionTime,
    ...(observedGeneration !== undefined && { observedGeneration }),
  }
  if (!existing) return [...list, condition]
  return !isTransition && saysTheSame(existing, condition) ? list : list.with(at, condition)
}

function saysTheSame(a: Condition, b: Condition): boolean {
  // In Go, generation 0 and an absent one are the same.
  const sameGeneration = (a.observedGeneration ?? 0) === (b.observedGeneration ?? 0)
  return sameGeneration && a.reason === b.reason && (a.message ?? '') === b.message
}

/** The conditions without that type; the same array if it is absent. */
export function removeCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  const rest = conditions.filter((condition) => condition.type !== type)
  return rest.length === conditions.length ? conditions : rest
}

const reasonPattern = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/
const longestType = 316
const longestReason = 1024
const longestMessage = 32_768

/** All reasons for which a server would reject the condition; empty if it is valid. */
export function checkCondition(condition: Condition): readonly string[] {
  const { type, status, reason, message, lastTransitionTime, observedGeneration = 0 } = condition
  const rules: readonly (readonly [boolean, string])[] = [
    [Buffer.byteLength(type) <= longestType, `type must be at most ${longestType} bytes`],
    [['True', 'False', 'Unknown'].includes(status), 'status must be True, False or Unknown'],
    [observedGeneration >= 0, 'observedGeneration must not be negative'],
    [parseTime(lastTransitionTime) !== undefined, 'lastTransitionTime must be a time: 2026-01-01T00:00:00Z'],
    [
      reasonPattern.test(reason),
      'reason must be one CamelCase word: letters, digits, "_", "," and ":", a letter in front, no "," or ":" at the end',
    ],
    [Buffer.byteLength(reason) <= longestReason, `reason must be at most ${longestReason} bytes`],
    [Buffer.byteLength(message) <= longestMessage, `message must be at most ${longestMessage} bytes`],
  ]
  return [
    ...checkQualifiedName(type).map((problem) => `type ${problem}`),
    ...rules.filter(([holds]) => !holds).map(([, problem]) => problem),
  ]
}
