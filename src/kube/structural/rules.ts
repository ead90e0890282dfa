/**
 * Validation rules of a schema (`x-kubernetes-validations`): CEL expressions over the value at their place, and over its old
 * value (`oldSelf`). A transition rule runs only if there is an old value; another rule that the old value already violates
 * only warns.
 *
 * Rules are compiled with the first object. All rules of one object share one cost budget: a rule that is too expensive fails
 * the write, not the server.
 */
import {
  type Cause,
  duplicateValue,
  forbiddenValue,
  formatCause,
  invalidValue,
  noField,
  requiredValue,
} from '../validation/cause.ts'
import { type CelBudget, type CelProgram, celObjectBudget, compileCel, estimateCel } from '../cel/compile.ts'
import { celTypeOfSchema } from '../cel/check/environment.ts'
import { CelCompileError, CelCostError, CelRuntimeError } from '../cel/value/error.ts'
import { celValueOf } from '../cel/evaluate/json-value.ts'
import type { SchemaSize } from '../cel/cost/size.ts'
import { type CelType, optionalOf } from '../cel/value/type.ts'
import { CelOptional } from '../cel/value/value.ts'
import { quoteGo } from '../go/go-text.ts'
import { isJsonObject, type Json } from '../json.ts'
import { isJsonArray, ownMember } from '../json-member.ts'
import type { Schema } from '../schema.ts'
import type { ValidationRule } from '../types/apiextensions/v1.ts'
import { isUnchanged, keyedItems, oldMember } from './correlation.ts'
import { formatFieldPath, resolveFieldPath } from './field-path.ts'
import { memberNode, type SchemaNode } from './node.ts'

interface RuleContext {
  /** The value that it replaces. */
  readonly old?: Json | undefined
  /** Errors that the old value already had are ignored (ratcheting). @default whether there is an old value */
  readonly isRatcheting?: boolean | undefined
  readonly warn?: ((message: string) => void) | undefined
  /** The path of the value, if it is not a whole object. */
  readonly path?: string | undefined
  /** @default it is a whole object */
  readonly isRoot?: boolean | undefined
}

/** The failures of the rules at and below a node. */
export function checkRules(value: Json, node: SchemaNode, context: RuleContext = {}): readonly Cause[] {
  const { old, warn, path = '', isRoot = true, isRatcheting = old !== undefined } = context
  const walk: Walk = { causes: [], budget: { remaining: celObjectBudget }, warn, isOver: false }
  const here = isRatcheting ? { node, value, old } : undefined
  check(value, node, { old, here, parent: undefined, place: { text: path }, isRoot }, walk)
  return walk.causes
}

interface Walk {
  readonly causes: Cause[]
  readonly budget: CelBudget
  readonly warn: RuleContext['warn']
  /** The budget is spent: no further rules run. */
  isOver: boolean
}

/** A place whose old value is known. */
interface Known {
  readonly node: SchemaNode
  readonly value: Json
  readonly old: Json | undefined
}

interface At {
  readonly old: Json | undefined
  /** This place, if its old value can be correlated. */
  readonly here: Known | undefined
  /** The nearest ancestor of which that is so. */
  readonly parent: Known | undefined
  readonly place: Place
  readonly isRoot: boolean
}

/** The path is built only if a rule fails. */
type Place =
  | { readonly text: string }
  | { readonly above: Place; readonly step: string | number; readonly isKey: boolean }

function pathOf(place: Place): string {
  if ('text' in place) return place.text
  const above = pathOf(place.above)
  if (typeof place.step === 'number' || place.isKey) return `${above}[${place.step}]`
  return above === '' ? place.step : `${above}.${place.step}`
}

function check(value: Json, node: SchemaNode, at: At, walk: Walk): void {
  if (!node.has.rules || value === null || walk.isOver) return
  if (node.rules.length > 0) checkHere(value, node, at, walk)
  if (isJsonArray(value)) checkItems(value, node, at, walk)
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      const own = memberNode(node, name)
      if (walk.isOver) return
      if (own?.has.rules && member !== undefined) check(member, own, below(node, name, own, member, at), walk)
    }
  }
}

function below(node: SchemaNode, name: string, own: SchemaNode, member: Json, at: At): At {
  const place = { above: at.place, step: name, isKey: !node.properties.has(name) }
  const old = ownMember(isJsonObject(at.old) ? at.old : undefined, name)
  return {
    old,
    place,
    isRoot: own.embedded,
    ...correlated(at, own, member, at.here && oldMember(node, at.here.old, name)),
  }
}

