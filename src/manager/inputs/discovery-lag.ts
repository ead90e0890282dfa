/**
 * Discovery lags behind CRDs: an API server shows the resource of a new CRD some time after its last event, and that of a deleted
 * one no longer. What was asked in between has an answer from before, and no event corrects it. So each changed CRD is compared
 * with discovery once more, until the two agree.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { Client } from '../../client/client.ts'

interface DiscoveryLagOptions {
  readonly discovery: Pick<Client['discovery'], 'resources' | 'invalidate'>
  readonly clock: Clock
  /** Discovery agrees with a CRD that it did not agree with before. */
  readonly onShown: (crd: string) => void
}

interface DiscoveryLag {
  /** A CRD has changed: `things.example.org`. */
  note(crd: string, isThere: boolean): void
  stop(): void
}

/** A CRD whose names are taken is never served: it is looked for six times, for a minute in all. */
const looks = 6

export function createDiscoveryLag({ discovery, clock, onShown }: DiscoveryLagOptions): DiscoveryLag {
  const timers = new Map<string, Timer>()

  /** A server that does not respond has not answered. */
  const agrees = async (crd: string, isThere: boolean): Promise<boolean> => {
    try {
      const resources = await discovery.resources()
      return resources.some(({ plural, group }) => `${plural}.${group}` === crd) === isThere
    } catch {
      return false
    }
  }

  const lookLater = (crd: string, isThere: boolean, look: number): void => {
    timers.get(crd)?.cancel()
    const lookNow = async (): Promise<void> => {
      // The first look is at what was fetched since the event, if anything was: usually it costs no request.
      if (look > 0) discovery.invalidate()
      const isAgreed = await agrees(crd, isThere)
      if (timers.get(crd) !== timer) return
      timers.delete(crd)
      if (!isAgreed && look + 1 < looks) lookLater(crd, isThere, look + 1)
      else if (isAgreed && look > 0) onShown(crd)
    }
    const timer: Timer = clock.after(1000 * 2 ** look, () => void lookNow())
    timers.set(crd, timer)
  }

  return {
    note: (crd, isThere) => lookLater(crd, isThere, 0),
    stop() {
      for (const timer of timers.values()) timer.cancel()
      timers.clear()
    },
  }
}
