/**
 * A day, worked out from what was measured in minutes: memory that is held all day, requests at rest, watches that end and
 * are opened again, and a profile of changes.
 */
export interface MeasuredDay {
  readonly memoryBytes: number
  /** Leases and watches aside. */
  readonly requestsAtRest: number
  readonly leasesAtRest: number
  readonly restMs: number
  /** How long the client lets each of its watches last. */
  readonly watchSeconds: readonly number[]
  readonly requestsPerChange: number
  readonly crs: number
}

export interface Day {
  readonly gigabyteSeconds: number
  readonly requests: number
}

const daySeconds = 86_400
const changesOfEachCr = 24

/** In words, for whoever reads the figures. */
export const profile =
  'each CR is changed once an hour; nothing else happens; each watch is opened again when its time is over'

export function dayOf(measured: MeasuredDay): Day {
  const { memoryBytes, requestsAtRest, leasesAtRest, restMs, watchSeconds, requestsPerChange, crs } = measured
  const atRest = ((requestsAtRest + leasesAtRest) * daySeconds * 1000) / restMs
  const watches = watchSeconds.reduce((sum, seconds) => sum + daySeconds / seconds, 0)
  return {
    gigabyteSeconds: (memoryBytes / 1e9) * daySeconds,
    requests: atRest + watches + crs * changesOfEachCr * requestsPerChange,
  }
}
