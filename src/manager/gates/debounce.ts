/**
 * Debounce: after the first change wait for more, but never longer than `maxMs`.
 *
 * A gate is a function of (state, input, now). It never sleeps: it says *when* a key may run, and the scheduler asks again
 * then. So a simulated day takes a second, and a test no time.
 */

export interface DebounceOptions {
  /** How long the input must be quiet before a reconcile. @default 0 */
  readonly quietMs: number
  /** The longest wait after the first change, however busy the input. @default 1000 */
  readonly maxMs: number
}

/** Changes collected for one key and not yet reconciled. */
export interface Collected {
  readonly since: number
  readonly latest: number
}

export function noteChange(collected: Collected | undefined, now: number): Collected {
  return { since: collected?.since ?? now, latest: now }
}

/** The moment the collected changes are due. */
export function quietAt({ since, latest }: Collected, { quietMs, maxMs }: DebounceOptions): number {
  // A steady trickle must not starve the operator: maxMs counts from the first change, not the last.
  return Math.min(latest + quietMs, since + maxMs)
}
