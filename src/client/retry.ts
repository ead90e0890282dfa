/**
 * Which failed requests are retried, and when.
 *
 * Two questions decide. Is it certain that the server did not carry out the request? Then any request is retried. Otherwise
 * (the connection broke, 5xx, time-out) only an *idempotent* one: a request that has the same effect when it is carried out
 * twice, whatever other clients do in between.
 *
 * | request                                          | idempotent | because                                          |
 * | ------------------------------------------------ | ---------- | ------------------------------------------------ |
 * | get, list, opening of a watch or of logs         | yes        | reads                                            |
 * | anything with dryRun                             | yes        | changes nothing                                  |
 * | apply                                            | yes        | states the desired fields, not a change          |
 * | update with resourceVersion                      | yes        | the second one fails with `Conflict`             |
 * | merge or strategic patch with resourceVersion    | yes        | the same                                         |
 * | JSON patch that tests resourceVersion            | yes        | the same                                         |
 * | delete with a uid or resourceVersion             | yes        | an object recreated meanwhile does not match     |
 * | update, patch without resourceVersion            | no         | would undo other clients' changes in between     |
 * | delete without preconditions                     | no         | would delete an object recreated in between      |
 * | create                                           | no         | `AlreadyExists`, or two objects with generateName |
 * | deletecollection, eviction, token, exec          | no         | have an effect each time                         |
 *
 * Certainly not carried out: no connection was made; 429 (except when a disruption budget blocks an eviction: that is a
 * result for the caller); 503 with `Retry-After` in a Status, as API servers send it while they start and stop.
 *
 * A retried update or delete may fail because its first attempt succeeded, with `Conflict` or `NotFound`: the error then
 * has the earlier failure as its cause.
 */
import type { Clock } from '../clock/clock.ts'
import { jitter, type Random } from '../clock/random.ts'
import { transportErrors } from '../transport/errors.ts'
import { type ErrorDefinition, isMusterError, MusterError } from '../kube/muster-error.ts'
import { isJsonObject } from '../kube/json.ts'
import { clientErrors } from './errors.ts'
import { ApiError, isHeldByBudget } from './api-error.ts'
import type { DeleteOptions, PatchType } from './client.ts'

export interface RetryPolicy {
  /** Attempts in total, including the first. @default 5 */
  readonly attempts: number
  /** The wait before the second attempt; doubled for each further one, with a jitter of half. @default 250 */
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

/** Whether a write is idempotent; see the table above. */
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

const { Unreachable, HostNotFound, ProxyFailed } = clientErrors
const neverConnected = codesOf(Unreachable, HostNotFound, ProxyFailed)

const { RequestTimeout, ServerError, ServerTimeout, ServiceUnavailable, TooManyRequests } = clientErrors
const mayHaveActed = codesOf(
  transportErrors.ConnectionLost,
  RequestTimeout,
  ServerError,
  ServerTimeout,
  ServiceUnavailable,
)

function codesOf(...errors: readonly ErrorDefinition[]): ReadonlySet<string> {
  return new Set(errors.map(({ code }) => code))
}

function wasNotExecuted(error: MusterError): boolean {
  if (neverConnected.has(error.code)) return true
  if (error.code === TooManyRequests.code) return !isHeldByBudget(error)
  const isDelayed = error.code === ServiceUnavailable.code && error.retryAfterMs !== undefined
  return isDelayed && error instanceof ApiError && error.status.reason !== undefined
}

interface RetryableFailure {
  readonly error: unknown
  /** Failed attempts, including this one. */
  readonly failures: number
  readonly repeatable: boolean
  readonly now: number
  /** The deadline of the whole request. */
  readonly deadline: number
}

/** How long to wait before the next attempt; `undefined`: do not retry. */
export function retryDelay(failure: RetryableFailure, policy: RetryPolicy, random: Random): number | undefined {
  const { error, failures, repeatable, now, deadline } = failure
  if (!(error instanceof MusterError) || failures >= policy.attempts) return undefined
  if (!wasNotExecuted(error) && !(repeatable && mayHaveActed.has(error.code))) return undefined
  const backoff = jitter(Math.min(policy.baseMs * 2 ** (failures - 1), policy.maxMs), random, 0.5)
  // `Retry-After` is the minimum, plus jitter: clients that got the same value must not return at the same time.
  const wait = (error.retryAfterMs ?? 0) + backoff
  // A wait beyond the deadline is pointless: fail now with the cause.
  return now + wait < deadline ? wait : undefined
}

interface RetryLoop {
  readonly policy: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  readonly repeatable: boolean
  readonly deadline: number
  readonly signal: AbortSignal
  readonly onWait?: ((ms: number) => void) | undefined
}

/** Runs `attempt` until it succeeds or fails for good. */
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
      if (!(error instanceof MusterError && wasNotExecuted(error))) earlier = error
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
