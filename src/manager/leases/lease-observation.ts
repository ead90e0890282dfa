/**
 * An observation: the lease of another process as we last saw it change. It is overdue when it has not changed for its
 * duration, counted from the moment we saw the change, and by a timer only: the times in the lease come from another
 * machine's clock, and our own clock may be set.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

export interface LeaseObservation {
  readonly isOverdue: boolean
  /** `state` is any value that differs from renewal to renewal. */
  update(state: string, lastsMs: number): void
  stop(): void
}

export function observeLease(clock: Clock, onOverdue: () => void = () => undefined): LeaseObservation {
  let seen: string | undefined
  let timer: Timer | undefined
  const observation: LeaseObservation & { isOverdue: boolean } = {
    isOverdue: false,
    update(state, lastsMs) {
      if (state === seen) return
      seen = state
      observation.isOverdue = false
      timer?.cancel()
      timer = clock.after(lastsMs, () => {
        observation.isOverdue = true
        onOverdue()
      })
    },
    stop: () => timer?.cancel(),
  }
  return observation
}
