/**
 * A secret that expires: a token in a file, the credential of a plugin, an ID token.
 *
 * Concurrent callers share one fetch. A value is kept until it should be renewed; if renewing fails, it is used until it
 * really expires. Each credential holds its own: nothing is shared by name.
 */
import type { Clock } from '../../clock/clock.ts'

export interface Fetched<T> {
  readonly value: T
  /** From this time on a new one is fetched. */
  readonly renewAt: number
  /** From this time on the value is invalid. */
  readonly expiresAt: number
}

export interface Renewable<T> {
  /** The value, fetched if necessary. An aborted caller leaves; the fetch continues for the others. */
  get(signal?: AbortSignal): Promise<T>
  /**
   * A server rejected the value. True if a retry may succeed. `isCurrent` tells whether the rejected value is the one held
   * now: if not, it was renewed meanwhile.
   */
  refuse(isCurrent: (value: T) => boolean): boolean
}

/** A failed fetch is cached for this long, and a fetched value is used at least as long: many callers cause no storm. */
const restMs = 1_000

/** Minimum interval between fetches of values that are rejected repeatedly. */
const refusalRestMs = 10_000

export function renewable<T>(fetch: () => Promise<Fetched<T>>, clock: Clock): Renewable<T> {
  let held: Fetched<T> | undefined
  let pending: Promise<T> | undefined
  let failure: { readonly error: unknown; readonly until: number } | undefined
  let refusedAt = Number.NEGATIVE_INFINITY

  const renew = async (): Promise<T> => {
    try {
      const fetched = await fetch()
      const rested = clock.now() + restMs
      held = {
        value: fetched.value,
        renewAt: Math.max(fetched.renewAt, rested),
        expiresAt: Math.max(fetched.expiresAt, rested),
      }
      return held.value
    } catch (error) {
      const now = clock.now()
      if (held && now < held.expiresAt) {
        held = { ...held, renewAt: now + restMs }
        return held.value
      }
      failure = { error, until: now + restMs }
      throw error
    } finally {
      pending = undefined
    }
  }

  return {
    async get(signal) {
      signal?.throwIfAborted()
      const now = clock.now()
      if (held && now < held.renewAt && now < held.expiresAt) return held.value
      if (failure && now < failure.until) throw failure.error
      failure = undefined
      pending ??= renew()
      return await unlessAborted(pending, signal)
    },
    refuse(isCurrent) {
      if (pending || !held || !isCurrent(held.value)) return true
      if (clock.now() - refusedAt < refusalRestMs) return false
      refusedAt = clock.now()
      held = undefined
      return true
    },
  }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
