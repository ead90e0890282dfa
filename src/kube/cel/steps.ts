/**
 * The steps of an evaluation that its cost says nothing about. Costs are the server's: a conversion costs one, however long
 * the text, and two lists compare for the price of the outer ones. A hostile expression repeats such a call until it reaches
 * the limit of costs, which takes days. So work that grows with the data counts steps as well, and ten steps cost at least one.
 */
import { CelCostError } from './error.ts'

/** Ten times what one evaluation may cost. */
const mostSteps = 10_000_000

/** Of the evaluation that runs; undefined outside of one, where only constants of an expression are computed. */
let steps: number | undefined

/** @throws CelCostError when the evaluation has made too many. */
export function spendSteps(count: number): void {
  if (steps === undefined) return
  steps += count
  if (steps > mostSteps) throw new CelCostError()
}

/** Runs one evaluation, which may be within another one: a variable is evaluated when an expression asks for it. */
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
