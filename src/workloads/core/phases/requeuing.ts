/**
 * Requeuing: work whose pods do not run in time goes back to the queue, and gets more time at each try: linear, exponential, or
 * always the same, with a longest time and a most number of tries.
 */

export interface Requeuing {
  /** How long pods may take; 300 without it. */
  readonly timeInSeconds?: number | undefined
  /** The longest such time; 0 or absent: no limit. */
  readonly maxTimeInSeconds?: number | undefined
  /** `exponential`, also without it; `linear`; anything else is no growth. */
  readonly growthType?: string | undefined
  /** How often it may go back; 0 or absent: no limit. */
  readonly maxNumRequeuings?: number | undefined
  /** Tries that were made before. */
  readonly numRequeuings?: number | undefined
}

/** What is kept between tries. */
export interface RequeuingState {
  /** How often it went back. */
  readonly count: number
  /** How long its pods may take now. */
  readonly seconds: number
}

const defaultSeconds = 300

export function firstTry({ timeInSeconds, numRequeuings = 0 }: Requeuing): RequeuingState {
  const seconds = timeInSeconds !== undefined && timeInSeconds > 0 ? timeInSeconds : defaultSeconds
  return { count: Math.max(numRequeuings, 0), seconds }
}

/** The next try; undefined if there is none. */
export function nextTry(requeuing: Requeuing, { count, seconds }: RequeuingState): RequeuingState | undefined {
  const { maxNumRequeuings = 0, maxTimeInSeconds = 0, growthType = 'exponential' } = requeuing
  if (maxNumRequeuings > 0 && count >= maxNumRequeuings) return undefined
  const initial = firstTry(requeuing).seconds
  const grown = growthType === 'exponential' ? seconds * 2 : growthType === 'linear' ? seconds + initial : seconds
  const longest = maxTimeInSeconds > 0 ? maxTimeInSeconds : longestSeconds
  return { count: count + 1, seconds: Math.min(grown, longest) }
}

/** A year: an exponential wait must stay a number that a timer understands. */
const longestSeconds = 31_536_000
