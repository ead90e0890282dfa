/** StatefulSets: pods with a stable name and storage of their own, started and stopped in order. */
import type { UntypedObject } from '../../../kube/object.ts'
import type { StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy } from '../../../kube/types/apps/v1.ts'
import type { PodTemplateSpec, Volume } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkAnnotations, checkClaimSpec } from '../volume/claim-validation.ts'
import { type Draft, draftOf, fillAbsent, fillZeros, finished, ensurePart, part, parts } from '../strategy/draft.ts'
import { withFirstStatus } from '../strategy/first-status.ts'
import { goStruct } from '../values/go-struct.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabels } from '../values/label-selector.ts'
import { dnsLabel } from '../../../kube/validation/name-validation.ts'
import { defaultTemplate } from '../pod/pod-defaults.ts'
import { checkTemplate } from '../pod/pod-validation.ts'
import { claimWarnings, templateWarnings } from '../pod/pod-warnings.ts'
import { eachInvalid, invalidField, requiredField, unsupported } from '../../../kube/validation/field-error.ts'
import { checkAtMostAll, checkCountOrPercent, checkNotNegative, countOf } from '../values/value-validation.ts'
import { defaultClaimSpec } from '../volume/volume-defaults.ts'
import {
  checkCollisions,
  checkCounts,
  checkAlwaysRestarted,
  checkImmutable,
  checkMatch,
  checkSelector,
  checkNotMoreThan,
  readWorkloadSelector,
} from './workload-validation.ts'

export const statefulSet: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    fillZeros(spec, { podManagementPolicy: 'OrderedReady' })
    defaultStrategy(ensurePart(spec, 'updateStrategy'))
    fillZeros(ensurePart(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' })
    fillAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, serviceName: '' })
    defaultTemplate(ensurePart(spec, 'template'))
    for (const claim of parts(spec, 'volumeClaimTemplates')) defaultClaim(claim)
    return finished(draft)
  },
  prepareCreate: withFirstStatus,
  validateCreate: (object) => [...checkStatefulSet(specOf(object), { isNew: true })],
  validateUpdate: (object, live) => [
    ...checkStatefulSet(specOf(object), { isNew: false }),
    ...immutable.flatMap((name) =>
      checkImmutable(
        specOf(object)[name],
        specOf(live)[name],
        `spec.${name}`,
        name === 'volumeClaimTemplates' ? asClaims : undefined,
      ),
    ),
  ],
  validateStatus: (object, live) => {
    const status = statusOf(object)
    return [
      ...checkCounts(status, counts),
      ...checkNotMoreThan(status, 'readyReplicas', 'replicas'),
      ...checkNotMoreThan(status, 'currentReplicas', 'replicas'),
      ...checkNotMoreThan(status, 'updatedReplicas', 'replicas'),
      ...checkNotMoreThan(status, 'availableReplicas', 'replicas'),
      ...checkNotMoreThan(status, 'availableReplicas', 'readyReplicas'),
      ...checkCollisions(status, statusOf(live)),
    ]
  },
  warnings: (object, live) => [
    ...templateWarnings(object, live),
    ...templateClaimWarnings(specOf(object), live ? '.Spec' : ''),
    ...((specOf(object).revisionHistoryLimit ?? 0) < 0 ? [unlimitedHistory] : []),
  ],
}

/** Reported in this order. */
const immutable = ['selector', 'volumeClaimTemplates', 'serviceName', 'podManagementPolicy'] as const

function asClaims(claims: unknown): unknown {
  return (
    (claims as StatefulSetSpec['volumeClaimTemplates'])?.map((claim) => goStruct(claim, 'PersistentVolumeClaim')) ??
    null
  )
}

const counts = [
  'replicas',
  'readyReplicas',
  'currentReplicas',
  'updatedReplicas',
  'availableReplicas',
  'observedGeneration',
  'collisionCount',
]
/** On an update the server prints a different path. */
function* templateClaimWarnings({ volumeClaimTemplates = [] }: StatefulSetSpec, suffix: string): Iterable<string> {
  for (const [index, { spec }] of volumeClaimTemplates.entries()) {
    yield* claimWarnings(spec, `spec.volumeClaimTemplates[${index}]${suffix}`)
  }
}

const unlimitedHistory =
  'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended'

function specOf(object: UntypedObject): StatefulSetSpec {
  return (object as unknown as StatefulSet).spec
}

function statusOf(object: UntypedObject): Readonly<Record<string, unknown>> | undefined {
  return object['status'] as Readonly<Record<string, unknown>> | undefined
}

