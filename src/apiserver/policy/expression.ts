/**
 * CEL expressions of webhooks and policies: which variables they can refer to, and how they are evaluated for one
 * request.
 *
 * An expression fails in two ways: it does not compile, which the author of the policy gets as a validation error, or
 * it fails for some data, which the failure policy handles. Objects are evaluated without a schema, as on the real
 * server.
 */
import type { JsonObject } from '../../kube/json.ts'
import {
  authorizerType,
  type CelAuthorizer,
  celAuthorizer,
  celRequestResource,
  resourceCheckType,
} from '../../kube/cel/library/authorizer.ts'
import { type CelBudget, celMatchConditionsBudget, type CelProgram, compileCel } from '../../kube/cel/compile.ts'
import { CelCompileError, CelRuntimeError } from '../../kube/cel/value/error.ts'
import { jsonPatchType, patchObjectType, patchTypes } from '../../kube/cel/library/patch.ts'
import {
  boolType,
  type CelType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectTypeOf,
  sameType,
  stringType,
  timestampType,
} from '../../kube/cel/value/type.ts'
import { CelMap, type CelValue } from '../../kube/cel/value/value.ts'
import type { MatchCondition, Mutation } from '../../kube/types/admissionregistration/v1.ts'
import { type Identity, serviceAccountGroups, serviceAccountUser, wellKnown } from '../access/identity.ts'
import type { ClusterState } from '../cluster/state.ts'
import { namespaceOf, type OutsideView, requestFacts } from './outside-view.ts'

const text = stringType
const groupKind = objectTypeOf('kubernetes.GroupVersionKind', { group: text, version: text, kind: text })
const groupResource = objectTypeOf('kubernetes.GroupVersionResource', { group: text, version: text, resource: text })
const userType = objectTypeOf('kubernetes.UserInfo', {
  username: text,
  uid: text,
  groups: listOf(text),
  extra: mapOf(text, listOf(text)),
})
const requestType = objectTypeOf('kubernetes.AdmissionRequest', {
  kind: groupKind,
  resource: groupResource,
  subResource: text,
  requestKind: groupKind,
  requestResource: groupResource,
  requestSubResource: text,
  name: text,
  namespace: text,
  operation: text,
  userInfo: userType,
  dryRun: boolType,
  options: dynType,
})
const moment: CelType = { ...timestampType, format: 'date-time' }
const namespaceType: CelType = {
  ...objectTypeOf('kubernetes.Namespace', {
    metadata: objectTypeOf('kubernetes.NamespaceMetadata', {
      name: text,
      generateName: text,
      namespace: text,
      labels: mapOf(text, text),
      annotations: mapOf(text, text),
      UID: text,
      creationTimestamp: moment,
      deletionGracePeriodSeconds: intType,
      deletionTimestamp: moment,
      generation: intType,
      resourceVersion: text,
      finalizers: listOf(text),
    }),
    spec: objectTypeOf('kubernetes.NamespaceSpec', { finalizers: listOf(text) }),
    status: objectTypeOf('kubernetes.NamespaceStatus', {
      conditions: listOf(
        objectTypeOf('kubernetes.NamespaceCondition', {
          status: text,
          type: text,
          lastTransitionTime: moment,
          message: text,
          reason: text,
        }),
      ),
      phase: text,
    }),
  }),
  // A cluster-scoped object has no namespace.
  nullable: true,
}

export interface ExpressionScope {
  readonly hasParams: boolean
  readonly hasAuthorizer: boolean
  /** Whether the expression may construct the patches of a mutating policy. */
  readonly makesPatches?: boolean | undefined
  /** The type of `variables`: its fields are the variables that the policy declares before this expression. */
  readonly variables?: CelType | undefined
}

/** A compiled expression, or the reason why it does not compile. */
export interface AdmissionExpression {
  readonly text: string
  readonly program: CelProgram | undefined
  /** In the real server's words. */
  readonly problem: string
}

/** `results` are the types that the result may have; empty for any. */
export function compileExpression(
  source: string,
  scope: ExpressionScope,
  results: readonly CelType[],
): AdmissionExpression {
  const variables: Record<string, CelType> = {
    object: dynType,
    oldObject: dynType,
    namespaceObject: namespaceType,
    request: requestType,
    ...(scope.hasParams && { params: dynType }),
    ...(scope.hasAuthorizer && { authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType }),
    ...(scope.variables && { variables: scope.variables }),
  }
  const wrong = (problem: string): AdmissionExpression => ({ text: source, program: undefined, problem })
  try {
    const program = compileCel(source, { variables, makes: scope.makesPatches ? patchTypes : undefined })
    const { resultType } = program
    if (results.length > 0 && !results.some((one) => sameType(one, resultType))) {
      const names = results.map(typeText)
      const expected = names.length === 1 ? names[0]! : `one of [${names.join(' ')}]`
      return wrong(`must evaluate to ${expected} but got ${typeText(resultType)}`)
    }
    return { text: source, program, problem: '' }
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error
    const how = error.phase === 'program' ? 'program instantiation failed' : 'compilation failed'
    return wrong(`${how}: ${error.message}`)
  }
}

/** The name of a type at run time. */
function typeText({ name, parameters }: CelType): string {
  return parameters.length === 0 ? name : `${name}(${parameters.map(typeText).join(', ')})`
}

/** The outcome of an evaluation: a value, or an error. */
type ExpressionOutcome = { readonly value: CelValue } | { readonly error: string }

export interface Evaluation {
  readonly values: ReadonlyMap<string, unknown>
  readonly budget: CelBudget
}

export class OutOfBudget extends Error {}

