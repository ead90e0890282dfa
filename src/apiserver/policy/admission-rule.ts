/** Which requests a webhook or policy matches: rules, selectors, match conditions. */
import { internalError } from '../../kube/validation/cause.ts'
import { boolType, type CelType } from '../../kube/cel/value/type.ts'
import type { MatchCondition, MatchResources, RuleWithOperations } from '../../kube/types/admissionregistration/v1.ts'
import { compileExpression, conditionScope, type ExpressionScope } from './expression.ts'
import { type Draft, fillAbsent, parts } from '../kinds/strategy/draft.ts'
import { checkLabelSelector } from '../kinds/values/label-selector.ts'
import { pathSegment, qualifiedNameProblems } from '../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  invalidField,
  unsupportedField,
  type Problems,
  requiredField,
  tooMany,
  unsupported,
} from '../../kube/validation/field-error.ts'
import type { SentObject } from '../kinds/strategy/sent.ts'
import { repetitions } from '../../kube/validation/repetition.ts'

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const scopes = ['*', 'Cluster', 'Namespaced']
export const failurePolicies: readonly string[] = ['Fail', 'Ignore']
export const matchPolicies: readonly string[] = ['Equivalent', 'Exact']
export const reinvocationPolicies: readonly string[] = ['IfNeeded', 'Never']

export function defaultRules(draft: Draft | undefined, ...members: readonly string[]): void {
  for (const member of members) for (const rule of parts(draft, member)) fillAbsent(rule, { scope: '*' })
}

/** Sets the defaults of `matchResources` or `matchConstraints`. */
export function defaultMatchResources(resources: Draft | undefined): void {
  fillAbsent(resources, { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} })
  defaultRules(resources, 'resourceRules', 'excludeResourceRules')
}

export function* checkRule(rule: SentObject<RuleWithOperations>, at: string): Iterable<Problems[number]> {
  const { operations: own = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule
  yield* checkWild(own, `${at}.operations`, 'operations')
  for (const [index, operation] of own.entries()) {
    if (!operations.includes(operation)) yield unsupported(`${at}.operations[${index}]`, operation, operations)
  }
  yield* checkWild(apiGroups, `${at}.apiGroups`, 'API groups')
  yield* checkWild(apiVersions, `${at}.apiVersions`, 'API versions')
  for (const [index, version] of apiVersions.entries()) {
    if (version === '') yield requiredField(`${at}.apiVersions[${index}]`)
  }
  yield* checkResources(resources, `${at}.resources`)
  if (scope !== undefined && !scopes.includes(scope)) yield unsupported(`${at}.scope`, scope, scopes)
}

/** At least one item; and `*` must be the only one. */
function* checkWild(items: readonly string[], field: string, what: string): Iterable<Problems[number]> {
  if (items.length === 0) yield requiredField(field)
  if (items.length > 1 && items.includes('*')) {
    yield invalidField(field, items, `if '*' is present, must not specify other ${what}`)
  }
}

function* checkResources(resources: readonly string[], field: string): Iterable<Problems[number]> {
  if (resources.length === 0) yield requiredField(field)
  const wildSubresources = new Set<string>()
  const wildResources = new Set<string>()
  let isPlain = false
  for (const [index, resource] of resources.entries()) {
    const at = `${field}[${index}]`
    const slash = resource.indexOf('/')
    if (resource === '') yield requiredField(at)
    else if (slash < 0) isPlain = resource !== '*'
    else {
      const name = resource.slice(0, slash)
      const subresource = resource.slice(slash + 1)
      const both = (wild: string): Problems[number] =>
        invalidField(at, resource, `if '${wild}' is present, must not specify ${resource}`)
      if (wildSubresources.has(name)) yield both(`${name}/*`)
      if (wildResources.has(subresource)) yield both(`*/${subresource}`)
      if (subresource === '*') wildSubresources.add(name)
      if (name === '*') wildResources.add(subresource)
    }
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    yield invalidField(field, resources, "if '*/*' is present, must not specify other resources")
  }
  if (resources.includes('*') && isPlain) {
    yield invalidField(field, resources, "if '*' is present, must not specify other resources without subresources")
  }
}

export function* checkMatchResources(match: SentObject<MatchResources>, at: string): Iterable<Problems[number]> {
  yield* unsupportedField(`${at}.matchPolicy`, match.matchPolicy, matchPolicies)
  yield* checkLabelSelector(match.namespaceSelector, `${at}.namespaceSelector`)
  yield* checkLabelSelector(match.objectSelector, `${at}.objectSelector`)
  for (const member of ['resourceRules', 'excludeResourceRules'] as const) {
    for (const [index, rule] of (match[member] ?? []).entries()) {
      const place = `${at}.${member}[${index}]`
      const { resourceNames: names = [] } = rule
      for (const [position, name] of names.entries()) {
        const field = `${place}.resourceNames[${position}]`
        yield* eachInvalid(field, name, pathSegment(name))
        if (names.indexOf(name) < position) yield duplicate(field, name)
      }
      yield* checkRule(rule, place)
    }
  }
}

const maxConditions = 64

export function* checkConditions(
  conditions: readonly SentObject<MatchCondition>[],
  at: string,
  hasParams = false,
): Iterable<Problems[number]> {
  if (conditions.length > maxConditions) yield tooMany(at, conditions.length, maxConditions)
  const repeated = repetitions(conditions, ({ name }) => name)
  for (const [index, { name, expression = '' }] of conditions.entries()) {
    const place = `${at}[${index}]`
    if (expression.trim() === '') yield requiredField(`${place}.expression`)
    else yield* checkRuleExpression(expression, { ...conditionScope, hasParams }, [boolType], `${place}.expression`)
    if (!name) yield requiredField(`${place}.name`)
    else {
      yield* eachInvalid(`${place}.name`, name, qualifiedNameProblems(name))
      if (repeated.has(index)) yield duplicate(`${place}.name`, name)
    }
  }
}

/** A match condition must compile to a boolean. */
export function* checkRuleExpression(
  expression: string,
  scope: ExpressionScope,
  results: readonly CelType[],
  field: string,
): Iterable<Problems[number]> {
  yield* expressionProblems(field, expression, compileExpression(expression, scope, results).problem)
}

/** The errors of an expression; a constant that cannot be evaluated counts as an internal error of the server. */
export function expressionProblems(field: string, expression: string, problem: string): Problems {
  if (problem === '') return []
  const isInternal = problem.startsWith('program instantiation failed')
  return [isInternal ? internalError(field, problem) : invalidField(field, expression, problem)]
}