function defaultStrategy(strategy: Draft): void {
  if (!strategy['type']) {
    strategy['type'] = 'RollingUpdate'
    ensurePart(strategy, 'rollingUpdate')
  }
  // A strategy with a type and no parameters gets no defaults for them.
  if (strategy['type'] === 'RollingUpdate') {
    fillAbsent(part(strategy, 'rollingUpdate'), { partition: 0, maxUnavailable: 1 })
  }
}

function defaultClaim(claim: Draft): void {
  fillZeros(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim' })
  ensurePart(claim, 'metadata')
  defaultClaimSpec(ensurePart(claim, 'spec'))
  fillZeros(ensurePart(claim, 'status'), { phase: 'Pending' })
}

const retentions = ['Retain', 'Delete']

function* checkStatefulSet(spec: StatefulSetSpec, { isNew }: { readonly isNew: boolean }): Iterable<Cause> {
  const {
    podManagementPolicy: order,
    persistentVolumeClaimRetentionPolicy: retention,
    volumeClaimTemplates = [],
  } = spec
  if (order !== 'OrderedReady' && order !== 'Parallel') {
    yield invalidField('spec.podManagementPolicy', order, "must be 'OrderedReady' or 'Parallel'")
  }
  yield* checkStrategy(spec.updateStrategy ?? {}, 'spec.updateStrategy')
  for (const name of ['whenDeleted', 'whenScaled'] as const) {
    const policy = retention?.[name]
    if (policy && !retentions.includes(policy)) {
      yield unsupported(`spec.persistentVolumeClaimRetentionPolicy.${name}`, policy, retentions)
    }
  }
  if (isNew) {
    for (const [index, claim] of volumeClaimTemplates.entries()) {
      yield* checkClaimSpec(claim.spec ?? {}, `spec.volumeClaimTemplates[${index}].spec`)
    }
  }
  yield* checkNotNegative(spec.replicas, 'spec.replicas')
  yield* checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds')
  yield* checkNotNegative(spec.ordinals?.start, 'spec.ordinals.start')
  if (isNew && spec.serviceName) yield* eachInvalid('spec.serviceName', spec.serviceName, dnsLabel(spec.serviceName))
  yield* checkSelector(spec.selector, 'spec.selector', 'statefulset')
  yield* checkPods(spec)
  yield* checkAlwaysRestarted(spec.template, 'spec.template', 'StatefulSet')
}

function* checkPods(spec: StatefulSetSpec): Iterable<Cause> {
  const selector = readWorkloadSelector(spec.selector)
  if (!selector) {
    yield invalidField('spec.selector', spec.selector)
    return
  }
  const template = withClaims(spec)
  yield* checkMatch(selector, template, 'spec.template')
  yield* checkTemplate(template, 'spec.template')
  yield* checkLabels(template.metadata?.labels, 'spec.template.labels')
  yield* checkAnnotations(template.metadata?.annotations, 'spec.template.annotations')
}

/**
 * The template as its pods get it: with the volumes of the claim templates, which replace others of the same name, and
 * a host name.
 */
function withClaims({ template, volumeClaimTemplates = [] }: StatefulSetSpec): PodTemplateSpec {
  const names = new Set(volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? ''))
  const claims: readonly Volume[] = [...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  const { subdomain: _subdomain, hostname: _hostname, ...spec } = template.spec ?? { containers: [] }
  const volumes = [...claims, ...(spec.volumes ?? []).filter(({ name }) => !names.has(name))]
  return { ...template, spec: { ...spec, volumes } }
}

function* checkStrategy({ type, rollingUpdate }: StatefulSetUpdateStrategy, field: string): Iterable<Cause> {
  const at = `${field}.rollingUpdate`
  const { partition, maxUnavailable } = rollingUpdate ?? {}
  const shown = rollingUpdate ? { Partition: partition ?? 0, MaxUnavailable: maxUnavailable ?? null } : null
  if (type === 'OnDelete') {
    if (rollingUpdate) yield invalidField(at, shown, "only allowed for updateStrategy 'RollingUpdate'")
  } else if (type === 'RollingUpdate') {
    if (!rollingUpdate) return
    yield* checkNotNegative(partition, `${at}.partition`)
    if (maxUnavailable === undefined) return
    yield* checkCountOrPercent(maxUnavailable, `${at}.maxUnavailable`)
    if (countOf(maxUnavailable) === 0) yield invalidField(`${at}.maxUnavailable`, maxUnavailable, 'cannot be 0')
    yield* checkAtMostAll(maxUnavailable, `${at}.maxUnavailable`)
  } else if (!type) yield requiredField(field)
  else yield invalidField(field, { Type: type, RollingUpdate: shown }, "must be 'RollingUpdate' or 'OnDelete'")
}
