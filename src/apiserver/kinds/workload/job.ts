/** Jobs run pods until enough of them have succeeded. */
import type { UntypedObject } from '../../../kube/object.ts'
import { matchLabels } from '../../../kube/selector/selector.ts'
import type { Job, JobCondition, JobSpec, JobStatus } from '../../../kube/types/batch/v1.ts'
import type { PodSpec, PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { type Draft, draftOf, fillAbsent, fillZeros, finished, ensurePart, part, parts } from '../strategy/draft.ts'
import { withFirstStatus } from '../strategy/first-status.ts'
import { goStruct } from '../values/go-struct.ts'
import { checkJobSpec, withoutValue } from './job-validation.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { dnsLabel } from '../../../kube/validation/name-validation.ts'
import { defaultTemplate } from '../pod/pod-defaults.ts'
import { templateWarnings } from '../pod/pod-warnings.ts'
import { noErrors, invalidField, type Problems, requiredField } from '../../../kube/validation/field-error.ts'
import { maxInt32 } from '../values/value-validation.ts'
import { checkCounts, checkImmutable, checkMatch, readWorkloadSelector } from './workload-validation.ts'

export const job: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    defaultJob(spec)
    defaultLabels(draft)
    return finished(draft)
  },
  prepareCreate(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    const hasPodLabels = object.metadata.labels === specOf(object).template.metadata?.labels
    if (spec['manualSelector'] !== true) generateSelector(spec, object.metadata.name ?? '', object.metadata.uid ?? '')
    if (hasPodLabels) delete ensurePart(draft, 'metadata')['labels']
    defaultLabels(draft)
    return withFirstStatus(finished(draft))
  },
  validateCreate: (object) => [
    ...checkGeneratedSelector(object),
    ...checkJob(specOf(object)),
    ...checkPodNames(object),
  ],
  validateUpdate: (object, live) => [
    ...checkJob(specOf(object)),
    ...checkChange(specOf(object), live),
    ...checkPodNames(object),
  ],
  validateStatus: (object, live) => [...checkStatus(statusOf(object) ?? {}, statusOf(live) ?? {}, specOf(live))],
  warnings: (object, live) => templateWarnings(object, live, { naming: true }),
}

function specOf(object: UntypedObject): JobSpec {
  return (object as unknown as Job).spec!
}

function statusOf(object: UntypedObject): JobStatus | undefined {
  return (object as unknown as Job).status
}

function defaultJob(spec: Draft): void {
  if (spec['completions'] === undefined && spec['parallelism'] === undefined) spec['completions'] = 1
  fillAbsent(spec, {
    parallelism: 1,
    backoffLimit: spec['backoffLimitPerIndex'] === undefined ? 6 : maxInt32,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
    manualSelector: false,
  })
  defaultJobTemplate(spec)
}

/** Defaults that the Job template of a CronJob gets, too. */
export function defaultJobTemplate(spec: Draft): void {
  defaultTemplate(ensurePart(spec, 'template'))
  for (const rule of parts(part(spec, 'podFailurePolicy'), 'rules')) {
    for (const pattern of parts(rule, 'onPodConditions')) fillZeros(pattern, { status: 'True' })
  }
}

/**
 * A Job without labels gets those of its pods. It is the same map, as on the real server: labels added to the pod
 * template while the Job is being created are added to the Job, too.
 */
function defaultLabels(draft: Draft): void {
  const labels = part(part(part(part(draft, 'spec'), 'template'), 'metadata'), 'labels')
  const metadata = ensurePart(draft, 'metadata')
  if (labels && Object.keys(part(metadata, 'labels') ?? {}).length === 0) metadata['labels'] = labels
}

const uidLabel = 'batch.kubernetes.io/controller-uid'
const nameLabel = 'batch.kubernetes.io/job-name'

/** Labels of its pods; the names without a prefix are older. */
function generatedLabels(name: string, uid: string): Readonly<Record<string, string>> {
  return { 'controller-uid': uid, 'job-name': name, [uidLabel]: uid, [nameLabel]: name }
}

