/**
 * An error that a user can act on: a stable code, a retry class and a cure. Its message has cause and place.
 *
 * Each layer defines the errors that it raises in its own `errors.ts`. `src/cli/error-table.ts` joins these tables, and
 * `docs/errors.md` is generated from it.
 */

/**
 * What a caller may do about an error:
 * - `terminal`: the same request will fail again; something must change first
 * - `conflict`: another writer was faster; read again, then retry
 * - `throttled`: the server throttles the request; wait at least as long as it says
 * - `transient`: may go away by itself; retry with back-off
 */
export type RetryClass = 'terminal' | 'conflict' | 'throttled' | 'transient'

interface ErrorEntry {
  /** Never changes, and is never given to another error. */
  readonly code: `MUS${number}`
  readonly retry: RetryClass
  /** What happened, one sentence: for the documentation. */
  readonly meaning: string
  /** What a user can do, one sentence. */
  readonly cure: string
}

/** One error of a table. */
export interface ErrorDefinition extends ErrorEntry {
  readonly name: string
}

type ErrorEntries = Readonly<Record<string, ErrorEntry>>

/** The errors of one layer, by name. */
export type ErrorTable<Entries extends ErrorEntries = ErrorEntries> = {
  readonly [Name in keyof Entries]: ErrorDefinition
}

export function defineErrors<const Entries extends ErrorEntries>(entries: Entries): ErrorTable<Entries> {
  const named = Object.entries(entries).map(([name, entry]) => [name, { name, ...entry }] as const)
  return Object.fromEntries(named) as ErrorTable<Entries>
}

export class MusterError extends Error {
  override readonly name: string
  readonly code: string
  readonly retry: RetryClass
  readonly cure: string
  /** The minimum wait before a retry, from `Retry-After`. */
  readonly retryAfterMs: number | undefined

  /** @param definition from the table of a layer; or another error, to give it another message */
  constructor(
    definition: Pick<MusterError, 'name' | 'code' | 'retry' | 'cure'>,
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = definition.name
    this.code = definition.code
    this.retry = definition.retry
    this.cure = definition.cure
    this.retryAfterMs = options.retryAfterMs
  }
}

/** Code, name, message and cure: the line that a user sees. */
export function describeError(error: unknown): string {
  if (!(error instanceof MusterError)) return error instanceof Error ? error.message : String(error)
  return `${error.code} ${error.name}: ${error.message} ${error.cure} See docs/errors.md#${error.code.toLowerCase()}`
}

/** Whether this is an error of Muster; if definitions are given: one of these. */
export function isMusterError(error: unknown, ...definitions: readonly ErrorDefinition[]): error is MusterError {
  return (
    error instanceof MusterError && (definitions.length === 0 || definitions.some(({ code }) => code === error.code))
  )
}
