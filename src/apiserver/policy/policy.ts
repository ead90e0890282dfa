/**
 * What both kinds of admission policy share: a policy says what is checked or changed, a binding says where and with
 * which parameters. A policy without a binding has no effect.
 */
import { celObjectBudget } from '../../kube/cel/compile.ts'
import { type CelField, type CelType, dynType, listOf, mapOf, objectTypeOf } from '../../kube/cel/value/type.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { labelsOf, matchLabels } from '../../kube/selector/selector.ts'
import type {
  MatchCondition,
  MatchResources,
  ParamKind,
  ParamRef,
  Variable,
} from '../../kube/types/admissionregistration/v1.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { StatusError } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import type { AdmissionRequest } from '../cluster/admission.ts'
import {
  compileConditions,
  compileExpression,
  type Evaluation,
  type AdmissionExpression,
  LazyVariables,
  type ExpressionScope,
  valuesOf,
} from './expression.ts'
import { matchedVersion } from './matching.ts'
import { namespaceOf, type OutsideView, outsideView } from './outside-view.ts'

interface PolicySpec {
  readonly paramKind?: ParamKind
  readonly matchConstraints?: MatchResources
  readonly matchConditions?: readonly MatchCondition[]
  readonly variables?: readonly Variable[]
  readonly failurePolicy?: string
}

interface BindingSpec {
  readonly policyName?: string
  readonly paramRef?: ParamRef
  readonly matchResources?: MatchResources
}

/** The policy cannot be evaluated because of how it, or its binding, is configured. */
export class PolicyFault extends Error {}

/** A binding that matches a write, and the parameters for its policy. */
export interface PolicyInvocation {
  readonly policy: StoredObject
  readonly binding: StoredObject
  readonly view: OutsideView
  /** The policy is evaluated once for each; null if it has no parameters. */
  readonly params: readonly (StoredObject | null)[]
}

export type Found =
  | PolicyInvocation
  | { readonly policy: StoredObject; readonly binding?: StoredObject; readonly fault: string }

export interface PolicyTables {
  readonly policies: string
  readonly bindings: string
}

/** All policies and bindings that match a write, including configuration errors. */
export async function invocationsFor(
  state: ClusterState,
  request: AdmissionRequest,
  tables: PolicyTables,
): Promise<readonly Found[]> {
  const found: Found[] = []
  const bindings = state.storage.table(tables.bindings).objects()
  for (const policy of state.storage.table(tables.policies).objects()) {
    const own = bindings.filter((one) => (one['spec'] as BindingSpec).policyName === policy.metadata.name)
    if (own.length === 0) continue
    const spec = policy['spec'] as PolicySpec
    try {
      const served = matchesResources(state, request, spec.matchConstraints)
      if (!served) continue
      const paramKind = spec.paramKind && findKind(state, spec.paramKind)
      const view = await outsideView(request, served)
      for (const binding of own) {
        const bound = await bind(state, request, binding, paramKind)
        if (typeof bound === 'string') found.push({ policy, binding, fault: `failed to configure binding: ${bound}` })
        else if (bound) found.push({ policy, binding, view, params: bound })
      }
    } catch (error) {
      found.push({ policy, fault: `failed to configure policy: ${faultOf(error)}` })
    }
  }
  return found
}

function faultOf(error: unknown): string {
  const isFault =
    error instanceof PolicyFault || error instanceof StatusError || isMusterError(error, kubeErrors.InvalidSelector)
  if (!isFault) throw error
  return error.message
}

/** The parameters of a binding; undefined when it does not match the write, a string when it is misconfigured. */
async function bind(
  state: ClusterState,
  request: AdmissionRequest,
  binding: StoredObject,
  paramKind: ServedResource | undefined,
): Promise<readonly (StoredObject | null)[] | string | undefined> {
  const { matchResources, paramRef } = binding['spec'] as BindingSpec
  try {
    if (!matchesResources(state, request, matchResources)) return undefined
    return await paramsFor(state, request, paramKind, paramRef)
  } catch (error) {
    return faultOf(error)
  }
}

const anything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }]

function matchesResources(
  state: ClusterState,
  request: AdmissionRequest,
  resources: MatchResources | undefined,
): ServedResource | undefined {
  if (!resources) return request.served
  const { resourceRules = [], excludeResourceRules, matchPolicy, namespaceSelector, objectSelector } = resources
  return matchedVersion(state, request, {
    rules: resourceRules.length === 0 ? anything : resourceRules,
    excluded: excludeResourceRules,
    matchPolicy,
    namespaceSelector,
    objectSelector,
  })
}

