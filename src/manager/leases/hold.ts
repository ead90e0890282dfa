/**
 * A hold: something that is ours for a while after it was last proven to be, and no longer.
 *
 * Two clocks count that while, and the hold is over when either says so. Timers run on when the machine's time is set
 * back; the machine's time has gone on when the process was stopped, or the whole machine, and its timers with it. The
 * while is counted from before the request was sent that proves the hold: nobody else can have begun to count earlier.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

/** A request under way that will prove the hold if it succeeds. */
export interface Attempt {
  readonly at: number
  readonly timer: Timer
  isOver: boolean
}

export interface Hold {
  /** Call before sending. */
  attempt(): Attempt
  /** It has failed. */
  drop(attempt: Attempt): void
  /** It has succeeded. False when that took so long that it proves nothing. */
  prove(attempt: Attempt): boolean
  isHeld(now: number): boolean
  /** Not held from now on, until it is proven again. */
  end(): void
}

export interface HoldOptions {
  readonly clock: Clock
  readonly lengthMs: number
  /** Time is up. Not called by `end`. */
  readonly onEnd: () => void
}

export function createHold({ clock, lengthMs, onEnd }: HoldOptions): Hold {
  let proven: Attempt | undefined

  /** A moment before the attempt: the clock was set back, and cannot be trusted to tell how long it was. */
  const holds = (attempt: Attempt, now: number): boolean =>
    !attempt.isOver && now >= attempt.at && now < attempt.at + lengthMs

  const drop = (attempt: Attempt): void => attempt.timer.cancel()

  return {
    attempt() {
      const timer = clock.after(lengthMs, () => {
        attempt.isOver = true
        if (proven !== attempt) return
        proven = undefined
        onEnd()
      })
      const attempt: Attempt = { at: clock.now(), timer, isOver: false }
      return attempt
    },
    drop,
    prove(attempt) {
      if (!holds(attempt, clock.now())) return false
      if (proven && proven !== attempt) drop(proven)
      proven = attempt
      return true
    },
    isHeld: (now) => proven !== undefined && holds(proven, now),
    end() {
      if (proven) drop(proven)
      proven = undefined
    },
  }
}
