/**
 * Which revision is active: a pure function of what is wanted, what was tried and what became of it.
 *
 * A changed source or value is a new revision, and the next attempt; it does not wait for the one under way. An attempt that does
 * not become healthy in time has failed: the last good revision is active again, and the attempt is repeated after a while, up to
 * a limit. A further change of the source, the values or the spec starts anew, so that no counter ever has to be reset by hand.
 */
import { cutText } from '../../kube/text/hidden-text.ts'
import type {
  InstallationAttempt,
  InstallationHistoryEntry,
  InstallationSpec,
  InstallationStatus,
} from './installation.ts'

export interface Wanted {
  /** The digest of the rendered content. */
  readonly digest: string
  /** Of the Installation: another way to apply the same content may be the cure. */
  readonly generation: number
  /** Numbers that cannot be used. @default none */
  readonly taken?: readonly number[]
}

/** A revision that exists. */
export interface KnownRevision {
  readonly number: number
  readonly digest: string
  readonly version?: string | undefined
}

export interface Choice {
  /** The revision whose objects are applied; 0: none, after a failed installation. */
  readonly active: number
  /** The number of a revision that has to be created first. */
  readonly created: number | undefined
  readonly attempt: InstallationAttempt
  /** The active revision was healthy once: its objects are kept as they are, without order. */
  readonly isSettled: boolean
  /** It is active again after a failure, and its rollback hooks are not over. @default false */
  readonly isRemedying?: boolean
}

type Remediation = InstallationSpec['remediation']

export function chooseRevision(
  wanted: Wanted,
  revisions: readonly KnownRevision[],
  { attempt: last, lastGood, history = [] }: Pick<InstallationStatus, 'attempt' | 'lastGood' | 'history'>,
  { strategy, retries }: Remediation,
  now: number,
): Choice {
  const newest = revisions.reduce<KnownRevision | undefined>((a, b) => (a && a.number > b.number ? a : b), undefined)
  const begun = (revision: number, before?: InstallationAttempt): InstallationAttempt => ({
    revision,
    digest: wanted.digest,
    observedGeneration: wanted.generation,
    startedAt: timeText(now),
    failures: before?.failures ?? 0,
    ...(before?.message !== undefined && { message: before.message }),
  })
  const choice = (active: number, attempt: InstallationAttempt, created?: number): Choice => ({
    active,
    created,
    attempt,
    isSettled: active === lastGood,
  })
  const isStored = newest?.digest === wanted.digest
  // A Revision that a user deleted is made again under its number, and its attempts still count.
  const isLost = !isStored && last?.digest === wanted.digest && last.revision > (newest?.number ?? 0)
  if (!isStored && !isLost) {
    // A number is never used twice: the objects of a deleted Revision may still be there.
    const used = [...history.map((one) => one.revision), ...(wanted.taken ?? [])]
    const numbers = [newest?.number, last?.revision, lastGood, ...used]
    const created = numbers.reduce<number>((a, b = 0) => Math.max(a, b), 0) + 1
    return choice(created, begun(created), created)
  }
  const number = isStored ? newest.number : last!.revision
  const created = isLost ? number : undefined
  // The process ended before it could say so.
  if (last?.revision !== number) return choice(number, begun(number), created)
  if (number !== lastGood && last.observedGeneration !== wanted.generation)
    return choice(number, begun(number), created)
  if (!isAttemptOver(last, { remediation: { retries } })) return choice(number, last, created)
  if (last.retryAt !== undefined && Date.parse(last.retryAt) <= now) return choice(number, begun(number, last), created)
  const good = revisions.some((one) => one.number === lastGood) ? lastGood : undefined
  const remedied = strategy === 'none' ? number : strategy === 'rollback' ? (good ?? number) : (good ?? 0)
  return choice(remedied, last, created)
}

/** Whether it is over, and not repeated yet. */
export function isAttemptOver(
  { retryAt, failures }: InstallationAttempt,
  { remediation }: { readonly remediation: Pick<Remediation, 'retries'> },
): boolean {
  return retryAt !== undefined || failures > remediation.retries
}

/** A pinned revision is an attempt like any other, but for its remedy: it stays. */
export function choosePinned(
  pinned: number,
  generation: number,
  { attempt: last, lastGood }: Pick<InstallationStatus, 'attempt' | 'lastGood'>,
  now: number,
): Choice {
  const isSame = last?.revision === pinned && (pinned === lastGood || last.observedGeneration === generation)
  const attempt = isSame
    ? last
    : { revision: pinned, observedGeneration: generation, startedAt: timeText(now), failures: 0 }
  return { active: pinned, created: undefined, attempt, isSettled: pinned === lastGood }
}

export type AttemptResult =
  | { readonly what: 'healthy' }
  | { readonly what: 'waiting' }
  | { readonly what: 'failed'; readonly message: string }

