/**
 * Health by rules of an Installation. Kinds whose status kstatus cannot read get rules in CEL, over the members of the object:
 * `status.phase == 'Ready'`. They are asked in the order inProgress, failed, current, as Flux does. All other kinds are judged
 * by kstatus.
 *
 * Expressions are untrusted: their cost is bounded, and one that fails or cannot be compiled makes the health Unknown.
 */
import { type CelBudget, type CelProgram, celMatchConditionsBudget, compileCel } from '../../kube/cel/compile.ts'
import { CelCompileError, CelRuntimeError } from '../../kube/cel/value/error.ts'
import { dynType } from '../../kube/cel/value/type.ts'
import { type Health, healthOf } from '../../kube/meta/health.ts'
import { asJson } from '../../kube/json-object.ts'
import { kindOf, parseApiVersion } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'

/** Rules for one kind. The version does not matter. */
export interface HealthRule {
  readonly apiVersion: string
  readonly kind: string
  /** A CEL expression: the object has reached its desired state. @default kstatus decides */
  readonly current?: string | undefined
  /** A CEL expression: the object cannot reach its desired state without a change of its spec. @default never */
  readonly failed?: string | undefined
  /** A CEL expression: the object is still moving to its desired state. @default never */
  readonly inProgress?: string | undefined
}

/** `healthOf` with rules. The first rule of a kind counts. */
export function healthWith(rules: readonly HealthRule[]): (object: KubeObject | undefined, now: number) => Health {
  const compiled = new Map<string, CompiledRule>()
  for (const rule of rules) {
    const key = keyOf(parseApiVersion(rule.apiVersion).group, rule.kind)
    if (!compiled.has(key)) compiled.set(key, compileRule(rule))
  }
  return (object, now) => {
    const general = healthOf(object, now)
    const rule = object && compiled.get(keyOf(kindOf(object).group, object.kind))
    // What is true of every kind needs no rule: it is deleted, or its controller has not seen the latest generation.
    const isGeneral = general.status === 'Terminating' || general.reason === 'LatestGenerationNotObserved'
    return !object || !rule || isGeneral ? general : judge(object, rule, general)
  }
}

function keyOf(group: string, kind: string): string {
  return `${group}/${kind}`
}

const outcomes = [
  { name: 'inProgress', status: 'InProgress' },
  { name: 'failed', status: 'Failed' },
  { name: 'current', status: 'Current' },
] as const

type RuleName = (typeof outcomes)[number]['name']

/** A program, or why there is none. */
type CompiledRule = ReadonlyMap<RuleName, CelProgram | string>

/** Members that objects have, and the whole object. */
const variables = {
  self: dynType,
  apiVersion: dynType,
  kind: dynType,
  metadata: dynType,
  spec: dynType,
  status: dynType,
  data: dynType,
}

function compileRule(rule: HealthRule): CompiledRule {
  return new Map(
    outcomes.flatMap(({ name }) => {
      const text = rule[name]
      return text === undefined ? [] : [[name, compile(text)] as const]
    }),
  )
}

function compile(text: string): CelProgram | string {
  try {
    return compileCel(text, { variables })
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    return error.message
  }
}

function judge(object: KubeObject, rule: CompiledRule, general: Health): Health {
  const budget: CelBudget = { remaining: celMatchConditionsBudget }
  for (const { name, status } of outcomes) {
    const program = rule.get(name)
    if (program === undefined) continue
    const answer = typeof program === 'string' ? { problem: program } : evaluate(program, object, budget)
    if ('problem' in answer)
      return { status: 'Unknown', reason: 'RuleFailed', message: `The rule ${name} failed: ${answer.problem}` }
    if (answer.holds) return { status, reason: 'Rule', message: `The rule ${name} holds.` }
  }
  if (!rule.has('current')) return general
  return { status: 'InProgress', reason: 'RuleNotMet', message: 'The rule current does not hold yet.' }
}

function evaluate(
  program: CelProgram,
  object: KubeObject,
  budget: CelBudget,
): { readonly holds: boolean } | { readonly problem: string } {
  try {
    const result = program.evaluate(membersOf(object), budget)
    if (budget.remaining < 0) return { problem: 'the rules of one object cost too much' }
    return typeof result === 'boolean' ? { holds: result } : { problem: 'its result is not true or false' }
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'it is nested too deep' }
    if (!(error instanceof CelRuntimeError)) throw error
    return { problem: error.message }
  }
}

/** Members that an object lacks are empty, so that `has(status.phase)` answers. */
function membersOf(object: KubeObject): Readonly<Record<string, unknown>> {
  const members = asJson(object)
  const valueOf = (name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined) ?? {}
  return { ...Object.fromEntries(Object.keys(variables).map((name) => [name, valueOf(name)])), self: object }
}
