/**
 * The protocol between a manager and an isolated operator (its guest): JSON messages, the same over a worker's port and
 * a process's pipe. There are two channels. On one, both sides send asynchronously; on the other, the guest reads
 * synchronously and blocks, because author code reads without `await`.
 *
 * A guest is not trusted: `wire.ts` validates all of its messages.
 */
import { cacheErrors } from '../../../cache/errors.ts'
import { clientErrors } from '../../../client/errors.ts'
import { kubeErrors } from '../../../kube/errors.ts'
import { type ErrorTable, isMusterError, MusterError } from '../../../kube/muster-error.ts'
import { isJsonObject, type JsonObject } from '../../../kube/json.ts'
import { operatorErrors } from '../../../operator/errors.ts'
import { sidecarErrors } from '../../../sidecar/errors.ts'
import { systemErrors } from '../../../system/errors.ts'
import { transportErrors } from '../../../transport/errors.ts'
import { managerErrors } from '../../errors.ts'
import type { Resource } from '../../../kube/kind.ts'
import type { LiveCommandOptions, HttpCall } from '../../../operator/live.ts'
import type { ObjectName, ViewSelection } from '../../../operator/view/view.ts'
import type { Question } from './consultation.ts'
import type { Description } from './description.ts'

/** What a guest attempts before it loads anything: each attempt must fail. */
export interface Canary {
  /** A loopback port on which the manager listens. */
  readonly port: number
  /** Files that it must not be able to read. */
  readonly files: readonly string[]
}

export type ToGuest =
  | {
      readonly say: 'load'
      readonly file: string
      readonly exported: string
      readonly canary: Canary
      /** Load the operator even if a restriction is not enforced. */
      readonly tolerant: boolean
    }
  | {
      readonly say: 'run'
      readonly id: number
      readonly controller: string
      readonly now: number
      readonly cr: JsonObject
      readonly config: unknown
      readonly memory: WireMemory
      /** Whether calls to the outside are carried out. */
      readonly live: boolean
    }
  | { readonly say: 'outcomes'; readonly id: number; readonly now: number; readonly outcomes: readonly WireOutcome[] }
  | { readonly say: 'answer'; readonly id: number; readonly call: number; readonly answer: Answer }
  /** The reconcile is over. */
  | { readonly say: 'drop'; readonly id: number }
  /** An API server waits for the answer. */
  | { readonly say: 'consult'; readonly id: number; readonly question: Question }
  | { readonly say: 'ping'; readonly count: number }

export type FromGuest =
  | { readonly say: 'ready'; readonly operator: Description }
  /** Attempts that should have failed. */
  | { readonly say: 'unconfined'; readonly leaks: readonly string[] }
  | { readonly say: 'unloaded'; readonly error: WireError }
  | { readonly say: 'wave'; readonly id: number; readonly wave: readonly unknown[] }
  | ({ readonly say: 'call'; readonly id: number; readonly call: number } & LiveCall)
  | { readonly say: 'done'; readonly id: number; readonly conclusion: JsonObject }
  | { readonly say: 'threw'; readonly id: number; readonly error: WireError }
  | { readonly say: 'opinion'; readonly id: number; readonly answer: Answer }
  | { readonly say: 'pong'; readonly count: number }

export type LiveCall =
  | {
      readonly what: 'exec'
      readonly pod: ObjectName
      readonly command: readonly string[]
      readonly options?: LiveCommandOptions | undefined
    }
  | { readonly what: 'http'; readonly http: HttpCall }

export type ReadRequest = { readonly id: number; readonly resource: Resource } & (
  | { readonly what: 'get'; readonly name: ObjectName }
  | { readonly what: 'list'; readonly selection: ViewSelection }
  | { readonly what: 'owned'; readonly uid: string }
  | { readonly what: 'serves' }
)

export type Answer = { readonly value?: unknown } | { readonly error: WireError }

interface WireError {
  readonly name: string
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

export type WireOutcome =
  | { readonly result: 'done'; readonly object?: JsonObject | undefined }
  | { readonly result: 'exists'; readonly object: JsonObject }
  | { readonly result: 'failed'; readonly error: WireError }

export interface WireMemory {
  readonly failures: readonly Pair<number>[]
  readonly settled: readonly Pair<WireSettled>[]
  readonly refused: readonly Pair<WireSettled & { readonly crVersion: string; readonly error: WireError }>[]
}

type Pair<T> = readonly [string, T]

interface WireSettled {
  readonly hash: string
  readonly resourceVersion: string
}

/** Errors that may reach an operator, and leave it again. */
const knownErrors: ErrorTable = {
  ...kubeErrors,
  ...systemErrors,
  ...transportErrors,
  ...clientErrors,
  ...cacheErrors,
  ...sidecarErrors,
  ...operatorErrors,
  ...managerErrors,
}

/** An error as data, without stack and cause: the first is useless there, the second may contain secrets. */
export function encodeError(error: unknown): WireError {
  if (isMusterError(error)) {
    const { name, message, retryAfterMs } = error
    return { name, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  try {
    // Typed as strings, but an author may have assigned anything.
    const { name, message }: { readonly name: unknown; readonly message: unknown } =
      error instanceof Error ? error : { name: 'Error', message: error }
    return { name: String(name), message: String(message) }
  } catch {
    return { name: 'Error', message: 'something that has no text was thrown' }
  }
}

export function decodeError(received: unknown): Error {
  const { name, message, retryAfterMs } = isJsonObject(received) ? received : {}
  const text = typeof message === 'string' ? message : 'no message'
  const definition = typeof name === 'string' && Object.hasOwn(knownErrors, name) ? knownErrors[name] : undefined
  if (definition) {
    return new MusterError(definition, text, typeof retryAfterMs === 'number' ? { retryAfterMs } : {})
  }
  const error = new Error(text)
  if (typeof name === 'string') error.name = name
  return error
}

/** A resource without the other members of a kind. */
export function plainResource({ group, version, kind, plural, namespaced }: Resource): Resource {
  return { group, version, kind, plural, namespaced }
}
