/**
 * Share: how the places of all operators are divided, so that no operator waits for another that hangs.
 *
 * An operator may use whatever is free, with two exceptions. A few places are kept for operators that have nothing under way:
 * whoever runs already has had its share. And a run that lasts gives its place back: it goes on, and counts for its own operator
 * alone. An operator whose runs last is not one of those that places are kept for, until one of its runs ends in time.
 *
 * So operators that hang hold, at worst, all places for as long as our patience lasts, and afterwards never the kept ones.
 */

export interface ShareOptions {
  /** Runs of all operators at once. */
  readonly concurrency: number
  /** A run keeps its place this long. */
  readonly patienceMs: number
}

/** Longer than a run takes that is well, and short for whoever waits. */
export const defaultPatienceMs = 5000

/** One in four, and never more than there are others. */
export function keptPlaces({ concurrency }: ShareOptions, operators: number): number {
  return Math.max(0, Math.min(Math.floor(concurrency / 4), operators - 1))
}

/** When a run that began then gives its place back. */
export function yieldsAt(since: number, { patienceMs }: ShareOptions): number {
  return since + patienceMs
}
