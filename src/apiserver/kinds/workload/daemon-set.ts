/** DaemonSets: one pod on every matching node. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy } from '../../../kube/types/apps/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { defaultRolling } from './deployment.ts'
import { draftOf, fillAbsent, finished, ensurePart } from '../strategy/draft.ts'
import { withFirstStatus } from '../strategy/first-status.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkLabelSelector, isEmptySelector } from '../values/label-selector.ts'
import { defaultTemplate } from '../pod/pod-defaults.ts'
import { checkTemplate } from '../pod/pod-validation.ts'
import { templateWarnings } from '../pod/pod-warnings.ts'
import { invalidField, requiredField, unsupported } from '../../../kube/validation/field-error.ts'
import { checkAtMostAll, checkCountOrPercent, checkNotNegative, countOf } from '../values/value-validation.ts'
import {
  checkCollisions,
  checkCounts,
  checkAlwaysRestarted,
  checkImmutable,
  checkMatch,
  readWorkloadSelector,
} from './workload-validation.ts'

export const daemonSet: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    defaultRolling(ensurePart(spec, 'updateStrategy'), { maxUnavailable: 1, maxSurge: 0 })
    fillAbsent(spec, { revisionHistoryLimit: 10 })
    defaultTemplate(ensurePart(spec, 'template'))
    // Formerly a field, now an annotation that is always set.
    return withTemplateGeneration(finished(draft), templateGeneration(object))
  },
  prepareCreate: (object) => withTemplateGeneration(withFirstStatus(object), Math.max(templateGeneration(object), 1)),
  prepareUpdate(object, live) {
    const before = templateGeneration(live)
    const isSame = equalJson(specOf(object).template as unknown as Json, specOf(live).template as unknown as Json)
    return withTemplateGeneration(object, isSame ? before : before + 1)
  },
  prepareStatus: (object, live) => withTemplateGeneration(object, templateGeneration(live)),
  validateCreate: (object) => [...checkDaemonSet(specOf(object))],
  validateUpdate: (object, live) => [
    ...checkImmutable(specOf(object).selector, specOf(live).selector, 'spec.selector'),
    ...checkDaemonSet(specOf(object)),
  ],
  validateStatus: (object, live) => [
    ...checkCounts(statusOf(object), counts),
    ...checkCollisions(statusOf(object), statusOf(live)),
  ],
  warnings: (object, live) => templateWarnings(object, live),
}

const counts = [
  'currentNumberScheduled',
  'numberMisscheduled',
  'desiredNumberScheduled',
  'numberReady',
  'observedGeneration',
  'updatedNumberScheduled',
  'numberAvailable',
  'numberUnavailable',
  'collisionCount',
]

function specOf(object: UntypedObject): DaemonSetSpec {
  return (object as unknown as DaemonSet).spec
}

function statusOf(object: UntypedObject): Readonly<Record<string, unknown>> | undefined {
  return object['status'] as Readonly<Record<string, unknown>> | undefined
}

/** Counts template changes; a field of older versions, now stored as an annotation. */
const generationAnnotation = 'deprecated.daemonset.template.generation'

function templateGeneration({ metadata }: UntypedObject): number {
  return Number(metadata.annotations?.[generationAnnotation] ?? 0)
}

function withTemplateGeneration(object: UntypedObject, generation: number): UntypedObject {
  const annotations = { ...object.metadata.annotations, [generationAnnotation]: String(generation) }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

function* checkDaemonSet(spec: DaemonSetSpec): Iterable<Cause> {
  const { selector, template } = spec
  yield* checkLabelSelector(selector, 'spec.selector')
  yield* checkMatch(readWorkloadSelector(selector), template, 'spec.template')
  if (selector && isEmptySelector(selector)) {
    yield invalidField('spec.selector', selector, 'empty selector is invalid for daemonset')
  }
  yield* checkTemplate(template, 'spec.template')
  yield* checkAlwaysRestarted(template, 'spec.template', 'DaemonSet')
  yield* checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds')
  yield* checkStrategy(spec.updateStrategy ?? {}, 'spec.updateStrategy')
  yield* checkNotNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit')
}

function* checkStrategy({ type, rollingUpdate }: DaemonSetUpdateStrategy, field: string): Iterable<Cause> {
  const { maxUnavailable, maxSurge } = rollingUpdate ?? {}
  if (type === 'RollingUpdate') {
    const at = `${field}.rollingUpdate`
    yield* checkCountOrPercent(maxUnavailable, `${at}.maxUnavailable`)
    yield* checkCountOrPercent(maxSurge, `${at}.maxSurge`)
    yield* checkAtMostAll(maxUnavailable, `${at}.maxUnavailable`)
    yield* checkAtMostAll(maxSurge, `${at}.maxSurge`)
    const [unavailable, surge] = [countOf(maxUnavailable), countOf(maxSurge)]
    if (unavailable !== 0 && surge !== 0) {
      yield invalidField(`${at}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero')
    }
    if (unavailable === 0 && surge === 0) yield requiredField(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0')
  } else if (type !== 'OnDelete') {
    const steps = rollingUpdate ? { MaxUnavailable: maxUnavailable ?? 0, MaxSurge: maxSurge ?? 0 } : null
    yield unsupported(field, { Type: type, RollingUpdate: steps }, ['RollingUpdate', 'OnDelete'])
  }
}
