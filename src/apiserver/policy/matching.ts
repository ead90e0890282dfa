/**
 * Which webhooks and policies match a write: by rules, by the labels of the namespace and by those of the object. With
 * `matchPolicy: Equivalent` a rule for another version of the same resource matches, too, and the object is converted
 * to it.
 */
import type { UntypedObject } from '../../kube/object.ts'
import { labelsOf, type LabelSelectorSpec, matchLabels } from '../../kube/selector/selector.ts'
import type { NamedRuleWithOperations } from '../../kube/types/admissionregistration/v1.ts'
import type { Catalog, ServedResource } from '../catalog/catalog.ts'
import { notFound } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { AdmissionRequest } from '../cluster/admission.ts'
import { namespaceOf } from './outside-view.ts'

interface Criteria {
  readonly rules: readonly NamedRuleWithOperations[]
  readonly excluded?: readonly NamedRuleWithOperations[] | undefined
  readonly matchPolicy?: string | undefined
  readonly namespaceSelector?: LabelSelectorSpec | undefined
  readonly objectSelector?: LabelSelectorSpec | undefined
}

/** The version in which the webhook or policy gets the object; undefined when it does not match. */
export function matchedVersion(
  state: ClusterState,
  request: AdmissionRequest,
  criteria: Criteria,
): ServedResource | undefined {
  const { rules, excluded = [], matchPolicy } = criteria
  if (!matchesObject(request, criteria.objectSelector)) return undefined
  if (excluded.length > 0 && matchRules(state.catalog, request, excluded, matchPolicy)) return undefined
  const found = matchRules(state.catalog, request, rules, matchPolicy)
  // The namespace is checked last: a missing namespace is an error only for webhooks and policies that match otherwise.
  return found && matchesNamespace(state, request, criteria.namespaceSelector) ? found : undefined
}

/**
 * The objects that configure admission are exempt from it: otherwise a mistake in them could not be undone. A binding
 * is matched as the Binding that is created, not as the pod that it changes.
 */
export function isExempt({ served: { group, plural }, subresource, operation }: AdmissionRequest): boolean {
  if (subresource === 'binding' && operation === 'UPDATE') return true
  return group === 'admissionregistration.k8s.io' && /^(?:validating|mutating)/.test(plural)
}

function matchRules(
  catalog: Catalog,
  request: AdmissionRequest,
  rules: readonly NamedRuleWithOperations[],
  matchPolicy: string | undefined,
): ServedResource | undefined {
  if (rules.some((rule) => matchesRule(rule, request, request.served))) return request.served
  if (matchPolicy !== 'Equivalent') return undefined
  const others = catalog.all().filter((one) => one.table === request.served.table && one !== request.served)
  for (const rule of rules) {
    const found = others.find((one) => matchesRule(rule, request, one))
    if (found) return found
  }
  return undefined
}

function matchesRule(rule: NamedRuleWithOperations, request: AdmissionRequest, served: ServedResource): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], resourceNames = [] } = rule
  const matches = (pattern: readonly string[], value: string): boolean =>
    pattern.includes('*') || pattern.includes(value)
  return (
    matchesScope(rule.scope, request) &&
    matches(operations, request.operation) &&
    matches(apiGroups, served.group) &&
    matches(apiVersions, served.version) &&
    resources.some((pattern) => matchesResource(pattern, served.plural, request.subresource)) &&
    (resourceNames.length === 0 || resourceNames.includes(request.name))
  )
}

function matchesScope(scope: string | undefined, { served, namespace }: AdmissionRequest): boolean {
  if (scope === undefined || scope === '*') return true
  const isNamespaced = served.table !== 'namespaces' && (namespace ?? '') !== ''
  return isNamespaced === (scope === 'Namespaced')
}

function matchesResource(pattern: string, plural: string, subresource: string): boolean {
  const slash = pattern.indexOf('/')
  const resource = slash < 0 ? pattern : pattern.slice(0, slash)
  const sub = slash < 0 ? '' : pattern.slice(slash + 1)
  return (resource === '*' || resource === plural) && (sub === '*' || sub === subresource)
}

function matchesNamespace(
  state: ClusterState,
  request: AdmissionRequest,
  selector: LabelSelectorSpec | undefined,
): boolean {
  const { served, operation, subresource, object } = request
  const isNamespace = served.table === 'namespaces'
  const name = namespaceOf(request)
  if ((name === '' && !isNamespace) || isEmpty(selector)) return true
  const isWritten = isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')
  const found = isWritten ? object : state.storage.table('namespaces').get(undefined, name)
  if (!found) throw notFound({ group: '', plural: 'namespaces' }, name)
  return matchLabels(labelsOf(selector), found.metadata.labels)
}

/** The old object is matched as well as the new one: a relabelled object must not evade its policy. */
function matchesObject(
  { object, oldObject, subresource, operation }: AdmissionRequest,
  selector: LabelSelectorSpec | undefined,
): boolean {
  if (isEmpty(selector)) return true
  // CONNECT requests carry an object without labels.
  if (operation === 'CONNECT') return false
  // A Scale has no labels.
  const labels = (one: UntypedObject): Readonly<Record<string, string>> =>
    subresource === 'scale' ? {} : (one.metadata.labels ?? {})
  return [object, oldObject].some((one) => one && matchLabels(labelsOf(selector), labels(one)))
}

function isEmpty(selector: LabelSelectorSpec | undefined): boolean {
  if (!selector) return true
  const { matchLabels: labels = {}, matchExpressions = [] } = selector
  return Object.keys(labels).length === 0 && matchExpressions.length === 0
}
