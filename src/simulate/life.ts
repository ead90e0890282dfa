/**
 * The life of one process of an operator: its clock, which may be set, and its end, after which nothing of it moves. A
 * process that crashed is not told so: its requests are never answered, and its timers never fire.
 */
import type { Clock } from '../clock/clock.ts'
import { sleepOn } from '../clock/clock.ts'
import { MusterError } from '../kube/errors.ts'

export interface Life {
  /** The first process is 1. */
  readonly number: number
  readonly clock: Clock
  /** Aborted at its end. */
  readonly signal: AbortSignal
  readonly isOver: boolean
  /** By how much its clock is wrong. */
  skewMs: number
  /** Until then nothing reaches its caches. */
  frozenUntil: number
  /** What its caches are shown instead of the present, and until when. */
  lag: { readonly revision: number; readonly until: number } | undefined
  end(): void
}

export function beginLife(number: number, time: Clock): Life {
  const ending = new AbortController()
  const after: Clock['after'] = (ms, fire) =>
    time.after(ms, () => {
      if (!ending.signal.aborted) fire()
    })
  const life: Life = {
    number,
    signal: ending.signal,
    get isOver() {
      return ending.signal.aborted
    },
    skewMs: 0,
    frozenUntil: 0,
    lag: undefined,
    clock: {
      now: () => time.now() + life.skewMs,
      after,
      sleep: (ms, signal) => sleepOn(after, ms, signal),
    },
    end: () => ending.abort(new MusterError('ConnectionLost', 'the process is gone.')),
  }
  return life
}
