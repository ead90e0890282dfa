/** ReplicationControllers: predecessor of ReplicaSets. The selector defaults to the labels of the template. */
import { ownMember } from '../../../kube/json-member.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { PodTemplateSpec, ReplicationController, ReplicationControllerSpec } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import type { StoredObject } from '../../storage/storage.ts'
import { checkReplicaShares, replicaCounts } from './deployment.ts'
import { draftOf, fillAbsent, finished, ensurePart, part } from '../strategy/draft.ts'
import { withFirstStatus } from '../strategy/first-status.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { defaultTemplate } from '../pod/pod-defaults.ts'
import { checkTemplate } from '../pod/pod-validation.ts'
import { templateWarnings } from '../pod/pod-warnings.ts'
import { invalidField, requiredField } from '../../../kube/validation/field-error.ts'
import { checkNotNegative } from '../values/value-validation.ts'
import { checkCounts, checkAlwaysRestarted, checkNotMoreThan } from './workload-validation.ts'

export const replicationController: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    const template = part(spec, 'template')
    const labels = part(part(template, 'metadata'), 'labels')
    const metadata = ensurePart(draft, 'metadata')
    if (labels) {
      if (Object.keys(part(spec, 'selector') ?? {}).length === 0) spec['selector'] = { ...labels }
      if (Object.keys(part(metadata, 'labels') ?? {}).length === 0) metadata['labels'] = { ...labels }
    }
    fillAbsent(spec, { replicas: 1 })
    if (template) defaultTemplate(template)
    return finished(draft)
  },
  prepareCreate: withFirstStatus,
  validateCreate: check,
  validateUpdate: check,
  validateStatus: ({ status }) => {
    const counts = status as Readonly<Record<string, unknown>> | undefined
    return [
      ...checkCounts(counts, replicaCounts),
      ...checkNotMoreThan(counts, 'fullyLabeledReplicas', 'replicas'),
      ...checkReplicaShares(counts),
    ]
  },
  // The real server swaps the two: the warnings of an update are about the old object.
  warnings: (object, live) =>
    live
      ? templateWarnings(live, object as StoredObject, { naming: true })
      : templateWarnings(object, live, { naming: true }),
}

function check(object: UntypedObject): readonly Cause[] {
  const spec = (object as unknown as ReplicationController).spec ?? {}
  const { template } = spec
  return [
    ...checkSpec(spec, template),
    // These are reported last.
    ...checkNotNegative(spec.replicas, 'spec.replicas'),
    ...checkNotNegative(spec.minReadySeconds, 'spec.minReadySeconds'),
  ]
}

function* checkSpec(
  { selector = {} }: ReplicationControllerSpec,
  template: PodTemplateSpec | undefined,
): Iterable<Cause> {
  if (Object.keys(selector).length === 0) yield requiredField('spec.selector')
  if (!template) {
    yield requiredField('spec.template')
    return
  }
  const { labels } = template.metadata ?? {}
  const isMatch = Object.entries(selector).every(([key, value]) => ownMember(labels, key) === value)
  if (!isMatch) {
    yield invalidField('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')
  }
  yield* checkTemplate(template, 'spec.template')
  yield* checkAlwaysRestarted(template, 'spec.template', 'ReplicationController')
}
