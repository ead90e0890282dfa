/**
 * Share: divides the workers among the operators, so that no operator waits for another one that hangs.
 *
 * An operator may use all free workers, with two exceptions. A few workers are reserved for operators that have no
 * reconcile in progress. And a reconcile that takes long gives its worker back: it goes on, and counts against its own
 * operator's concurrency only. An operator with long reconciles has no claim to reserved workers until one of its
 * reconciles ends in time.
 *
 * So operators that hang hold at worst all workers for `patienceMs`, and after that never the reserved ones.
 */

interface ShareOptions {
  /** Concurrent reconciles of all operators. */
  readonly concurrency: number
  /** A reconcile holds its worker for at most this long. */
  readonly patienceMs: number
}

/** Longer than a healthy reconcile takes, and short for the keys that wait. */
export const defaultPatienceMs = 5000

/** A quarter of the workers, and at most one for each other operator. */
export function keptPlaces({ concurrency }: ShareOptions, operators: number): number {
  return Math.max(0, Math.min(Math.floor(concurrency / 4), operators - 1))
}

/** When a reconcile that began at `since` gives its worker back. */
export function yieldsAt(since: number, { patienceMs }: ShareOptions): number {
  return since + patienceMs
}
