/**
 * A secret that goes stale: a token in a file, the answer of a plugin, an ID token.
 *
 * One fetch serves everyone who asks meanwhile. What was fetched is kept until it should be renewed; when renewing
 * fails it serves on until it really expires. Each credential holds its own: nothing is shared by name.
 */
import type { Clock } from '../../clock/clock.ts'

export interface Fetched<T> {
  readonly value: T
  /** From this moment on a new one is fetched. */
  readonly renewAt: number
  /** From this moment on the value is of no use. */
  readonly expiresAt: number
}

export interface Renewable<T> {
  /** The value, fetched first when need be. An aborted caller leaves; the fetch goes on for the others. */
  get(signal?: AbortSignal): Promise<T>
  /**
   * Somebody did not accept the value. True when asking again may help. `isCurrent` tells whether the refused value
   * is the one held now: if not, it was renewed meanwhile.
   */
  refuse(isCurrent: (value: T) => boolean): boolean
}

/** A failed fetch answers for this long, and a fetched value serves at least as long: callers in a hurry start no storm. */
const restMs = 1_000

/** Values refused one after the other are fetched again this often at most. */
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
