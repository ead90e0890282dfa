/**
 * The cost of a day, computed from measurements of minutes: memory held all day, requests at rest, watches that end and
 * are opened again, and a profile of changes.
 */
export interface MeasuredDay {
  readonly memoryBytes: number
  /** Without Leases and watches. */
  readonly requestsAtRest: number
  readonly leasesAtRest: number
  readonly restMs: number
  /** The timeout that the client sets for each of its watches. */
  readonly watchSeconds: readonly number[]
  readonly requestsPerChange: number
  readonly crs: number
}

export interface DailyCost {
  readonly gigabyteSeconds: number
  readonly requests: number
}

const daySeconds = 86_400
const changesOfEachCr = 24

/** In words, for readers of the figures. */
export const profile =
  'each CR is changed once an hour; nothing else happens; each watch is opened again when its time is over'

export function dailyCostOf(measured: MeasuredDay): DailyCost {
  const { memoryBytes, requestsAtRest, leasesAtRest, restMs, watchSeconds, requestsPerChange, crs } = measured
  const atRest = ((requestsAtRest + leasesAtRest) * daySeconds * 1000) / restMs
  const watches = watchSeconds.reduce((sum, seconds) => sum + daySeconds / seconds, 0)
  return {
    gigabyteSeconds: (memoryBytes / 1e9) * daySeconds,
    requests: atRest + watches + crs * changesOfEachCr * requestsPerChange,
  }
}
