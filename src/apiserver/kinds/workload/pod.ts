/** Pods and PodTemplates. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Pod, PodSpec, PodStatus, PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { type Draft, draftOf, finished, ensurePart, part, parts } from '../strategy/draft.ts'
import { checkIp } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import { defaultPod, defaultTemplate } from '../pod/pod-defaults.ts'
import { podRequests, qosClassOf } from '../pod/pod-resources.ts'
import { checkPodChange } from '../pod/pod-update.ts'
import { checkNewPod, checkPod, checkTemplate } from '../pod/pod-validation.ts'
import { podWarnings, templateWarnings } from '../pod/pod-warnings.ts'
import { eachInvalid, forbiddenField } from '../../../kube/validation/field-error.ts'
import { checkImmutable } from './workload-validation.ts'

export const pod: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    defaultPod(draft)
    return finished(draft)
  },
  prepareCreate(object, { now }) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    mergeLabelKeys(spec, object.metadata.labels ?? {})
    const resources = part(spec, 'resources')
    const requests = podRequests(specOf(finished(draft)))
    if (resources && requests && Object.keys(requests).length > 0) resources['requests'] = requests as Json
    draft['status'] = {
      phase: 'Pending',
      ...(parts(spec, 'schedulingGates').length > 0 && { conditions: [gatedCondition(now)] }),
      qosClass: qosClassOf(specOf(finished(draft))),
    }
    return finished(draft)
  },
  prepareUpdate(object, live) {
    const { resources } = specOf(live)
    // A client that does not know the field must not remove it.
    return resources && !specOf(object).resources ? { ...object, spec: { ...specOf(object), resources } } : object
  },
  prepareStatus(object, live) {
    const [status, before] = [statusOf(object), statusOf(live)]
    const { deletionTimestamp, ownerReferences } = live.metadata
    const { ownerReferences: _owners, ...metadata } = object.metadata
    return {
      ...object,
      metadata: {
        ...metadata,
        ...(deletionTimestamp && { deletionTimestamp }),
        ...(ownerReferences && { ownerReferences }),
      },
      status: keepDroppedFields(status, before),
    }
  },
  validateCreate: (object) => [
    ...checkPod({ metadata: object.metadata, spec: specOf(object) }),
    ...checkNewPod(specOf(object)),
  ],
  validateUpdate: (object, live) => [
    ...checkPod({ metadata: object.metadata, spec: specOf(object) }),
    ...checkPodChange(object, live),
  ],
  validateStatus: (object, live) => [
    ...checkImmutable(statusOf(object).qosClass, statusOf(live).qosClass, 'status.qosClass'),
    ...checkStatus(statusOf(object)),
  ],
  subresources: {
    ephemeralcontainers: {
      validate: (object, live) => [
        ...checkPod({ metadata: object.metadata, spec: specOf(object) }),
        ...checkEphemeralChange(specOf(object), specOf(live)),
      ],
    },
  },
  warnings: podWarnings,
}

/** Ephemeral containers are immutable. */
function* checkEphemeralChange({ ephemeralContainers = [] }: PodSpec, live: PodSpec): Iterable<Cause> {
  const field = 'spec.ephemeralContainers'
  const byName = new Map(ephemeralContainers.toReversed().map((container) => [container.name, container]))
  for (const before of live.ephemeralContainers ?? []) {
    const after = byName.get(before.name)
    const what = `existing ephemeral containers ${JSON.stringify(before.name)} may not be`
    if (!after) yield forbiddenField(field, `${what} removed\n`)
    else if (!equalJson(after as unknown as Json, before as unknown as Json))
      yield forbiddenField(field, `${what} changed\n`)
  }
}

function* checkStatus({ nominatedNodeName, conditions = [], podIPs = [] }: PodStatus): Iterable<Cause> {
  if (nominatedNodeName) {
    yield* eachInvalid('status.nominatedNodeName', nominatedNodeName, dnsSubdomain(nominatedNodeName))
  }
  for (const [index, { type }] of conditions.entries()) {
    yield* eachInvalid(`status.conditions[${index}].Type`, type, qualifiedNameProblems(type))
  }
  for (const [index, { ip = '' }] of podIPs.entries()) yield* checkIp(ip, `status.podIPs[${index}]`)
}

function specOf(object: UntypedObject): PodSpec {
  return (object as unknown as Pod).spec!
}

function statusOf(object: UntypedObject): PodStatus {
  return (object as unknown as Pod).status ?? {}
}

/** The condition of a pod with scheduling gates. */
function gatedCondition(now: string): Json {
  return {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  }
}

/** Merges `matchLabelKeys` into the label selectors: the pod's own label values are known only here. */
function mergeLabelKeys(spec: Draft, labels: Readonly<Record<string, string>>): void {
  const affinity = part(spec, 'affinity')
  for (const kind of [part(affinity, 'podAffinity'), part(affinity, 'podAntiAffinity')]) {
    for (const { podAffinityTerm } of parts(kind, 'preferredDuringSchedulingIgnoredDuringExecution')) {
      mergeInto(podAffinityTerm as Draft, labels)
    }
    for (const term of parts(kind, 'requiredDuringSchedulingIgnoredDuringExecution')) mergeInto(term, labels)
  }
  for (const constraint of parts(spec, 'topologySpreadConstraints')) mergeInto(constraint, labels)
}

function mergeInto(term: Draft, labels: Readonly<Record<string, string>>): void {
  const selector = part(term, 'labelSelector')
  if (!selector) return
  const expressions = [...parts(selector, 'matchExpressions')]
  for (const [member, operator] of [
    ['matchLabelKeys', 'In'],
    ['mismatchLabelKeys', 'NotIn'],
  ] as const) {
    for (const key of (term[member] ?? []) as readonly string[]) {
      if (Object.hasOwn(labels, key)) expressions.push({ key, operator, values: [labels[key]!] })
    }
  }
  if (expressions.length > 0) selector['matchExpressions'] = expressions
}

/** Older kubelets drop fields that they do not know. */
function keepDroppedFields(status: PodStatus, before: PodStatus): PodStatus {
  const observed = new Map((before.conditions ?? []).map((one) => [one.type, one.observedGeneration]))
  const conditions = status.conditions?.map((condition) => {
    const generation = condition.observedGeneration ?? observed.get(condition.type)
    return generation === undefined ? condition : { ...condition, observedGeneration: generation }
  })
  const kept: Record<string, unknown> = {}
  for (const name of [
    'qosClass',
    'observedGeneration',
    'resourceClaimStatuses',
    'extendedResourceClaimStatus',
  ] as const) {
    if (status[name] === undefined && before[name] !== undefined) kept[name] = before[name]
  }
  return { ...status, ...kept, ...(conditions && { conditions }) }
}

export const podTemplate: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    defaultTemplate(ensurePart(draft, 'template'))
    return finished(draft)
  },
  validateCreate: checkPodTemplate,
  validateUpdate: checkPodTemplate,
  warnings: (object, live) => templateWarnings(object, live, { field: 'template' }),
}

function checkPodTemplate(object: UntypedObject): readonly Cause[] {
  const template = object['template'] as PodTemplateSpec
  return [...checkTemplate(template, 'template')]
}
