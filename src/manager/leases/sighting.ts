/**
 * A sighting: somebody else's lease as we last saw it change. It is overdue when it has not changed for as long as it
 * lasts, counted from the moment we saw the change and by a timer alone: what the lease says about times is the word of
 * another machine's clock, and ours may be set.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

export interface Sighting {
  readonly isOverdue: boolean
  /** `state` is whatever differs from renewal to renewal. */
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