function correlated(at: At, node: SchemaNode, value: Json, old: Json | undefined): Pick<At, 'here' | 'parent'> {
  if (!at.here) return { here: undefined, parent: at.parent }
  return { here: old === undefined ? undefined : { node, value, old }, parent: at.here }
}

function checkItems(items: readonly Json[], node: SchemaNode, at: At, walk: Walk): void {
  if (!node.items?.has.rules) return
  const before = keyedItems(node, at.old)
  for (const [index, item] of items.entries()) {
    if (walk.isOver) return
    const old = before?.find(item)
    const place = { above: at.place, step: index, isKey: false }
    const inner = { old, place, isRoot: node.items.embedded, ...correlated(at, node.items, item, at.here && old) }
    check(item, node.items, inner, walk)
  }
}

const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run'

function checkHere(value: Json, node: SchemaNode, at: At, walk: Walk): void {
  const type = node.schema.type ?? ''
  const fail = (detail: string, isLast = false): void => {
    walk.causes.push(invalidValue(pathOf(at.place) || noField, type, detail))
    walk.isOver ||= isLast
  }
  for (const compiled of compiledRules(node, at.isRoot)) {
    if (walk.isOver) return
    const { rule, program, usesOld } = compiled
    if (usesOld && at.old === undefined && !rule.optionalOldSelf) continue
    const variables = { self: value, oldSelf: oldSelf(compiled, at.old) }
    let outcome: unknown
    let problem: CelRuntimeError | undefined
    try {
      outcome = program.evaluate(variables, walk.budget)
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error
      problem = error
    }
    if (walk.budget.remaining < 0) return fail(outOfBudget, true)
    if (problem) {
      const said = ruleText(rule)
      if (problem.message.startsWith('no such overload')) {
        fail(
          `'${problem.message}': call arguments did not match a supported operator, function or macro signature for rule: ${said}`,
        )
      } else if (problem instanceof CelCostError) {
        fail(
          `'${problem.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${said}`,
          true,
        )
      } else fail(`${problem.message} evaluating rule: ${said}`)
      continue
    }
    if (outcome !== true) addBroken(value, node, at, compiled, variables, walk)
  }
}

function oldSelf({ rule, type }: CompiledRule, old: Json | undefined): unknown {
  if (!rule.optionalOldSelf) return old
  return old === undefined ? new CelOptional() : new CelOptional(celValueOf(old, type))
}

function addBroken(
  value: Json,
  node: SchemaNode,
  at: At,
  compiled: CompiledRule,
  variables: Readonly<Record<string, unknown>>,
  walk: Walk,
): void {
  const { rule, usesOld, fieldPath } = compiled
  const base = pathOf(at.place)
  const field = (fieldPath === '' ? base : base === '' ? fieldPath : `${base}.${fieldPath}`) || noField
  const known = at.here ?? at.parent
  const isOld = !usesOld && known !== undefined && isUnchanged(known.node, known.value, known.old)
  const add = (cause: Cause): void => {
    if (isOld) walk.warn?.(formatCause(cause))
    else walk.causes.push(cause)
  }
  const said = compiled.message && writtenMessage(compiled, variables, walk.budget)
  if (said?.problem !== undefined) {
    add(invalidValue(field, node.schema.type ?? '', said.problem))
    walk.isOver = true
    return
  }
  const detail = said?.text ?? ruleMessage(rule)
  const shown = node.schema.type === 'object' || node.schema.type === 'array' ? undefined : value
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return add(forbiddenValue(field, detail))
    case 'FieldValueRequired':
      return add(requiredValue(field, detail))
    case 'FieldValueDuplicate':
      return add(duplicateValue(field, shown))
    default:
      return add(invalidValue(field, shown, detail))
  }
}

const longestMessage = 5 * 1024