/** Generates the selector: adds unique labels to the pod template, and selects by the uid label. */
function generateSelector(spec: Draft, name: string, uid: string): void {
  const metadata = ensurePart(ensurePart(spec, 'template'), 'metadata')
  const labels = Object.entries({ ...generatedLabels(name, uid), ...part(metadata, 'labels') })
  metadata['labels'] = Object.fromEntries(labels.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  fillAbsent(ensurePart(ensurePart(spec, 'selector'), 'matchLabels'), { [uidLabel]: uid })
}

/** Unless `manualSelector` is set, the template must have the generated labels. */
function* checkGeneratedSelector(object: UntypedObject): Iterable<Cause> {
  const { manualSelector, selector, template } = specOf(object)
  if (manualSelector || !selector) return
  const expected = generatedLabels(object.metadata.name ?? '', object.metadata.uid ?? '')
  const labels = template.metadata?.labels ?? {}
  for (const [key, value] of Object.entries(expected)) {
    const at = `spec.template.metadata.labels[${key}]`
    if (!Object.hasOwn(labels, key)) yield requiredField(at, `must be '${value}'`)
    else if (labels[key] !== value) yield invalidField(at, labels, `must be '${value}'`)
  }
  const meant = readWorkloadSelector(selector)
  if (meant && !matchLabels(meant, expected))
    yield invalidField('spec.selector', selector, '`selector` not auto-generated')
}

function* checkJob(spec: JobSpec): Iterable<Cause> {
  yield* checkJobSpec(spec, 'spec')
  if (spec.selector) yield* checkLabelSelector(spec.selector, 'spec.selector')
  else yield requiredField('spec.selector')
  yield* checkMatch(readWorkloadSelector(spec.selector), spec.template, 'spec.template')
}

/** Pods of an indexed Job are named after the Job and their index. */
function checkPodNames(object: UntypedObject): Problems {
  const { completionMode, completions = 0 } = specOf(object)
  const { name = '' } = object.metadata
  const longest = `${name}-${completions - 1}`
  if (completionMode !== 'Indexed' || completions <= 0 || dnsLabel(longest).length === 0) return noErrors
  return [invalidField('metadata.name', name, `will not able to create pod with invalid DNS label: ${longest}`)]
}

function* checkChange(spec: JobSpec, live: UntypedObject): Iterable<Cause> {
  const before = specOf(live)
  if (spec.completionMode !== 'Indexed') {
    yield* checkImmutable(spec.completions, before.completions, 'spec.completions')
  } else if (spec.completions !== undefined && spec.completions !== before.completions) {
    if (spec.completions !== spec.parallelism) {
      yield invalidField('spec.completions', spec.completions, 'can only be modified in tandem with spec.parallelism')
    }
  }
  yield* checkImmutable(spec.selector, before.selector, 'spec.selector')
  yield* checkTemplateChange(spec, live)
  for (const name of [
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const) {
    yield* checkImmutable(spec[name], before[name], `spec.${name}`)
  }
}

/** Template fields that may change while a Job is suspended: scheduling constraints and resources. */
function checkTemplateChange(spec: JobSpec, live: UntypedObject): Problems {
  const before = specOf(live)
  const status = statusOf(live) ?? {}
  const isIdle = status.startTime === undefined || isTrue(status.conditions, 'Suspended')
  const isOpen = before.suspend === true && isIdle && (status.active ?? 0) === 0
  if (!isOpen) return checkImmutable(spec.template, before.template, 'spec.template', asTemplate)
  const known = withSameResources(withSameScheduling(before.template, spec.template), spec.template)
  return checkImmutable(spec.template.spec, known.spec, 'spec.template.spec', asPod)
}

const asTemplate = (template: unknown): unknown => goStruct(template, 'PodTemplateSpec')
const asPod = (spec: unknown): unknown => goStruct(spec, 'PodSpec')

function withSameScheduling(template: PodTemplateSpec, from: PodTemplateSpec): PodTemplateSpec {
  const {
    affinity,
    nodeSelector: _selector,
    tolerations: _tolerations,
    schedulingGates: _gates,
    ...spec
  } = template.spec ?? { containers: [] }
  const { podAffinity, podAntiAffinity } = affinity ?? {}
  const nodeAffinity = from.spec?.affinity?.nodeAffinity
  const merged = {
    ...(nodeAffinity && { nodeAffinity }),
    ...(podAffinity && { podAffinity }),
    ...(podAntiAffinity && { podAntiAffinity }),
  }
  const hasAffinity = from.spec?.affinity !== undefined || Object.keys(merged).length > 0
  return {
    ...template,
    spec: {
      ...spec,
      ...(hasAffinity && { affinity: merged }),
      ...(from.spec?.nodeSelector && { nodeSelector: from.spec.nodeSelector }),
      ...(from.spec?.tolerations && { tolerations: from.spec.tolerations }),
      ...(from.spec?.schedulingGates && { schedulingGates: from.spec.schedulingGates }),
    },
  }
}

function withSameResources(template: PodTemplateSpec, from: PodTemplateSpec): PodTemplateSpec {
  const { spec = { containers: [] } } = template
  const take = (list: 'containers' | 'initContainers'): Partial<PodSpec> => {
    const own = spec[list]
    const other = from.spec?.[list]
    if (!own || own.length !== other?.length) return {}
    return {
      [list]: own.map((container, index) => {
        const { resources, name } = other[index]!
        if (name !== container.name) return container
        const { resources: _old, ...rest } = container
        return resources ? Object.assign(rest, { resources }) : rest
      }),
    }
  }
  return { ...template, spec: { ...spec, ...take('containers'), ...take('initContainers') } }
}

function isTrue(conditions: readonly JobCondition[] | undefined, type: string): boolean {
  return (conditions ?? []).some((condition) => condition.type === type && condition.status === 'True')
}

/** Conditions that finish a Job are permanent, and counts of finished pods cannot decrease. */
function* checkStatus(status: JobStatus, live: JobStatus, spec: JobSpec): Iterable<Cause> {
  yield* checkCounts(status as Readonly<Record<string, unknown>>, [
    'active',
    'succeeded',
    'failed',
    'ready',
    'terminating',
  ])
  const at = 'status.conditions'
  const [isComplete, isFailed] = [isTrue(status.conditions, 'Complete'), isTrue(status.conditions, 'Failed')]
  const isFailing = isTrue(status.conditions, 'FailureTarget')
  const isSucceeding = isTrue(status.conditions, 'SuccessCriteriaMet')
  if (isComplete && isFailed) yield withoutValue(at, 'cannot set Complete=True and Failed=true conditions')
  if (isComplete && isFailing) yield withoutValue(at, 'cannot set Complete=True and FailureTarget=true conditions')
  if (status.completionTime !== undefined && !isComplete) {
    const why = 'cannot set completionTime when there is no Complete=True condition'
    yield invalidField('status.completionTime', status.completionTime, why)
  }
  if (status.completionTime === undefined && isComplete) {
    yield requiredField('status.completionTime', 'completionTime is required for Complete jobs')
  }
  if (isFailed && !isFailing)
    yield withoutValue(at, 'cannot set Failed=True condition without the FailureTarget=true condition')
  if (isComplete && !isSucceeding) {
    yield withoutValue(at, 'cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  }
  if ((isComplete || isFailed) && status.startTime === undefined) {
    yield requiredField('status.startTime', 'startTime is required for finished job')
  }
  if ((isComplete || isFailed) && (status.active ?? 0) > 0) {
    yield invalidField('status.active', status.active, 'active>0 is invalid for finished job')
  }
  if (status.ready !== undefined && status.ready > (status.active ?? 0)) {
    yield invalidField('status.ready', status.ready, 'cannot set more ready pods than active')
  }
  if (isSucceeding && isFailed) yield withoutValue(at, 'cannot set SuccessCriteriaMet=True and Failed=true conditions')
  if (isSucceeding && isFailing) {
    yield withoutValue(at, 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions')
  }
  for (const type of ['Failed', 'Complete', 'FailureTarget']) {
    if (isTrue(live.conditions, type) && !isTrue(status.conditions, type)) {
      yield withoutValue(at, `cannot disable the terminal ${type}=True condition`)
    }
  }
  if ((status.failed ?? 0) < (live.failed ?? 0)) {
    yield invalidField('status.failed', status.failed ?? 0, 'cannot decrease the failed counter')
  }
  if ((status.succeeded ?? 0) < (live.succeeded ?? 0)) {
    yield invalidField('status.succeeded', status.succeeded ?? 0, 'cannot decrease the succeeded counter')
  }
  if (live.startTime !== undefined && status.startTime !== live.startTime && !spec.suspend) {
    yield invalidField('status.startTime', status.startTime, 'field is immutable for unsuspended job once set')
  }
}
