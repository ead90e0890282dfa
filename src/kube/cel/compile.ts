/**
 * CEL, the expression language of Kubernetes: validation rules of CRDs, admission policies, match conditions of webhooks.
 *
 *     const program = compileCel('self.replicas <= self.max', { variables: { self: celTypeOfSchema(schema)! } })
 *     program.evaluate({ self: object })
 *
 * An expression is compiled once (parsed, checked, turned into closures) and evaluated often. Invalid expressions throw a
 * {@link CelCompileError} at compile time; unsuitable data throws a {@link CelRuntimeError} at run time.
 */
import type { Json } from '../json.ts'
import { type CheckedExpression, checkCel } from './check/check.ts'
import { closureOf } from './evaluate/closure.ts'
import { estimateCost } from './cost/cost-estimate.ts'
import type { CelEnvironment } from './check/environment.ts'
import { CelCompileError } from './value/error.ts'
import type { CelExpression } from './syntax/expression.ts'
import type { EvaluationFrame } from './evaluate/frame.ts'
import { celValueOf } from './evaluate/json-value.ts'
import { parseExpression } from './syntax/parser.ts'
import type { SchemaSize } from './cost/size.ts'
import { type Issue, describeIssues } from './syntax/source.ts'
import { countingSteps } from './value/steps.ts'
import type { CelType } from './value/type.ts'
import { validateExpression } from './check/validate.ts'
import {
  CelDouble,
  CelDuration,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
} from './value/value.ts'

/** Cost limit of one evaluation. */
const celCallLimit = 1_000_000
/** Cost limit of all rules of one object. */
export const celObjectBudget = 10_000_000
/** Cost limit of all match conditions of one webhook or policy binding. */
export const celMatchConditionsBudget = 2_500_000

/** Shared by evaluations with one cost limit: each takes from `remaining`, which may become negative. */
export interface CelBudget {
  remaining: number
}

/** By name: JSON (wrapped in a view), or a CEL value. */
export type CelVariables = Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>

export interface CelProgram {
  readonly resultType: CelType
  /** The variables that the expression uses: a rule without `oldSelf` is not a transition rule. */
  readonly references: ReadonlySet<string>
  /**
   * @param budget - is charged; an evaluation that exceeds its own limit throws, one that exceeds the budget leaves
   *   `remaining` negative for the caller to check.
   * @throws CelRuntimeError
   */
  evaluate(variables: CelVariables, budget?: CelBudget): CelValue
}

/** @throws CelCompileError */
export function compileCel(text: string, environment: CelEnvironment): CelProgram {
  const { root, checked } = readExpression(text, environment)
  const names = Object.keys(environment.variables)
  const { run, slots, used } = closureOf(root, checked, names)
  const wanted = names.flatMap((name, slot) =>
    used.has(name) ? [{ name, slot, type: environment.variables[name]! }] : [],
  )
  const empty = Array.from<CelValue | undefined>({ length: slots })
  return {
    resultType: checked.types.get(root)!,
    references: used,
    evaluate(variables, budget) {
      const frame: EvaluationFrame = { values: Array.from(empty), cost: 0, limit: celCallLimit }
      for (const { name, slot, type } of wanted) {
        const given = isMap(variables)
          ? variables.get(name)
          : Object.hasOwn(variables, name)
            ? variables[name]
            : undefined
        if (given !== undefined) frame.values[slot] = isCelValue(given) ? given : celValueOf(given as Json, type)
      }
      return countingSteps(
        () => run(frame),
        (steps) => {
          if (budget) budget.remaining -= Math.max(frame.cost, Math.floor(steps / 10))
        },
      )
    },
  }
}

/**
 * The worst-case cost of an expression, for the largest data that the schema of its variables allows.
 *
 * @throws CelCompileError
 */
export function estimateCel(text: string, environment: CelEnvironment, data: SchemaSize): number {
  const { root, checked } = readExpression(text, environment)
  return estimateCost(root, checked, data).max
}

function readExpression(
  text: string,
  { variables, makes }: CelEnvironment,
): { readonly root: CelExpression; readonly checked: CheckedExpression } {
  const issues: Issue[] = []
  const root = parseExpression(text, issues)
  refuse(text, issues)
  const checked = checkCel(root!, new Map(Object.entries(variables)), issues, makes)
  refuse(text, issues)
  validateExpression(root!, checked, issues)
  refuse(text, issues)
  return { root: root!, checked }
}

function refuse(text: string, issues: readonly Issue[]): void {
  if (issues.length > 0) throw new CelCompileError(describeIssues(text, issues))
}

function isMap(variables: CelVariables): variables is ReadonlyMap<string, unknown> {
  return variables instanceof Map
}

const classes = [CelMap, CelList, CelOptional, CelOpaque, CelTimestamp, CelDuration, CelDouble, CelUint, CelTypeValue]

function isCelValue(value: unknown): value is CelValue {
  return value instanceof Uint8Array || classes.some((made) => value instanceof made)
}
