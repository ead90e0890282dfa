/**
 * HorizontalPodAutoscalers: metrics, targets and scaling behaviour. Objects are validated and stored as v2, in
 * whichever version a client writes them.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  CrossVersionObjectReference,
  HPAScalingRules,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  MetricSpec,
  MetricTarget,
} from '../../../kube/types/autoscaling/v2.ts'
import { parseQuantity, signOfQuantity } from '../../../kube/units/quantity.ts'
import { structForm } from '../../codec/struct-form.ts'
import { type Draft, draftOf, fillAbsent, finished, ensurePart, part } from '../strategy/draft.ts'
import { convertAutoscaler, defaultUse, hasOtherMetrics } from '../../catalog/horizontal-pod-autoscaler-version.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsLabel, pathSegment } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  noErrors,
  forbiddenField,
  invalidField,
  type Problems,
  requiredField,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkContainerResourceName } from '../container/resource-validation.ts'
import { checkAmount, checkNotNegative, checkPositive } from '../values/value-validation.ts'

/** The scaling behaviour before it could be configured. */
const allAtOnce = { type: 'Percent', value: 100, periodSeconds: 15 }
const upwards = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, allAtOnce],
}
const downwards = { selectPolicy: 'Max', policies: [allAtOnce] }

function defaults(object: UntypedObject, version: string): UntypedObject {
  // An empty list of policies is an error, not a request for the default: detect it before it is dropped.
  const { scaleUp, scaleDown } = (object['spec'] as HorizontalPodAutoscalerSpec | undefined)?.behavior ?? {}
  const draft = draftOf(object)
  const spec = ensurePart(draft, 'spec')
  fillAbsent(spec, { minReplicas: 1 })
  if (version === 'v1') {
    if (!hasOtherMetrics(object)) fillAbsent(spec, { targetCPUUtilizationPercentage: defaultUse })
    return finished(draft)
  }
  const target = { type: 'Utilization', averageUtilization: defaultUse }
  fillAbsent(spec, { metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }] })
  const behavior = part(spec, 'behavior')
  if (behavior) {
    fillRules(behavior, 'scaleUp', upwards, scaleUp)
    fillRules(behavior, 'scaleDown', downwards, scaleDown)
  }
  return finished(draft)
}

function fillRules(behavior: Draft, name: string, rules: typeof downwards, given: HPAScalingRules | undefined): void {
  const own = ensurePart(behavior, name)
  fillAbsent(own, rules)
  if (given?.policies?.length === 0) own['policies'] = []
}

const specOf = (object: UntypedObject): Partial<HorizontalPodAutoscalerSpec> =>
  (convertAutoscaler(object, 'autoscaling/v2') as unknown as HorizontalPodAutoscaler).spec ?? {}

function* check(object: UntypedObject, live: UntypedObject | undefined): Iterable<Problems[number]> {
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics = [], behavior } = specOf(object)
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    yield invalidField('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`')
  }
  const before = live && specOf(live).scaleTargetRef
  const isExcused = before !== undefined && versionProblem(before, true) !== undefined
  yield* checkReference(scaleTargetRef, 'spec.scaleTargetRef', { needsGroup: true, isExcused })
  for (const [index, metric] of metrics.entries()) yield* checkMetric(metric, `spec.metrics[${index}]`)
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const why = 'must specify at least one Object or External metric to support scaling to zero replicas'
    yield forbiddenField('spec.metrics', why)
  }
  if (behavior?.scaleUp) yield* checkRules(behavior.scaleUp, 'spec.behavior.scaleUp')
  if (behavior?.scaleDown) yield* checkRules(behavior.scaleDown, 'spec.behavior.scaleDown')
  yield* checkNotNegative(minReplicas, 'spec.minReplicas')
  if (maxReplicas === 0) yield requiredField('spec.maxReplicas')
  else if (maxReplicas < 0) yield invalidField('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1')
}

function versionProblem({ apiVersion = '' }: CrossVersionObjectReference, needsGroup: boolean): string | undefined {
  if (apiVersion.split('/').length > 2) return `unexpected GroupVersion string: ${apiVersion}`
  return needsGroup && !/^[^/]+\//.test(apiVersion) ? 'apiVersion must specify API group' : undefined
}

interface ReferenceRule {
  readonly needsGroup: boolean
  /** A stored object with an invalid apiVersion in its target may keep it. */
  readonly isExcused: boolean
}

function* checkReference(
  reference: Partial<CrossVersionObjectReference> | undefined,
  at: string,
  { needsGroup, isExcused }: ReferenceRule,
): Iterable<Problems[number]> {
  for (const member of ['kind', 'name'] as const) {
    const text = reference?.[member]
    if (text) yield* eachInvalid(`${at}.${member}`, text, pathSegment(text))
    else yield requiredField(`${at}.${member}`)
  }
  const why = versionProblem((reference ?? {}) as CrossVersionObjectReference, needsGroup)
  if (why !== undefined && !isExcused) yield invalidField(`${at}.apiVersion`, reference?.apiVersion ?? '', why)
}

/** By metric type, the member with its settings; in the order of validation. */
const sources = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const
const types = Object.keys(sources).toSorted()

function* checkMetric(metric: MetricSpec, at: string): Iterable<Problems[number]> {
  const { type } = metric
  const wrongType = types.includes(type) ? noErrors : [unsupported(`${at}.type`, type, types)]
  if (!type) yield requiredField(`${at}.type`, 'must specify a metric source type')
  yield* wrongType
  const present = Object.values(sources).filter((source) => metric[source] !== undefined)
  const [first] = present
  if (first) yield* checkSource(metric, first, `${at}.${first}`)
  const expected = Object.hasOwn(sources, type) ? sources[type as keyof typeof sources] : undefined
  if (expected && metric[expected] === undefined) {
    yield requiredField(`${at}.${expected}`, 'must populate information for the given metric source')
  }
  if (present.length === 1) return
  for (const other of present.filter((source) => source !== expected)) {
    yield forbiddenField(`${at}.${other}`, 'must populate the given metric source only')
  }
}

