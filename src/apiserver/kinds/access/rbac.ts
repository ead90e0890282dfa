/**
 * Roles list what is allowed, bindings grant it to subjects. `roleRef` is immutable, so that what a binding grants
 * cannot be exchanged.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { ClusterRole, PolicyRule, RoleBinding, Subject } from '../../../kube/types/rbac/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { draftOf, fillZeros, finished, ensurePart, parts } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { dnsSubdomain, pathSegment } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  noErrors,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

const group = 'rbac.authorization.k8s.io'

function checkRules(rules: readonly SentObject<PolicyRule>[], isNamespaced: boolean): Problems {
  return [
    ...rules.flatMap((rule, index) => [...checkRule(rule, isNamespaced, `rules[${index}]`)]),
    ...rules.flatMap(({ verbs = [] }, index) =>
      verbs.length > 0 ? noErrors : [requiredField(`rules[${index}].verbs`)],
    ),
  ]
}

function* checkRule(rule: SentObject<PolicyRule>, isNamespaced: boolean, at: string): Iterable<Problems[number]> {
  const { nonResourceURLs: urls = [], apiGroups = [], resources = [], resourceNames = [] } = rule
  if (urls.length > 0) {
    const field = `${at}.nonResourceURLs`
    if (isNamespaced) yield invalidField(field, urls, 'namespaced rules cannot apply to non-resource URLs')
    if (apiGroups.length + resources.length + resourceNames.length > 0) {
      yield invalidField(field, urls, 'rules cannot apply to both regular resources and non-resource URLs')
    }
    return
  }
  if (apiGroups.length === 0)
    yield requiredField(`${at}.apiGroups`, 'resource rules must supply at least one api group')
  if (resources.length === 0) yield requiredField(`${at}.resources`, 'resource rules must supply at least one resource')
}

const rulesOf = (object: UntypedObject): readonly SentObject<PolicyRule>[] =>
  (object as unknown as SentObject<ClusterRole>).rules ?? []

function checkRole(object: UntypedObject): Problems {
  return checkRules(rulesOf(object), true)
}

export const roleRules: KindRules = { defaults: structForm, validateCreate: checkRole, validateUpdate: checkRole }

function* checkClusterRole(object: UntypedObject): Iterable<Problems[number]> {
  const { aggregationRule } = object as unknown as SentObject<ClusterRole>
  const at = 'aggregationRule.clusterRoleSelectors'
  const { clusterRoleSelectors: selectors = [] } = aggregationRule ?? {}
  yield* checkRules(rulesOf(object), false)
  if (aggregationRule && selectors.length === 0) {
    yield requiredField(at, 'at least one clusterRoleSelector required if aggregationRule is non-nil')
  }
  for (const [index, selector] of selectors.entries()) {
    const problems = checkLabelSelector(selector, `${at}[${index}]`)
    yield* problems
    if (problems.length > 0) yield invalidField(`${at}[${index}]`, null, 'invalid label selector.')
  }
}

export const clusterRoleRules: KindRules = {
  defaults: structForm,
  validateCreate: (object) => [...checkClusterRole(object)],
  validateUpdate: (object) => [...checkClusterRole(object)],
}

function defaultBinding(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  fillZeros(ensurePart(draft, 'roleRef'), { apiGroup: group })
  for (const subject of parts(draft, 'subjects')) {
    if (subject['kind'] === 'User' || subject['kind'] === 'Group') fillZeros(subject, { apiGroup: group })
  }
  return finished(draft)
}

const subjectKinds = ['ServiceAccount', 'User', 'Group']

function* checkSubject(subject: SentObject<Subject>, isNamespaced: boolean, at: string): Iterable<Problems[number]> {
  const { kind = '', name, apiGroup = '', namespace } = subject
  if (!subjectKinds.includes(kind)) yield unsupported(`${at}.kind`, kind, subjectKinds)
  else if (kind !== 'ServiceAccount') {
    if (apiGroup !== group) yield unsupported(`${at}.apiGroup`, apiGroup, [group])
  } else {
    if (name) yield* eachInvalid(`${at}.name`, name, dnsSubdomain(name))
    if (apiGroup !== '') yield unsupported(`${at}.apiGroup`, apiGroup, [''])
    if (!isNamespaced && !namespace) yield requiredField(`${at}.namespace`)
  }
}

function bindingRules(isNamespaced: boolean): KindRules {
  const kinds = isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
  const check = (object: UntypedObject, changed: Problems = noErrors): Problems => {
    const { roleRef, subjects = [] } = object as unknown as SentObject<RoleBinding>
    const { apiGroup = '', kind = '', name = '' } = roleRef ?? {}
    return [
      ...(apiGroup === group ? noErrors : [unsupported('roleRef.apiGroup', apiGroup, [group])]),
      ...(kinds.includes(kind) ? noErrors : [unsupported('roleRef.kind', kind, kinds)]),
      ...eachInvalid('roleRef.name', name, pathSegment(name)),
      ...subjects.flatMap((subject, index) => [...checkSubject(subject, isNamespaced, `subjects[${index}]`)]),
      ...(name === '' ? [requiredField('roleRef.name')] : noErrors),
      ...changed,
      ...subjects.flatMap((subject, index) => (subject.name ? noErrors : [requiredField(`subjects[${index}].name`)])),
    ]
  }
  return {
    defaults: defaultBinding,
    validateCreate: (object) => check(object),
    validateUpdate(object, live) {
      const { roleRef = {} } = object as unknown as SentObject<RoleBinding>
      const { roleRef: before = {} } = live as unknown as SentObject<RoleBinding>
      const members = ['apiGroup', 'kind', 'name'] as const
      const isSame = members.every((member) => roleRef[member] === before[member])
      const shown = { APIGroup: roleRef.apiGroup, Kind: roleRef.kind, Name: roleRef.name }
      return check(object, isSame ? noErrors : [invalidField('roleRef', shown, immutableDetail)])
    },
  }
}

export const roleBindingRules: KindRules = bindingRules(true)
export const clusterRoleBindingRules: KindRules = bindingRules(false)
