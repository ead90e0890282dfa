/**
 * Priority with ageing: who goes first among those that may run. A change goes before a retry, a retry before a resync;
 * but whoever waits grows older, and in the end goes before everybody, so that nothing starves.
 *
 * That is within an operator. Between operators shares decide, for else one with much to do would keep the others waiting;
 * but a resync has nothing to do as far as anybody knows, so it gives way to them all.
 */

/** Why a key is to run. */
export type RunCause = 'change' | 'retry' | 'resync'

export interface PriorityOptions {
  /** How long it takes to grow as urgent as the class above. @default 10_000 */
  readonly ageMs: number
}

const ranks: Readonly<Record<RunCause, number>> = { change: 0, retry: 1, resync: 2 }

/** The more urgent of two. */
export function moreUrgent(a: RunCause, b: RunCause): RunCause {
  return ranks[a] <= ranks[b] ? a : b
}

/**
 * The smaller goes first. It is the moment from which on a key would have had to wait as a change to be as urgent as it
 * is, so two keys compare the same at every time, and a queue never has to be sorted anew.
 */
export function urgency(cause: RunCause, since: number, { ageMs }: PriorityOptions): number {
  return since + ranks[cause] * ageMs
}

/** Whether a key lets the keys of other operators go first: a resync does, until it is as urgent as a retry. */
export function givesWay(cause: RunCause, since: number, now: number, { ageMs }: PriorityOptions): boolean {
  return cause === 'resync' && now < since + ageMs
}
