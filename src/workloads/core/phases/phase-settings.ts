/**
 * How patient an AppWrapper is: grace periods, retries and exit codes. Annotations override the settings of the operator. A
 * malformed value counts as absent, a negative one as 0, and a grace period is never longer than the ceiling.
 */
import { durationToMs, parseDuration } from '../../../kube/units/duration.ts'

/** All times in milliseconds. */
export interface FaultTolerance {
  /** Until all pods exist. @default 60_000 */
  readonly admissionGraceMs: number
  /** Until all pods run. @default 300_000 */
  readonly warmupGraceMs: number
  /** From the first failed pod. @default 60_000 */
  readonly failureGraceMs: number
  /** Before the next try. @default 90_000 */
  readonly retryPauseMs: number
  /** @default 3 */
  readonly retryLimit: number
  /** Until pods and objects that ignore their deletion are deleted by force. @default 600_000 */
  readonly forcefulDeletionGraceMs: number
  /** No grace period is longer. @default 86_400_000 */
  readonly gracePeriodCeilingMs: number
  /** How long the objects of an AppWrapper that succeeded stay, at most. @default 604_800_000 */
  readonly successTtlMs: number
}

export const defaultFaultTolerance: FaultTolerance = {
  admissionGraceMs: 60_000,
  warmupGraceMs: 300_000,
  failureGraceMs: 60_000,
  retryPauseMs: 90_000,
  retryLimit: 3,
  forcefulDeletionGraceMs: 600_000,
  gracePeriodCeilingMs: 86_400_000,
  successTtlMs: 604_800_000,
}

/** The settings of one AppWrapper. */
export interface PhaseSettings extends FaultTolerance {
  /** From the failure until its objects are deleted. */
  readonly deletionOnFailureGraceMs: number
  /** Exit codes that no retry can help. */
  readonly terminalExitCodes: ReadonlySet<number>
  /** Exit codes that are retried: all others are terminal. Undefined: no code is terminal because of this. */
  readonly retryableExitCodes: ReadonlySet<number> | undefined
}

/** What the annotations begin with. */
export const settingPrefix = 'workload.codeflare.dev.appwrapper/'

type SettingAnnotations = Readonly<Record<string, string>>

export function phaseSettings(
  annotations: SettingAnnotations | undefined,
  defaults: FaultTolerance = defaultFaultTolerance,
): PhaseSettings {
  const text = (name: string): string | undefined => {
    const key = `${settingPrefix}${name}`
    return annotations && Object.hasOwn(annotations, key) ? annotations[key] : undefined
  }
  const grace = (name: string, otherwise: number): number => {
    const ms = durationIn(text(`${name}Duration`)) ?? otherwise
    return Math.min(Math.max(ms, 0), defaults.gracePeriodCeilingMs)
  }
  const ttl = durationIn(text('successTTLDuration')) ?? defaults.successTtlMs
  return {
    ...defaults,
    admissionGraceMs: grace('admissionGracePeriod', defaults.admissionGraceMs),
    warmupGraceMs: grace('warmupGracePeriod', defaults.warmupGraceMs),
    failureGraceMs: grace('failureGracePeriod', defaults.failureGraceMs),
    retryPauseMs: grace('retryPausePeriod', defaults.retryPauseMs),
    forcefulDeletionGraceMs: grace('forcefulDeletionGracePeriod', defaults.forcefulDeletionGraceMs),
    deletionOnFailureGraceMs: grace('deletionOnFailureGracePeriod', 0),
    retryLimit: limitIn(text('retryLimit')) ?? defaults.retryLimit,
    // It only shortens.
    successTtlMs: Math.min(Math.max(ttl, 0), defaults.successTtlMs),
    terminalExitCodes: codesIn(text('terminalExitCodes')) ?? new Set(),
    retryableExitCodes: codesIn(text('retryableExitCodes')),
  }
}

function durationIn(text: string | undefined): number | undefined {
  if (text === undefined || text.length > 64) return undefined
  try {
    return durationToMs(parseDuration(text))
  } catch {
    return undefined
  }
}

function limitIn(text: string | undefined): number | undefined {
  if (text === undefined || !/^[+-]?\d{1,9}$/.test(text)) return undefined
  return Math.max(Number(text), 0)
}

/** `3,10`: words that are no numbers are left out; undefined if none is one. */
function codesIn(text: string | undefined): ReadonlySet<number> | undefined {
  const codes = (text ?? '')
    .slice(0, 4096)
    .split(',')
    .map((word) => word.trim())
    .filter((word) => /^\d{1,9}$/.test(word))
  return codes.length > 0 ? new Set(codes.map(Number)) : undefined
}

/** The exit codes of failed containers that no retry can help. */
export function terminalCodes(
  exitCodes: readonly number[],
  { terminalExitCodes, retryableExitCodes }: PhaseSettings,
): readonly number[] {
  return exitCodes.filter(
    (code) => terminalExitCodes.has(code) || (code !== 0 && retryableExitCodes?.has(code) === false),
  )
}
