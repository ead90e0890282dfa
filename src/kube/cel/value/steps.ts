/**
 * Steps of an evaluation that its cost does not cover. Costs are the server's: a conversion costs one, however long the text, and
 * comparing two lists counts only the outer ones. A hostile expression could repeat such a call up to the cost limit, which
 * takes days. So work that grows with the data counts steps as well, and ten steps cost at least one.
 */
import { CelCostError } from './error.ts'

/** Ten times the cost limit of one evaluation. */
const mostSteps = 10_000_000

/** Of the running evaluation; undefined outside of one, where only constants of an expression are computed. */
let steps: number | undefined

/** @throws CelCostError if the evaluation has made too many. */
export function spendSteps(count: number): void {
  if (steps === undefined) return
  steps += count
  if (steps > mostSteps) throw new CelCostError()
}

/** Runs one evaluation, possibly within another one: a variable is evaluated lazily. */
export function countingSteps<T>(run: () => T, done: (steps: number) => void): T {
  const before = steps
  steps = 0
  try {
    return run()
  } finally {
    done(steps ?? 0)
    steps = before
  }
}
