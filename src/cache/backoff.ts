import { jitter, type Random } from '../clock/random.ts'

export interface BackoffOptions {
  /** The first wait. @default 500 */
  readonly firstMs: number
  /** The longest wait. @default 30_000 */
  readonly maxMs: number
}

/**
 * Exponential back-off after consecutive failures: doubling, with jitter so that many reflectors do not retry at the same
 * moment, and never less than the server's `Retry-After`. There is no last attempt.
 */
export function backoffMs(failures: number, { firstMs, maxMs }: BackoffOptions, random: Random, atLeastMs = 0): number {
  const doublings = Math.min(Math.max(failures - 1, 0), 30)
  return Math.max(jitter(Math.min(firstMs * 2 ** doublings, maxMs), random, 0.5), atLeastMs)
}
