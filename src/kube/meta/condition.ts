/**
 * Standard conditions (`metav1.Condition`): one observation per type.
 *
 * Everything here is pure and returns the same array if nothing changed: a caller that compares by identity writes no status
 * without a change, and causes no reconcile.
 */
import { formatTime } from '../units/duration.ts'

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
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type)
}

export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True'
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
    lastTransitionTime: isTransition ? formatTime(now) : existing.lastTransitionTime,
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
