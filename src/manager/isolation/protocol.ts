/**
 * What a manager and an isolated operator (its guest) say to each other: texts of JSON, the same over a port of a worker and a
 * pipe of a process. There are two channels. On one, both speak when they have something to say; on the other the guest
 * asks for something to read and stands still until it is there, because author code reads without waiting.
 *
 * A guest is not believed: `wire.ts` looks at everything that it says.
 */
import { errorTable, isMusterError, MusterError, type ErrorName } from '../../kube/errors.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { LiveCommandOptions, HttpCall } from '../../operator/live.ts'
import type { ObjectName, ViewSelection } from '../../operator/view.ts'
import type { Question } from './consultation.ts'
import type { Description } from './description.ts'

/** What a guest tries to do before it loads anything: each must fail. */
export interface Canary {
  /** A port on loopback where the manager listens. */
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
      /** Load it even where something is not enforced. */
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
      /** Whether calls to the outside will be carried out. */
      readonly live: boolean
    }
  | { readonly say: 'outcomes'; readonly id: number; readonly now: number; readonly outcomes: readonly WireOutcome[] }
  | { readonly say: 'answer'; readonly id: number; readonly call: number; readonly answer: Answer }
  /** Nobody waits for that reconcile any more. */
  | { readonly say: 'drop'; readonly id: number }
  /** An API server waits for the answer. */
  | { readonly say: 'consult'; readonly id: number; readonly question: Question }
  | { readonly say: 'ping'; readonly count: number }

export type FromGuest =
  | { readonly say: 'ready'; readonly operator: Description }
  /** What it could do although it must not. */
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

export interface WireError {
  readonly name: string
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

export type WireOutcome =
  | { readonly result: 'done'; readonly object?: JsonObject | undefined }
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

/** An error as data. Neither stack nor cause travels: one is of no use there, the other may hold what is nobody's business. */
export function encodeError(error: unknown): WireError {
  if (isMusterError(error)) {
    const { name, message, retryAfterMs } = error
    return { name, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  }
  try {
    // Typed as texts, and yet an author may have put anything there.
    const { name, message }: { readonly name: unknown; readonly message: unknown } =
      error instanceof Error ? error : { name: 'Error', message: error }
    return { name: String(name), message: String(message) }
  } catch {
    return { name: 'Error', message: 'something that has no text was thrown' }
  }
}

export function decodeError(told: unknown): Error {
  const { name, message, retryAfterMs } = isJsonObject(told) ? told : {}
  const text = typeof message === 'string' ? message : 'no message'
  if (typeof name === 'string' && Object.hasOwn(errorTable, name)) {
    return new MusterError(name as ErrorName, text, typeof retryAfterMs === 'number' ? { retryAfterMs } : {})
  }
  const error = new Error(text)
  if (typeof name === 'string') error.name = name
  return error
}

/** A resource without what else a kind may carry. */
export function plainResource({ group, version, kind, plural, namespaced }: Resource): Resource {
  return { group, version, kind, plural, namespaced }
}
