import { jitter, type Random } from '../clock/random.ts'

export interface BackoffOptions {
  /** The first wait. @default 500 */
  readonly firstMs: number
  /** The longest wait. @default 30_000 */
  readonly maxMs: number
}

/** Waits that double with each failure, spread by chance, and start over after a success. It never gives up. */
export interface Backoff {
  /** How long to wait after one more failure; never less than the server asked for. */
  next(atLeastMs?: number): number
  reset(): void
}

export function backoff({ firstMs, maxMs }: BackoffOptions, random: Random): Backoff {
  let failures = 0
  return {
    next(atLeastMs = 0) {
      const wait = jitter(Math.min(firstMs * 2 ** Math.min(failures, 30), maxMs), random, 0.5)
      failures++
      return Math.max(wait, atLeastMs)
    },
    reset() {
      failures = 0
    },
  }
}