interface AttemptVerdict {
  readonly lastGood: number | undefined
  readonly attempt: InstallationAttempt
  readonly history: readonly InstallationHistoryEntry[]
  /** When to look again without an event. */
  readonly afterMs: number | undefined
  /** What is active now differs from what the next reconcile applies. */
  readonly hasChanged: boolean
}

interface Limits {
  readonly timeoutMs: number
  readonly retryMs: number
  readonly retries: number
  readonly historyLimit: number
}

const mostRetryMs = 3_600_000

/** What follows from the state of the active revision's objects. */
export function concludeAttempt(
  choice: Choice,
  result: AttemptResult,
  { lastGood, history = [] }: Pick<InstallationStatus, 'lastGood' | 'history'>,
  revision: KnownRevision,
  limits: Limits,
  now: number,
): AttemptVerdict {
  const { attempt, active, isSettled } = choice
  const retryMs = attempt.retryAt === undefined ? undefined : Math.max(0, Date.parse(attempt.retryAt) - now)
  const same: AttemptVerdict = { lastGood, attempt, history, afterMs: retryMs, hasChanged: false }
  if (choice.isRemedying) return afterRollback(same, result, history, limits, now)
  if (isSettled || active !== attempt.revision) return same
  const { number, digest, version } = revision
  const entry = { revision: number, ...(version !== undefined && { version }), digest, at: timeText(now) }
  const deadline = Date.parse(attempt.startedAt) + limits.timeoutMs
  if (result.what === 'healthy') {
    const superseded = history.map((one): InstallationHistoryEntry =>
      one.state === 'Deployed' ? { ...one, state: 'Superseded' } : one,
    )
    const { retryAt: _, message: __, observedGeneration: ___, ...done } = attempt
    return {
      lastGood: number,
      attempt: { ...done, failures: 0 },
      history: recent(superseded, { ...entry, state: 'Deployed' }, limits),
      afterMs: undefined,
      hasChanged: false,
    }
  }
  const isLate = deadline <= now
  if (result.what === 'waiting' && !isLate) return { ...same, afterMs: deadline - now }
  // Counted already. Without a remedy it stays active: it may still become healthy.
  if (isAttemptOver(attempt, { remediation: limits })) return same
  const message =
    result.what === 'failed' ? result.message : `It was not healthy within ${limits.timeoutMs / 1000} seconds.`
  const failures = attempt.failures + 1
  const afterMs = Math.min(limits.retryMs * 2 ** (failures - 1), mostRetryMs)
  const mayRetry = failures <= limits.retries
  return {
    lastGood,
    attempt: {
      ...attempt,
      failures,
      message: cutText(message, 1024),
      ...(mayRetry && { retryAt: timeText(now + afterMs) }),
    },
    history: recent(history, { ...entry, state: 'Failed', message: cutText(message, 256) }, limits),
    afterMs: mayRetry ? afterMs : undefined,
    hasChanged: true,
  }
}

/** Rollback hooks that fail, or take too long, do not keep the last good revision from being active. */
function afterRollback(
  same: AttemptVerdict,
  result: AttemptResult,
  history: readonly InstallationHistoryEntry[],
  { timeoutMs }: Limits,
  now: number,
): AttemptVerdict {
  const { attempt, afterMs = Infinity } = same
  const failedAt = Date.parse(history.findLast(({ revision }) => revision === attempt.revision)?.at ?? '')
  // Without a record of the failure it is not known how long they have taken.
  const leftMs = Number.isNaN(failedAt) ? 0 : failedAt + timeoutMs - now
  if (result.what === 'waiting' && leftMs > 0) return { ...same, afterMs: Math.min(afterMs, leftMs) }
  const { message = '' } = attempt
  const more =
    result.what === 'healthy'
      ? ''
      : ` Its rollback did not end well: ${result.what === 'failed' ? result.message : 'it took too long.'}`
  const ended = { ...attempt, message: cutText(`${message}${more}`, 1024), isRemedied: true }
  return { ...same, attempt: ended, hasChanged: true }
}

/** With one entry for all attempts in a row with the same revision: retries must not push the others out. */
function recent(
  history: readonly InstallationHistoryEntry[],
  entry: InstallationHistoryEntry,
  { historyLimit }: Limits,
): readonly InstallationHistoryEntry[] {
  const before = history.at(-1)?.revision === entry.revision ? history.slice(0, -1) : history
  return [...before, entry].slice(-historyLimit * 2)
}

/** The revisions that are kept: the latest, and those that may become active again. */
export function retained(
  revisions: readonly number[],
  kept: readonly (number | undefined)[],
  historyLimit: number,
): ReadonlySet<number> {
  const latest = revisions.toSorted((a, b) => b - a).slice(0, historyLimit)
  return new Set([...latest, ...kept.filter((number) => number !== undefined)])
}

export function timeText(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
}
