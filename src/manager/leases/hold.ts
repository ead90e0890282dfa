/**
 * A hold: a right that lasts for a limited time after its last proof.
 *
 * Two clocks measure that time, and the hold ends when either says so. Timers continue when the machine's time is set
 * back; the machine's time has advanced when the process or the whole machine was suspended, and timers with it. The
 * time counts from before the request was sent that proves the hold: no other process can have begun to count earlier.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

/** A request in progress that proves the hold if it succeeds. */
export interface Attempt {
  readonly at: number
  readonly timer: Timer
  isOver: boolean
}

export interface Hold {
  /** Call before sending. */
  attempt(): Attempt
  /** The request has failed. */
  drop(attempt: Attempt): void
  /** The request has succeeded. False when it took so long that it proves nothing. */
  prove(attempt: Attempt): boolean
  isHeld(now: number): boolean
  /** Ends the hold until it is proven again. */
  end(): void
}

interface HoldOptions {
  readonly clock: Clock
  readonly lengthMs: number
  /** The hold has expired. Not called by `end`. */
  readonly onEnd: () => void
}

export function createHold({ clock, lengthMs, onEnd }: HoldOptions): Hold {
  let proven: Attempt | undefined

  /** Earlier than the attempt: the clock was set back, and cannot tell how long it was. */
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
