/**
 * When a coordinator is asked again, without a change of its inputs. It says so itself (`again`), and a mistake there would keep
 * the thread busy for ever: a time that has passed, or decisions that flip with every look at the clock. So there is a least
 * interval, and a coordinator that does either is reported and slowed down until an input changes. Pure.
 */

export interface DecisionPace {
  /** When decisions changed although no input did; recent times only. */
  readonly flips: readonly number[]
  /** How often in a row it asked for a time that had passed. */
  readonly late: number
  /** It flips its decisions: it is asked rarely. */
  readonly isSlowed: boolean
}

export interface DecidedAt {
  readonly now: number
  /** When it wants to be asked again. */
  readonly again: number | undefined
  readonly hasChanged: boolean
  /** An input has changed. */
  readonly byInput: boolean
}

/** What follows from a decision. */
interface NextDecision {
  readonly pace: DecisionPace
  /** When to ask again. */
  readonly at: number | undefined
  /** A mistake of the coordinator, once. */
  readonly problem?: string
}

export const noPace: DecisionPace = { flips: [], late: 0, isSlowed: false }

/** The least interval between two questions without a change of an input. */
const leastMs = 100
/** Changed decisions within the window, without a change of an input: a finding. */
const mostFlips = 40
const windowMs = 10_000
const slowMs = 60_000

export function paceAfter(before: DecisionPace, { now, again, hasChanged, byInput }: DecidedAt): NextDecision {
  const { flips, late, isSlowed } = byInput ? noPace : before
  const recent = [...flips, ...(hasChanged && !byInput ? [now] : [])].filter((at) => now - at < windowMs)
  if (again === undefined) return { pace: { flips: recent, late: 0, isSlowed }, at: undefined }
  if (again <= now) {
    const at = now + Math.min(1000 * 2 ** late, slowMs)
    const problem = late === 0 ? { problem: `asks to be asked again at ${timeText(again)}, which has passed` } : {}
    return { pace: { flips: recent, late: late + 1, isSlowed }, at, ...problem }
  }
  if (isSlowed || recent.length >= mostFlips) {
    const problem = `changed its decisions ${recent.length} times in ${windowMs / 1000} s although no input changed`
    const pace = { flips: [], late: 0, isSlowed: true }
    return { pace, at: Math.max(again, now + slowMs), ...(!isSlowed && { problem }) }
  }
  return { pace: { flips: recent, late: 0, isSlowed }, at: Math.max(again, now + leastMs) }
}

function timeText(at: number): string {
  return Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : String(at)
}
