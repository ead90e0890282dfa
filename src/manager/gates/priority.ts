/**
 * Priority with ageing: who goes first among those that may run. A change goes before a retry, a retry before a resync;
 * but whoever waits grows older, and in the end goes before everybody, so that nothing starves.
 */

/** Why a key is to run. */
export type Cause = 'change' | 'retry' | 'resync'

export interface PriorityOptions {
  /** How long it takes to grow as urgent as the class above. @default 10_000 */
  readonly ageMs: number
}

const ranks: Readonly<Record<Cause, number>> = { change: 0, retry: 1, resync: 2 }

/** The more urgent of two. */
export function moreUrgent(a: Cause, b: Cause): Cause {
  return ranks[a] <= ranks[b] ? a : b
}

/**
 * The smaller goes first. It is the moment from which on a key would have had to wait as a change to be as urgent as it
 * is, so two keys compare the same at every time, and a queue never has to be sorted anew.
 */
export function urgency(cause: Cause, since: number, { ageMs }: PriorityOptions): number {
  return since + ranks[cause] * ageMs
}
