/**
 * What can go wrong in a reconcile, in classes that say what to do about it, and for how long to wait.
 *
 * A failure that comes again and again backs off exponentially, counted for each object, step and reason on its own: a
 * new trouble starts anew. A terminal one waits for a change, and so does giving up, which is no failure at all but a
 * decision, and has a reason.
 */
import { isMusterError, type RetryClass } from '../kube/errors.ts'

/** An author's word that a step cannot go on, and why. */
export class OperatorError extends Error {
  /** One word for programs: becomes the reason of the condition. */
  readonly reason: string
  readonly retry: RetryClass
  readonly gaveUp: boolean
  /** When to try again, where that is known. */
  readonly afterMs: number | undefined

  constructor(reason: string, message: string, options: OperatorErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'OperatorError'
    this.reason = reason
    this.retry = options.retry ?? 'transient'
    this.gaveUp = options.gaveUp ?? false
    this.afterMs = options.afterMs
  }
}

interface OperatorErrorOptions {
  readonly retry?: RetryClass
  readonly gaveUp?: boolean
  readonly afterMs?: number
  readonly cause?: unknown
}

/** Ends the reconcile without an error: nothing is tried again until something changes. */
export function giveUp(reason: string, message: string): never {
  throw new OperatorError(reason, message, { retry: 'terminal', gaveUp: true })
}

/** Ends the reconcile with an error that only a change can mend. */
export function fail(reason: string, message: string, cause?: unknown): never {
  throw new OperatorError(reason, message, { retry: 'terminal', cause })
}

/** Ends the reconcile with an error that may go away by itself. */
export function tryLater(
  reason: string,
  message: string,
  { afterMs, cause }: { readonly afterMs?: number; readonly cause?: unknown } = {},
): never {
  throw new OperatorError(reason, message, { cause, ...(afterMs !== undefined && { afterMs }) })
}

/** A failure as the ledger keeps it. */
export interface ReconcileFailure {
  readonly step: string
  /** What it happened to: a resource's name, or `cr`. */
  readonly subject: string
  readonly reason: string
  readonly message: string
  readonly retry: RetryClass
  readonly gaveUp: boolean
  readonly afterMs: number | undefined
}

export function failureOf(error: unknown, step: string, subject: string): ReconcileFailure {
  const at = { step, subject, gaveUp: false, afterMs: undefined }
  if (error instanceof OperatorError) {
    const { reason, message, retry, gaveUp, afterMs } = error
    return { ...at, reason: reasonOf(reason, gaveUp ? 'GaveUp' : 'Error'), message, retry, gaveUp, afterMs }
  }
  if (isMusterError(error)) {
    const { name, message, retry, retryAfterMs } = error
    return { ...at, reason: name, message, retry, afterMs: retryAfterMs }
  }
  // Whatever author code throws by accident: its message is for the log and the condition, its stack for neither.
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: error }
  return { ...at, reason: reasonOf(name, 'Error'), message: textOf(message) || 'no message', retry: 'transient' }
}

/** A condition's reason must be one word, and no longer than an Event's may be. */
function reasonOf(word: string, otherwise: string): string {
  return /^[A-Za-z]\w{0,127}$/.test(word) ? word : otherwise
}

/** Not everything that can be thrown can be put into words. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that has no text was thrown'
  }
}

export interface BackOffOptions {
  /** The first wait. @default 500 */
  readonly firstMs: number
  /** The longest. @default 300_000 */
  readonly mostMs: number
}

export const defaultBackOff: BackOffOptions = { firstMs: 500, mostMs: 300_000 }

/** Failures of one object that have not been followed by success, by step and reason. */
export type Failures = ReadonlyMap<string, number>

export const noFailures: Failures = new Map()

/** How often it came in a row, this time included; other troubles are forgotten. */
export function countFailure(failures: Failures, { step, subject, reason }: ReconcileFailure): Failures {
  const key = `${step} ${subject} ${reason}`
  return new Map([[key, (failures.get(key) ?? 0) + 1]])
}

/** What mends these (a role, a quota, a credential) is no input of anybody: no event tells when it is mended. */
export function isMendedElsewhere(reason: string): boolean {
  return reason === 'Forbidden' || reason === 'Unauthorized'
}

/** When to try again; undefined: not before something changes. */
export function reconcileRetryDelay(
  failure: ReconcileFailure,
  failures: Failures,
  options: BackOffOptions = defaultBackOff,
): number | undefined {
  if (failure.retry === 'terminal') {
    return isMendedElsewhere(failure.reason) && !failure.gaveUp ? options.mostMs : undefined
  }
  const [times = 1] = failures.values()
  // Somebody was faster: what he wrote is on its way here. The wait only keeps two of us from racing each other.
  const wait = Math.min(options.firstMs * 2 ** Math.min(times - 1, 30), options.mostMs)
  return Math.max(wait, failure.afterMs ?? 0)
}
