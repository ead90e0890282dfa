/** One run of a compiled expression: the values of its variables, and its cost so far. */
import { CelCostError, CelRuntimeError } from '../value/error.ts'
import type { CelValue } from '../value/value.ts'

export interface EvaluationFrame {
  /** By slot; undefined: the variable has no value. */
  readonly values: (CelValue | undefined)[]
  cost: number
  readonly limit: number
}

export type Closure = (frame: EvaluationFrame) => CelValue

/** The cost of constructing a list, a map or an object. */
export const listCost = 10
export const mapCost = 30
export const structCost = 40

export function pay(frame: EvaluationFrame, cost: number): void {
  frame.cost += cost
  if (frame.cost > frame.limit) throw new CelCostError()
}

/** Only errors of data are absorbed: never the cost limit. */
export function absorbed(error: unknown): CelRuntimeError {
  if (error instanceof CelRuntimeError && !(error instanceof CelCostError)) return error
  throw error
}