function* checkSource(
  metric: MetricSpec,
  source: (typeof sources)[keyof typeof sources],
  at: string,
): Iterable<Problems[number]> {
  const { object, pods, resource, containerResource, external } = metric
  if (source === 'object' && object) {
    yield* checkReference(object.describedObject, `${at}.describedObject`, { needsGroup: false, isExcused: false })
  }
  const identified =
    source === 'object' ? object : source === 'pods' ? pods : source === 'external' ? external : undefined
  if (identified) yield* checkName(identified.metric?.name, `${at}.metric.name`)
  if (source === 'resource' && !resource?.name) yield requiredField(`${at}.name`, 'must specify a resource name')
  if (source === 'containerResource' && containerResource) {
    const { name, container } = containerResource
    if (name) yield* checkContainerResourceName(name, `${at}.name`)
    else yield requiredField(`${at}.name`, 'must specify a resource name')
    if (container) yield* eachInvalid(`${at}.container`, container, dnsLabel(container))
    else yield requiredField(`${at}.container`, 'must specify a container')
  }
  const { target = { type: '' } } = metric[source] as { readonly target?: MetricTarget }
  yield* checkTarget(target, `${at}.target`)
  yield* checkTargets(target, source, `${at}.target`)
}

function* checkName(name: string | undefined, field: string): Iterable<Problems[number]> {
  if (name) yield* eachInvalid(field, name, pathSegment(name))
  else yield requiredField(field, 'must specify a metric name')
}

function* checkTarget(
  { type, value, averageValue, averageUtilization }: MetricTarget,
  at: string,
): Iterable<Problems[number]> {
  if (!type) yield requiredField(`${at}.type`, 'must specify a metric target type')
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    yield invalidField(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue')
  }
  for (const [member, amount] of Object.entries({ value, averageValue })) {
    if (amount !== undefined && signOfQuantity(parseQuantity(amount)) !== 1) {
      yield invalidField(`${at}.${member}`, amount, 'must be positive')
    }
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    yield invalidField(`${at}.averageUtilization`, averageUtilization, 'must be greater than 0')
  }
}

/** Each metric type allows certain targets, of which one must be set. */
function* checkTargets(target: MetricTarget, source: string, at: string): Iterable<Problems[number]> {
  const hasValue = target.value !== undefined
  const hasAverage = target.averageValue !== undefined
  const hasUse = target.averageUtilization !== undefined
  if (source === 'pods') {
    if (!hasAverage) yield requiredField(`${at}.averageValue`, 'must specify a positive target averageValue')
  } else if (source === 'object') {
    if (!hasValue && !hasAverage)
      yield requiredField(`${at}.averageValue`, 'must set either a target value or averageValue')
  } else if (source === 'external') {
    const either = 'must set either a target value for metric or a per-pod target'
    if (!hasValue && !hasAverage) yield requiredField(`${at}.averageValue`, either)
    if (hasValue && hasAverage) {
      yield forbiddenField(`${at}.value`, 'may not set both a target value for metric and a per-pod target')
    }
  } else {
    if (!hasUse && !hasAverage) {
      yield requiredField(`${at}.averageUtilization`, 'must set either a target raw value or a target utilization')
    }
    if (hasUse && hasAverage) {
      yield forbiddenField(`${at}.averageValue`, 'may not set both a target raw value and a target utilization')
    }
  }
}

const selections = ['Disabled', 'Max', 'Min']
const policyTypes = ['Percent', 'Pods']
const longestWindow = 3600
const longestPeriod = 1800

function* checkRules(rules: HPAScalingRules, at: string): Iterable<Problems[number]> {
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [], tolerance } = rules
  const field = `${at}.stabilizationWindowSeconds`
  if (window < 0) yield invalidField(field, window, 'must be greater than or equal to zero')
  if (window > longestWindow) yield invalidField(field, window, `must be less than or equal to ${longestWindow}`)
  if (selectPolicy !== undefined && !selections.includes(selectPolicy)) {
    yield unsupported(`${at}.selectPolicy`, selectPolicy, selections)
  }
  if (policies.length === 0) yield requiredField(`${at}.policies`, 'must specify at least one Policy')
  for (const [index, { type, value, periodSeconds: period }] of policies.entries()) {
    const place = `${at}.policies[${index}]`
    if (!policyTypes.includes(type)) yield unsupported(`${place}.type`, type, policyTypes)
    yield* checkPositive(value, `${place}.value`)
    yield* checkPositive(period, `${place}.periodSeconds`)
    if (period > longestPeriod) {
      yield invalidField(`${place}.periodSeconds`, period, `must be less than or equal to ${longestPeriod}`)
    }
  }
  if (tolerance !== undefined) yield* checkAmount(String(tolerance), `${at}.tolerance`)
}

export const horizontalPodAutoscalerRules: KindRules = {
  defaults,
  prepareCreate: structForm,
  validateCreate: (object) => [...check(object, undefined)],
  validateUpdate: (object, live) => [...check(object, live)],
  validateStatus(object) {
    const { status } = object as unknown as HorizontalPodAutoscaler
    return [
      ...checkNotNegative(status?.currentReplicas, 'status.currentReplicas'),
      ...checkNotNegative(status?.desiredReplicas, 'status.desiredReplicas'),
    ]
  },
}
