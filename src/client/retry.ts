/**
 * Which failed request may be asked again, and when.
 *
 * Two questions decide. Is it certain that the server did not act? Then anything may be asked again. If it may have
 * acted (the connection broke, it answered 5xx, it kept silent), then only what is *repeatable*: what does no more
 * when carried out twice than once, whatever others do in between.
 *
 * | request                                          | repeatable | because                                          |
 * | ------------------------------------------------ | ---------- | ------------------------------------------------ |
 * | get, list, opening of a watch or of logs         | yes        | reads                                            |
 * | anything with dryRun                             | yes        | changes nothing                                  |
 * | apply                                            | yes        | says what is to be, not what is to change        |
 * | update with resourceVersion                      | yes        | a second one meets `Conflict`, never changes more |
 * | merge or strategic patch with resourceVersion    | yes        | the same                                         |
 * | JSON patch that tests resourceVersion            | yes        | the same                                         |
 * | delete with a uid or resourceVersion             | yes        | a namesake made meanwhile is another object      |
 * | update, patch without resourceVersion            | no         | would undo what others changed in between        |
 * | delete without preconditions                     | no         | would delete a namesake made in between          |
 * | create                                           | no         | a second one meets the first: `AlreadyExists`, or two objects with generateName |
 * | deletecollection, eviction, token, exec          | no         | act anew each time                               |
 *
 * Certain not to have acted: no connection came about; 429 (but not when a disruption budget holds an eviction:
 * that is an answer, and the caller's to hear); 503 with `Retry-After` in a Status, as API servers give it while
 * they start and stop.
 *
 * A repeated update or delete may meet the traces of its own first try, as `Conflict` or `NotFound`: the error then
 * has the earlier failure as its cause.
 */
import type { Clock } from '../clock/clock.ts'
import { jitter, type Random } from '../clock/random.ts'
import { type ErrorName, isMusterError, MusterError } from '../kube/errors.ts'
import { isJsonObject } from '../kube/json.ts'
import { ApiError, isHeldByBudget } from './api-error.ts'
import type { DeleteOptions, PatchType } from './client.ts'

export interface RetryPolicy {
  /** Tries in all, the first included. @default 5 */
  readonly attempts: number
  /** The wait before the second try; doubled before each further one, and spread by half. @default 250 */
  readonly baseMs: number
  /** @default 8_000 */
  readonly maxMs: number
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 5, baseMs: 250, maxMs: 8_000 }

export type RetryableWrite =
  | { readonly verb: 'create' | 'deleteCollection'; readonly dryRun?: boolean | undefined }
  | { readonly verb: 'update'; readonly dryRun?: boolean | undefined; readonly object: unknown }
  | {
      readonly verb: 'patch'
      readonly dryRun?: boolean | undefined
      readonly type: PatchType
      readonly patch: unknown
    }
  | {
      readonly verb: 'delete'
      readonly dryRun?: boolean | undefined
      readonly preconditions?: DeleteOptions['preconditions']
    }

/** Whether a write does no more when carried out twice; the table above. */
export function isRepeatable(write: RetryableWrite): boolean {
  if (write.dryRun) return true
  switch (write.verb) {
    case 'update':
      return hasVersion(write.object)
    case 'patch':
      if (write.type === 'apply') return true
      return write.type === 'json' ? testsVersion(write.patch) : hasVersion(write.patch)
    case 'delete':
      return Boolean(write.preconditions?.uid ?? write.preconditions?.resourceVersion)
    default:
      return false
  }
}

function hasVersion(object: unknown): boolean {
  const metadata = isJsonObject(object) ? object['metadata'] : undefined
  return isJsonObject(metadata) && Boolean(metadata['resourceVersion'])
}

function testsVersion(patch: unknown): boolean {
  const operations: readonly unknown[] = Array.isArray(patch) ? patch : []
  return operations.some(
    (operation) =>
      isJsonObject(operation) && operation['op'] === 'test' && operation['path'] === '/metadata/resourceVersion',
  )
}

const neverConnected: ReadonlySet<ErrorName> = new Set(['Unreachable', 'HostNotFound', 'ProxyFailed'])

const mayHaveActed: ReadonlySet<ErrorName> = new Set([
  'ConnectionLost',
  'RequestTimeout',
  'ServerError',
  'ServerTimeout',
  'ServiceUnavailable',
])

function isCertainlyUndone(error: MusterError): boolean {
  if (neverConnected.has(error.name)) return true
  if (error.name === 'TooManyRequests') return !isHeldByBudget(error)
  const isPutOff = error.name === 'ServiceUnavailable' && error.retryAfterMs !== undefined
  return isPutOff && error instanceof ApiError && error.status.reason !== undefined
}

export interface RetryableFailure {
  readonly error: unknown
  /** Tries that have failed, this one included. */
  readonly failures: number
  readonly repeatable: boolean
  readonly now: number
  /** When the whole request runs out of time. */
  readonly deadline: number
}

/** How long to wait before the next try; `undefined`: do not try again. */
export function retryDelay(failure: RetryableFailure, policy: RetryPolicy, random: Random): number | undefined {
  const { error, failures, repeatable, now, deadline } = failure
  if (!(error instanceof MusterError) || failures >= policy.attempts) return undefined
  if (!isCertainlyUndone(error) && !(repeatable && mayHaveActed.has(error.name))) return undefined
  const backoff = jitter(Math.min(policy.baseMs * 2 ** (failures - 1), policy.maxMs), random, 0.5)
  // What the server asks for is the least: those who were told the same must not come back together.
  const wait = (error.retryAfterMs ?? 0) + backoff
  // A wait that outlasts the deadline helps nobody: better to say now what went wrong.
  return now + wait < deadline ? wait : undefined
}

export interface RetryLoop {
  readonly policy: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  readonly repeatable: boolean
  readonly deadline: number
  readonly signal: AbortSignal
  readonly onWait?: ((ms: number) => void) | undefined
}

/** Runs `attempt` until it succeeds or its failure is final. */
export async function withRetries<T>(loop: RetryLoop, attempt: () => Promise<T>): Promise<T> {
  const { policy, clock, random, repeatable, deadline, signal } = loop
  let earlier: unknown
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      const wait = retryDelay({ error, failures, repeatable, now: clock.now(), deadline }, policy, random)
      if (wait === undefined) throw earlier === undefined ? error : withCause(error, earlier)
      if (!(error instanceof MusterError && isCertainlyUndone(error))) earlier = error
      loop.onWait?.(wait)
      await clock.sleep(wait, signal)
    }
  }
}

function withCause(error: unknown, cause: unknown): unknown {
  if (isMusterError(error) && error.cause === undefined && error !== cause) {
    Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
  }
  return error
}