/** @throws OutOfBudget */
export function evaluate(
  { text: source, program, problem }: AdmissionExpression,
  { values, budget }: Evaluation,
): ExpressionOutcome {
  if (!program) return { error: `compilation error: ${problem}` }
  let outcome: ExpressionOutcome
  try {
    outcome = { value: program.evaluate(values, budget) }
  } catch (error) {
    // Either too many variables refer to one another, or fewer but larger ones exceed the stack.
    const isTooDeep = error instanceof RangeError
    if (!isTooDeep && !(error instanceof CelRuntimeError)) throw error
    const why = isTooDeep ? 'its variables are nested too deep' : error.message
    outcome = { error: `expression '${source}' resulted in error: ${why}` }
  }
  if (budget.remaining >= 0) return outcome
  throw new OutOfBudget('validation failed due to running out of cost budget, no further validation rules will be run')
}

/** The values of the variables that every expression has. */
export function valuesOf(state: ClusterState, view: OutsideView, params?: JsonObject | null): Map<string, unknown> {
  const { request, served, object, oldObject } = view
  const decide = deciderFor(state, request.user)
  return new Map<string, unknown>([
    ['object', object ?? null],
    ['oldObject', oldObject ?? null],
    ['request', requestFacts(view)],
    ['namespaceObject', null],
    ['params', params ?? null],
    ['authorizer', celAuthorizer(decide)],
    [
      'authorizer.requestResource',
      celRequestResource(decide, {
        group: served.group,
        resource: request.served.plural,
        subresource: request.subresource,
        namespace: namespaceOf(request),
        name: request.name,
      }),
    ],
  ])
}

function deciderFor({ access }: ClusterState, user: Identity): CelAuthorizer {
  return ({ verb, serviceAccount, path, resource }) => {
    const identity = serviceAccount
      ? {
          username: serviceAccountUser(serviceAccount.namespace, serviceAccount.name),
          groups: [...serviceAccountGroups(serviceAccount.namespace), wellKnown.authenticated],
          extra: new Map<string, readonly string[]>(),
        }
      : user
    if (path !== undefined) return access.rbac.decide(identity, { verb, path })
    const { group = '', resource: plural = '', subresource, namespace, name } = resource ?? {}
    return access.rbac.decide(identity, {
      verb,
      group,
      version: '*',
      resource: plural,
      subresource: subresource || undefined,
      namespace: namespace || undefined,
      name: name || undefined,
    })
  }
}

/**
 * How many variables may be under evaluation at once. The limit is far below what a stack holds: how much that is
 * depends on what the engine has compiled so far, and a request has to get the same answer every time.
 */
const deepestVariable = 500

/** Variables of a policy: each is evaluated on first access, and then cached. */
export class LazyVariables extends CelMap {
  readonly #expressions: ReadonlyMap<string, AdmissionExpression>
  readonly #evaluation: Evaluation
  readonly #known = new Map<string, CelValue>()
  #depth = 0

  constructor(expressions: ReadonlyMap<string, AdmissionExpression>, evaluation: Evaluation) {
    super()
    this.#expressions = expressions
    this.#evaluation = evaluation
  }

  get size(): number {
    return this.#expressions.size
  }

  keys(): Iterable<CelValue> {
    return this.#expressions.keys()
  }

  find(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return undefined
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const expression = this.#expressions.get(key)
    if (!expression) return undefined
    if (!expression.program) {
      throw new CelRuntimeError(`composited variable "${key}" fails to compile: ${expression.problem}`)
    }
    if (this.#depth === deepestVariable) throw new RangeError('variables are nested too deep')
    this.#depth++
    try {
      const value = expression.program.evaluate(this.#evaluation.values, this.#evaluation.budget)
      this.#known.set(key, value)
      return value
    } catch (error) {
      if (!(error instanceof CelRuntimeError)) throw error
      throw new CelRuntimeError(`composited variable "${key}" fails to evaluate: ${error.message}`)
    } finally {
      this.#depth--
    }
  }
}

/** Whether all conditions hold; an error if one could not be evaluated and none is false. */
export function meetsConditions(
  conditions: readonly AdmissionExpression[],
  values: ReadonlyMap<string, unknown>,
): boolean | { readonly error: string } {
  const evaluation = { values, budget: { remaining: celMatchConditionsBudget } }
  const errors: string[] = []
  try {
    for (const condition of conditions) {
      const outcome = evaluate(condition, evaluation)
      if ('error' in outcome) errors.push(outcome.error)
      else if (outcome.value === false) return false
    }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error
    return { error: error.message }
  }
  if (errors.length === 0) return true
  return { error: errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]` }
}

/** What match conditions of webhooks can refer to, and those of policies when they are validated. */
export const conditionScope: ExpressionScope = { hasParams: false, hasAuthorizer: true }

/** The match conditions of a webhook. */
export function compileConditions(
  conditions: readonly MatchCondition[],
  scope: ExpressionScope = conditionScope,
): readonly AdmissionExpression[] {
  return conditions.map(({ expression }) => compileExpression(expression, scope, [boolType]))
}

/** The expression of a mutation must return an object or JSON Patch operations. */
export function compileMutation(
  { patchType, applyConfiguration, jsonPatch }: Mutation,
  scope: ExpressionScope,
): AdmissionExpression {
  const isPatch = patchType === 'JSONPatch'
  const source = (isPatch ? jsonPatch?.expression : applyConfiguration?.expression) ?? ''
  return compileExpression(source.trim(), { ...scope, makesPatches: true }, [
    isPatch ? listOf(jsonPatchType) : patchObjectType,
  ])
}