/** The result of `messageExpression`; nothing if it fails or is useless, an error if it costs too much. */
function writtenMessage(
  { message, rule }: CompiledRule,
  variables: Readonly<Record<string, unknown>>,
  budget: CelBudget,
): { readonly text?: string; readonly problem?: string } {
  try {
    const said = message!.evaluate(variables, budget)
    if (budget.remaining < 0)
      return {
        problem: `messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run`,
      }
    const text = typeof said === 'string' ? said.trim() : ''
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > longestMessage ? {} : { text }
  } catch (error) {
    if (error instanceof CelCostError) {
      const source = quoteGo(rule.messageExpression ?? '')
      return {
        problem: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${source}`,
      }
    }
    if (error instanceof CelRuntimeError) return {}
    throw error
  }
}

function ruleMessage(rule: ValidationRule): string {
  return rule.message ? rule.message.trim() : `failed rule: ${rule.rule.trim()}`
}

/** The name of a rule in messages. */
function ruleText(rule: ValidationRule): string {
  return (rule.message || rule.rule).trim()
}

interface CompiledRule {
  readonly rule: ValidationRule
  readonly program: CelProgram
  readonly message: CelProgram | undefined
  /** Whether it uses the old value (a transition rule). */
  readonly usesOld: boolean
  /** The `fieldPath` of failures, relative to the rule; empty for its own place. */
  readonly fieldPath: string
  /** The type of the value it applies to. */
  readonly type: CelType
}

/** The CEL type of values at a node; undefined if it is not certain. */
export function ruleType(node: SchemaNode, isRoot: boolean): CelType | undefined {
  return celTypeOfSchema(node.schema as Schema, { isRoot })
}

function variablesOf(rule: ValidationRule, type: CelType): Readonly<Record<string, CelType>> {
  return { self: type, oldSelf: rule.optionalOldSelf ? optionalOf(type) : type }
}

/** Errors and costs of a rule before it runs, for the author of the CRD. */
interface RuleReport {
  /** Compile errors of the rule and of its message. */
  readonly problem?: string
  readonly messageProblem?: string
  readonly usesOld: boolean
  /** Maximum costs for one value; none without a rule, or a message. */
  readonly cost: number
  readonly messageCost: number
}

export function reportRule(rule: ValidationRule, type: CelType, size: SchemaSize): RuleReport {
  const variables = variablesOf(rule, type)
  const { program, problem } = tryCompile(rule.rule, variables)
  const nothing = { usesOld: false, cost: 0, messageCost: 0 }
  if (!program) return { ...nothing, problem: problem! }
  if (program.resultType.kind !== 'bool') return { ...nothing, problem: 'cel expression must evaluate to a bool' }
  const cost = estimateCel(rule.rule, { variables }, size)
  const report = { usesOld: program.references.has('oldSelf'), cost, messageCost: 0 }
  if (!rule.messageExpression) return report
  const message = tryCompile(rule.messageExpression, variables)
  if (!message.program) return { ...report, messageProblem: `messageExpression ${message.problem}` }
  if (message.program.resultType.kind !== 'string') {
    return { ...report, messageProblem: 'messageExpression must evaluate to a string' }
  }
  return { ...report, messageCost: estimateCel(rule.messageExpression, { variables }, size) }
}

function tryCompile(
  text: string,
  variables: Readonly<Record<string, CelType>>,
): { readonly program?: CelProgram; readonly problem?: string } {
  try {
    return { program: compileCel(text, { variables }) }
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    const what = error.phase === 'program' ? 'program instantiation failed' : 'compilation failed'
    return { problem: `${what}: ${error.issues.join('\n')}` }
  }
}

/** A rule of an accepted schema, which therefore compiles. */
function compileRule(rule: ValidationRule, node: SchemaNode, type: CelType): CompiledRule {
  const variables = variablesOf(rule, type)
  const program = compileCel(rule.rule, { variables })
  const path = rule.fieldPath ? resolveFieldPath(rule.fieldPath, node, { allowBrackets: true }) : undefined
  return {
    rule,
    program,
    message: rule.messageExpression ? tryCompile(rule.messageExpression, variables).program : undefined,
    usesOld: program.references.has('oldSelf'),
    fieldPath: path && path.problem === undefined ? formatFieldPath(path.path) : '',
    type,
  }
}

const compilations = new WeakMap<SchemaNode, readonly CompiledRule[]>()

function compiledRules(node: SchemaNode, isRoot: boolean): readonly CompiledRule[] {
  const before = compilations.get(node)
  if (before) return before
  const type = ruleType(node, isRoot)
  const rules = type
    ? node.rules.filter(({ rule }) => rule.trim() !== '').map((rule) => compileRule(rule, node, type))
    : []
  compilations.set(node, rules)
  return rules
}
