/** Validation of scheduling constraints: affinity, tolerations, topology spread. */
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from '../../../kube/types/core/v1.ts'
import type { LabelSelectorSpec } from '../../../kube/selector/selector.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { dnsLabel, dnsSubdomain, labelValue, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  noErrors,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkPositive } from '../values/value-validation.ts'

export function* checkAffinity(
  { nodeAffinity, podAffinity, podAntiAffinity }: Affinity,
  field: string,
): Iterable<Cause> {
  const needed = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  if (needed) {
    yield* checkNodeSelector(needed, `${field}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`)
  }
  for (const [index, { weight, preference }] of preferred.entries()) {
    const at = `${field}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}]`
    yield* checkWeight(weight, `${at}.weight`)
    yield* checkNodeTerm(preference, `${at}.preference`, { anyValue: true })
  }
  if (podAffinity) yield* checkPodAffinity(podAffinity, `${field}.podAffinity`)
  if (podAntiAffinity) yield* checkPodAffinity(podAntiAffinity, `${field}.podAntiAffinity`)
}

export function* checkNodeSelector(selector: NodeSelector, field: string): Iterable<Cause> {
  // Go's empty list is null here.
  const terms = (selector.nodeSelectorTerms as NodeSelector['nodeSelectorTerms'] | null) ?? []
  const at = `${field}.nodeSelectorTerms`
  if (terms.length === 0) yield requiredField(at, 'must have at least one node selector term')
  for (const [index, term] of terms.entries()) yield* checkNodeTerm(term, `${at}[${index}]`, { anyValue: false })
}

function checkWeight(weight: number, field: string): Problems {
  return weight > 0 && weight <= 100 ? noErrors : [invalidField(field, weight, 'must be in the range 1-100')]
}

/** Invalid label values match nothing; only a preference may contain them. */
interface ValueRule {
  readonly anyValue: boolean
}

function* checkNodeTerm(term: NodeSelectorTerm, field: string, rule: ValueRule): Iterable<Cause> {
  for (const [index, expression] of (term.matchExpressions ?? []).entries()) {
    yield* checkNodeExpression(expression, `${field}.matchExpressions[${index}]`, rule)
  }
  for (const [index, expression] of (term.matchFields ?? []).entries()) {
    yield* checkNodeField(expression, `${field}.matchFields[${index}]`)
  }
}

function* checkNodeExpression(
  { key, operator, values = [] }: NodeSelectorRequirement,
  field: string,
  { anyValue }: ValueRule,
): Iterable<Cause> {
  const at = `${field}.values`
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield requiredField(at, "must be specified when `operator` is 'In' or 'NotIn'")
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0)
      yield forbiddenField(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) yield requiredField(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")
  } else yield invalidField(`${field}.operator`, operator, 'not a valid selector operator')
  yield* eachInvalid(`${field}.key`, key, qualifiedNameProblems(key))
  if (anyValue) return
  for (const [index, value] of values.entries()) yield* eachInvalid(`${at}[${index}]`, value, labelValue(value))
}

function* checkNodeField({ key, operator, values = [] }: NodeSelectorRequirement, field: string): Iterable<Cause> {
  if (operator !== 'In' && operator !== 'NotIn') {
    yield invalidField(`${field}.operator`, operator, 'not a valid selector operator')
  } else if (values.length !== 1) {
    const why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
    yield requiredField(`${field}.values`, why)
  }
  if (key !== 'metadata.name') yield invalidField(`${field}.key`, key, 'not a valid field selector key')
  else
    for (const [index, value] of values.entries()) {
      yield* eachInvalid(`${field}.values[${index}]`, value, dnsSubdomain(value))
    }
}

function* checkPodAffinity(affinity: PodAffinity, field: string): Iterable<Cause> {
  const needed = affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []
  for (const [index, term] of needed.entries()) {
    yield* checkPodTerm(term, `${field}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`)
  }
  for (const [index, { weight, podAffinityTerm }] of preferred.entries()) {
    const at = `${field}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`
    yield* checkWeight(weight, `${at}.weight`)
    yield* checkPodTerm(podAffinityTerm, `${at}.podAffinityTerm`)
  }
}

