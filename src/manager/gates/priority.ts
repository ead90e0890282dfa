/**
 * Priority with ageing: the order of the keys that may run. A change goes before a retry, a retry before a resync; but
 * a waiting key ages, and in the end goes before all others, so that no key starves.
 *
 * This holds within an operator. Between operators shares decide, since otherwise a busy operator would starve the
 * others; but a resync is not known to have anything to do, so it yields to all of them.
 */

/** Why a key is queued. */
export type RunCause = 'change' | 'retry' | 'resync'

export interface PriorityOptions {
  /** How long a key waits until it is as urgent as the next class. @default 10_000 */
  readonly ageMs: number
}

const ranks: Readonly<Record<RunCause, number>> = { change: 0, retry: 1, resync: 2 }

/** The more urgent of two causes. */
export function moreUrgent(a: RunCause, b: RunCause): RunCause {
  return ranks[a] <= ranks[b] ? a : b
}

/**
 * The smaller goes first. It is the time at which a change would have to be queued to be as urgent, so the order of two
 * keys never changes, and the queue never has to be sorted again.
 */
export function urgency(cause: RunCause, since: number, { ageMs }: PriorityOptions): number {
  return since + ranks[cause] * ageMs
}

/** Whether a key yields to the keys of other operators: a resync does, until it is as urgent as a retry. */
export function givesWay(cause: RunCause, since: number, now: number, { ageMs }: PriorityOptions): boolean {
  return cause === 'resync' && now < since + ageMs
}
