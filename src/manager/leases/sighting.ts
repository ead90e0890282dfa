/**
 * A sighting: the lease of another process as we last saw it change. It is overdue when it has not changed for its
 * duration, counted from the moment we saw the change, and by a timer only: the times in the lease come from another
 * machine's clock, and our own clock may be set.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

export interface Sighting {
  readonly isOverdue: boolean
  /** `state` is any value that differs from renewal to renewal. */
  see(state: string, lastsMs: number): void
  stop(): void
}

export function createSighting(clock: Clock, onOverdue: () => void = () => undefined): Sighting {
  let seen: string | undefined
  let timer: Timer | undefined
  const sighting: Sighting & { isOverdue: boolean } = {
    isOverdue: false,
    see(state, lastsMs) {
      if (state === seen) return
      seen = state
      sighting.isOverdue = false
      timer?.cancel()
      timer = clock.after(lastsMs, () => {
        sighting.isOverdue = true
        onOverdue()
      })
    },
    stop: () => timer?.cancel(),
  }
  return sighting
}
