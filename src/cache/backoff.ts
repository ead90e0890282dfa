import { jitter, type Random } from '../clock/random.ts'

export interface BackoffOptions {
  /** The first wait. @default 500 */
  readonly firstMs: number
  /** The longest wait. @default 30_000 */
  readonly maxMs: number
}

/**
 * How long to wait after so many failures in a row: doubling, spread by chance so that many waiters do not come back
 * together, and never less than the server asked for. It never says to give up.
 */
export function backoffMs(failures: number, { firstMs, maxMs }: BackoffOptions, random: Random, atLeastMs = 0): number {
  const doublings = Math.min(Math.max(failures - 1, 0), 30)
  return Math.max(jitter(Math.min(firstMs * 2 ** doublings, maxMs), random, 0.5), atLeastMs)
}
