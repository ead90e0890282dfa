/**
 * Failures of a reconcile: their retry classes and the back-off.
 *
 * A repeated failure backs off exponentially, counted for each object, step and reason: a new failure starts anew. A
 * terminal failure waits for a change, and so does giving up, which is not a failure but a decision with a reason. Where
 * no watch event would signal the change, a terminal failure is retried.
 */
import { isMusterError, type RetryClass } from '../kube/muster-error.ts'
import { operatorErrors } from './errors.ts'
import { placeInAuthorCode } from './author-place.ts'

/** Thrown by author code to end a step, with a reason. */
export class OperatorError extends Error {
  /** A CamelCase word: the reason of the condition. */
  readonly reason: string
  readonly retry: RetryClass
  readonly gaveUp: boolean
  /** When to retry, if known. */
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

/** Ends the reconcile without an error: no retry until something changes. */
export function giveUp(reason: string, message: string): never {
  throw new OperatorError(reason, message, { retry: 'terminal', gaveUp: true })
}

/** Ends the reconcile with an error that only a change can resolve. */
export function fail(reason: string, message: string, cause?: unknown): never {
  throw new OperatorError(reason, message, { retry: 'terminal', cause })
}

/** Ends the reconcile with a transient error. */
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
  /** The id of the dependent, or `cr`. */
  readonly subject: string
  readonly reason: string
  readonly message: string
  readonly retry: RetryClass
  readonly gaveUp: boolean
  readonly afterMs: number | undefined
  /** Where author code threw it: file and line. For the log alone. */
  readonly at?: string | undefined
  /** The stack of an error that the author did not foresee. For the log alone. */
  readonly stack?: string | undefined
}

export function failureOf(error: unknown, step: string, subject: string): ReconcileFailure {
  const at = { step, subject, gaveUp: false, afterMs: undefined }
  if (error instanceof OperatorError) {
    const { reason, message, retry, gaveUp, afterMs } = error
    return { ...at, reason: reasonOf(reason, gaveUp ? 'GaveUp' : 'Error'), message, retry, gaveUp, afterMs }
  }
  if (isMusterError(error)) {
    const { name, message, retry, retryAfterMs } = error
    const place = placeInAuthorCode(error)
    return { ...at, reason: name, message, retry, afterMs: retryAfterMs, ...(place !== undefined && { at: place }) }
  }
  // An unexpected error from author code: its message goes to the log and the condition, its stack to the log alone.
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: error }
  return {
    ...at,
    reason: reasonOf(name, 'Error'),
    message: textOf(message) || 'no message',
    retry: 'transient',
    ...originOf(error),
  }
}

/** Place and stack of a thrown error. */
function originOf(error: unknown): Pick<ReconcileFailure, 'at' | 'stack'> {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return {}
  const place = placeInAuthorCode(error)
  return { ...(place !== undefined && { at: place }), stack: error.stack.slice(0, mostStack) }
}

const mostStack = 4096

/** A condition's reason must be one word, no longer than an Event's may be. */
function reasonOf(word: string, otherwise: string): string {
  return /^[A-Za-z]\w{0,127}$/.test(word) ? word : otherwise
}

/** A thrown value may have no string form. */
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

/** The count of this failure in a row, this time included; other failures are reset. */
export function countFailure(failures: Failures, { step, subject, reason }: ReconcileFailure): Failures {
  const key = `${step} ${subject} ${reason}`
  return new Map([[key, (failures.get(key) ?? 0) + 1]])
}

/** An RBAC change is no input of any operator: no watch event signals it, so these failures are retried. */
export function isAuthFailure(reason: string): boolean {
  return reason === 'Forbidden' || reason === 'Unauthorized'
}

/** The retry delay; undefined: not before something changes. */
export function reconcileRetryDelay(
  failure: ReconcileFailure,
  failures: Failures,
  options: BackOffOptions = defaultBackOff,
): number | undefined {
  if (failure.retry === 'terminal') {
    if (failure.gaveUp) return undefined
    if (isAuthFailure(failure.reason)) return options.mostMs
    // Objects of another owner are not watched: their deletion shows when the write is tried again.
    if (failure.reason !== operatorErrors.NotOurs.name) return undefined
  }
  const [times = 1] = failures.values()
  // On a conflict the other write is about to arrive by the watch; the back-off only keeps two writers from racing.
  const wait = Math.min(options.firstMs * 2 ** Math.min(times - 1, 30), options.mostMs)
  return Math.max(wait, failure.afterMs ?? 0)
}