function findKind({ catalog }: ClusterState, { apiVersion = '', kind = '' }: ParamKind): ServedResource {
  const found = catalog.all().find((one) => one.kind === kind && formatApiVersion(one) === apiVersion)
  if (found) return found
  const shown = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  throw new PolicyFault(`failed to find resource referenced by paramKind: '${shown}, Kind=${kind}'`)
}

async function paramsFor(
  { storage }: ClusterState,
  request: AdmissionRequest,
  served: ServedResource | undefined,
  paramRef: ParamRef | undefined,
): Promise<readonly (StoredObject | null)[]> {
  if (!served || !paramRef) return [null]
  const { name, selector, parameterNotFoundAction } = paramRef
  const namespace = paramNamespace(request, served, paramRef)
  const table = storage.table(served.table)
  const named = name ? table.get(namespace, name) : undefined
  const chosen = name
    ? [named].filter((one) => one !== undefined)
    : table.objects(namespace).filter(({ metadata }) => matchLabels(labelsOf(selector), metadata.labels))
  if (chosen.length === 0 && parameterNotFoundAction === 'Deny') {
    throw new PolicyFault('no params found for policy binding with `Deny` parameterNotFoundAction')
  }
  return await Promise.all(chosen.map(async (one) => await oneAtVersion(one, served)))
}

function paramNamespace(
  request: AdmissionRequest,
  served: ServedResource,
  { namespace }: ParamRef,
): string | undefined {
  if (!served.namespaced) {
    if (!namespace) return undefined
    throw new PolicyFault('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  }
  const own = namespace || namespaceOf(request)
  if (own === '') {
    throw new PolicyFault('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources')
  }
  return own
}

/** What both kinds of policy compile: match conditions, variables, and the scope of all further expressions. */
export interface CommonExpressions {
  readonly conditions: readonly AdmissionExpression[]
  readonly variables: ReadonlyMap<string, AdmissionExpression>
  readonly scope: ExpressionScope
}

export function compileCommon({ paramKind, matchConditions = [], variables = [] }: PolicySpec): CommonExpressions {
  const [fields, properties] = [new Map<string, CelField>(), new Map<string, CelType>()]
  // One type that grows with each variable: a new type for each would take quadratic memory.
  const types: CelType = { ...objectTypeOf('kubernetes.variables', {}), fields, properties }
  const compiled = new Map<string, AdmissionExpression>()
  const base = { hasParams: paramKind !== undefined, hasAuthorizer: true }
  for (const { name, expression } of variables) {
    const one = compileExpression(expression, { ...base, variables: types }, [])
    compiled.set(name, one)
    const type = one.program ? variableType(one.program.resultType) : dynType
    fields.set(name, { property: name, type })
    properties.set(name, type)
  }
  const scope = { ...base, ...(variables.length > 0 && { variables: types }) }
  return { conditions: compileConditions(matchConditions, scope), variables: compiled, scope }
}

const kept = new Set(['bool', 'bytes', 'double', 'duration', 'int', 'null', 'string', 'timestamp', 'uint'])

/**
 * The type of a variable as other expressions see it: only scalars, lists and maps are typed more precisely than dyn.
 */
function variableType(type: CelType): CelType {
  const parameters = type.parameters.map(variableType)
  if (type.kind === 'list') return listOf(parameters[0]!)
  if (type.kind === 'map') return mapOf(parameters[0]!, parameters[1]!)
  return kept.has(type.kind) ? type : dynType
}

/** The variables of one evaluation of a policy, with a cost budget of its own. */
export function evaluationOf(
  state: ClusterState,
  view: OutsideView,
  param: StoredObject | null,
  { variables }: CommonExpressions,
): Evaluation {
  const values = valuesOf(state, view, param as unknown as JsonObject | null)
  const { request } = view
  const namespace = request.served.table === 'namespaces' ? undefined : request.namespace
  if (namespace !== undefined) values.set('namespaceObject', namespaceObject(state, namespace))
  const evaluation = { values, budget: { remaining: celObjectBudget } }
  values.set('variables', new LazyVariables(variables, evaluation))
  return evaluation
}

/** A namespace as expressions see it. */
function namespaceObject({ storage }: ClusterState, name: string): UntypedObject | null {
  const found = storage.table('namespaces').get(undefined, name)
  if (!found) return null
  const { managedFields: _managed, ownerReferences: _owners, ...metadata } = found.metadata
  return { ...found, metadata }
}
