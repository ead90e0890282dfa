/** ResourceQuotas: limits for the objects and resources of a namespace, optionally for some of its pods only. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { ResourceQuota, ResourceQuotaSpec } from '../../../kube/types/core/v1.ts'
import { roundResources } from '../container/container-defaults.ts'
import { draftOf, finished, ensurePart, part } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { immutableDetail, invalidField, type Problems, requiredField } from '../../../kube/validation/field-error.ts'
import { checkResourceAmount, checkResourceName } from '../container/resource-validation.ts'

const computed = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory']
const known = new Set([
  ...computed,
  'ephemeral-storage',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
])

/** Resources that a scope can apply to. */
const ofPods = new Set(['pods', ...computed])
const scopes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['Terminating', ofPods],
  ['NotTerminating', ofPods],
  ['BestEffort', new Set(['pods'])],
  ['NotBestEffort', ofPods],
  ['PriorityClass', ofPods],
  ['CrossNamespacePodAffinity', ofPods],
  ['VolumeAttributesClass', new Set(['persistentvolumeclaims', 'requests.storage'])],
])
const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
]

const specOf = (object: UntypedObject): ResourceQuotaSpec => (object as unknown as ResourceQuota).spec ?? {}

function isKnown(name: string): boolean {
  return known.has(name) || name.startsWith('hugepages-') || name.startsWith('requests.hugepages-')
}

function* checkAmounts(amounts: NonNullable<ResourceQuotaSpec['hard']>, at: string): Iterable<Problems[number]> {
  for (const [name, amount] of Object.entries(amounts)) {
    const field = `${at}[${name}]`
    yield* checkResourceName(name, field)
    if (!name.includes('/') && !isKnown(name)) yield invalidField(field, name, 'must be a standard resource for quota')
    yield* checkResourceAmount(name, amount as string, field)
  }
}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { hard = {}, scopes: own = [], scopeSelector } = specOf(object)
  yield* checkAmounts(hard, 'spec.hard')
  const names = Object.keys(hard).toSorted().filter(isKnown)
  const fits = (scope: string, name: string): boolean => scopes.get(scope)?.has(name) ?? true
  // Each error prints all scopes, so each kind of error is reported once.
  const reported = new Set<string>()
  for (const scope of own) {
    const wrong = [
      ...(scopes.has(scope) ? [] : ['unsupported scope']),
      ...(names.every((name) => fits(scope, name)) ? [] : [misplaced]),
    ]
    for (const why of wrong) {
      if (!reported.has(why)) yield invalidField('spec.scopes', own, why)
      reported.add(why)
    }
  }
  yield* checkOpposites(own, 'spec.scopes', own)
  const at = 'spec.scopeSelector.matchExpressions'
  const { matchExpressions = [] } = scopeSelector ?? {}
  for (const { scopeName, operator, values = [] } of matchExpressions) {
    if (!scopes.has(scopeName)) yield invalidField(`${at}.scopeName`, scopeName, 'unsupported scope')
    for (const name of names)
      if (!fits(scopeName, name)) yield invalidField(at, shownSelector(matchExpressions), misplaced)
    yield* checkExpression(scopeName, operator, values, at)
  }
  yield* checkOpposites(
    matchExpressions.map(({ scopeName }) => scopeName),
    at,
    own.length > 0 ? own : null,
  )
}

const misplaced = 'unsupported scope applied to resource'

function* checkOpposites(own: readonly string[], field: string, value: unknown): Iterable<Problems[number]> {
  for (const pair of opposites) {
    if (pair.every((scope) => own.includes(scope))) yield invalidField(field, value, 'conflicting scopes')
  }
}

function* checkExpression(
  scope: string,
  operator: string,
  values: readonly string[],
  at: string,
): Iterable<Problems[number]> {
  const chooses = scope === 'PriorityClass' || scope === 'VolumeAttributesClass' || !scopes.has(scope)
  if (!chooses && operator !== 'Exists') {
    const all =
      'ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity'
    yield invalidField(`${at}.operator`, operator, `must be 'Exists' when scope is any of ${all}`)
  }
  if (operator === 'In' || operator === 'NotIn') {
    const why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
    if (values.length === 0) yield requiredField(`${at}.values`, why)
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    const why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
    if (values.length > 0) yield invalidField(`${at}.values`, values, why)
  } else yield invalidField(`${at}.operator`, operator, 'not a valid selector operator')
}

/** The selector with Go's field names. */
function shownSelector(
  expressions: readonly {
    readonly scopeName: string
    readonly operator: string
    readonly values?: readonly string[]
  }[],
): unknown {
  return {
    MatchExpressions: expressions.map(({ scopeName, operator, values }) => ({
      ScopeName: scopeName,
      Operator: operator,
      Values: values ?? null,
    })),
  }
}

export const resourceQuotaRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    roundResources(part(part(draft, 'spec'), 'hard'))
    roundResources(part(part(draft, 'status'), 'hard'))
    roundResources(part(part(draft, 'status'), 'used'))
    return finished(draft)
  },
  prepareCreate(object) {
    const draft = draftOf(object)
    ensurePart(draft, 'status')
    return finished(draft)
  },
  validateCreate: (object) => [...check(object)],
  validateUpdate(object, live) {
    const { scopes: own = [] } = specOf(object)
    const before = new Set(specOf(live).scopes)
    const isSame = new Set(own).size === before.size && own.every((scope) => before.has(scope))
    return [
      ...check(object),
      ...(isSame ? [] : [invalidField('spec.scopes', own.length > 0 ? own : null, immutableDetail)]),
    ]
  },
  validateStatus(object) {
    const { hard = {}, used = {} } = (object as unknown as ResourceQuota).status ?? {}
    return [...checkAmounts(hard, 'status.hard'), ...checkAmounts(used, 'status.used')]
  },
}