function* checkPodTerm(term: PodAffinityTerm, field: string): Iterable<Cause> {
  yield* checkLabelSelector(term.labelSelector, `${field}.labelSelector`)
  yield* checkLabelSelector(term.namespaceSelector, `${field}.namespaceSelector`)
  for (const name of term.namespaces ?? []) yield* eachInvalid(`${field}.namespace`, name, dnsLabel(name))
  yield* checkLabelKeys(term, field)
  if (!term.topologyKey) yield requiredField(`${field}.topologyKey`, 'can not be empty')
  yield* eachInvalid(`${field}.topologyKey`, term.topologyKey, qualifiedNameProblems(term.topologyKey))
}

interface LabelKeys {
  readonly matchLabelKeys?: readonly string[]
  readonly mismatchLabelKeys?: readonly string[]
  readonly labelSelector?: LabelSelectorSpec
}

/** `matchLabelKeys`: keys whose value the server copies from the pod into the selector. */
function* checkLabelKeys(term: LabelKeys, field: string): Iterable<Cause> {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term
  for (const [name, keys] of [
    ['matchLabelKeys', matchLabelKeys],
    ['mismatchLabelKeys', mismatchLabelKeys],
  ] as const) {
    const at = `${field}.${name}`
    if (keys.length > 0 && !labelSelector)
      yield forbiddenField(at, 'must not be specified when labelSelector is not set')
    else
      for (const [index, key] of keys.entries()) yield* eachInvalid(`${at}[${index}]`, key, qualifiedNameProblems(key))
  }
  const seen = new Set(Object.keys(labelSelector?.matchLabels ?? {}))
  const places = new Map(matchLabelKeys.map((key, index) => [key, index]))
  const mismatches = new Set(mismatchLabelKeys)
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = places.get(key)
    if (index !== undefined && seen.has(key)) {
      yield invalidField(`${field}[${index}]`, key, 'exists in both matchLabelKeys and labelSelector')
    }
    seen.add(key)
  }
  for (const [index, key] of matchLabelKeys.entries()) {
    if (!mismatches.has(key)) continue
    yield invalidField(`${field}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys')
  }
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function* checkTolerations(tolerations: readonly Toleration[], field: string): Iterable<Cause> {
  for (const [index, toleration] of tolerations.entries()) yield* checkToleration(toleration, `${field}[${index}]`)
}

function* checkToleration(toleration: Toleration, field: string): Iterable<Cause> {
  const { key, operator = '', value = '', effect = '', tolerationSeconds } = toleration
  if (key) yield* eachInvalid(`${field}.key`, key, qualifiedNameProblems(key))
  else if (operator !== 'Exists') {
    const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
    yield invalidField(`${field}.operator`, operator, why)
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    yield invalidField(`${field}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
  }
  if (operator === '' || operator === 'Equal') {
    const wrong = labelValue(value)
    if (wrong.length > 0) yield invalidField(`${field}.operator`, value, wrong.join(';'))
  } else if (operator === 'Exists') {
    if (value !== '') yield invalidField(`${field}.operator`, value, "value must be empty when `operator` is 'Exists'")
  } else if (operator === 'Lt' || operator === 'Gt') {
    yield unsupported(`${field}.operator`, operator, ['Equal', 'Exists', 'Lt', 'Gt'])
  } else yield unsupported(`${field}.operator`, operator, ['Equal', 'Exists'])
  if (effect !== '' && !effects.includes(effect)) yield unsupported(`${field}.effect`, effect, effects)
}

export function* checkSpread(constraints: readonly TopologySpreadConstraint[], field: string): Iterable<Cause> {
  for (const [index, constraint] of constraints.entries()) {
    const at = `${field}[${index}]`
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector } = constraint
    yield* checkPositive(maxSkew, `${at}.maxSkew`)
    if (!topologyKey) yield requiredField(`${at}.topologyKey`, 'can not be empty')
    if (whenUnsatisfiable !== 'DoNotSchedule' && whenUnsatisfiable !== 'ScheduleAnyway') {
      yield unsupported(`${at}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway'])
    }
    const isRepeated = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable)
    if (isRepeated) {
      yield duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`)
    }
    if (minDomains !== undefined) {
      yield* checkPositive(minDomains, `${at}.minDomains`)
      if (whenUnsatisfiable !== 'DoNotSchedule') {
        const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`
        yield invalidField(`${at}.minDomains`, minDomains, why)
      }
    }
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      const policy = constraint[name]
      if (policy === undefined || policy === 'Honor' || policy === 'Ignore') continue
      yield unsupported(`${at}.${name}`, policy, ['Honor', 'Ignore'])
    }
    yield* checkLabelKeys(constraint, at)
    yield* checkLabelSelector(labelSelector, `${at}.labelSelector`)
  }
}
