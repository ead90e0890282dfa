/** Deployments and ReplicaSets: a number of identical pods. */
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  Deployment,
  DeploymentSpec,
  DeploymentStrategy,
  ReplicaSet,
  ReplicaSetSpec,
} from '../../../kube/types/apps/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { type Draft, draftOf, fillAbsent, fillZeros, finished, ensurePart } from '../strategy/draft.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { defaultTemplate } from '../pod/pod-defaults.ts'
import { templateWarnings } from '../pod/pod-warnings.ts'
import { forbiddenField, invalidField, unsupported } from '../../../kube/validation/field-error.ts'
import { checkAtMostAll, checkCountOrPercent, checkNotNegative, countOf } from '../values/value-validation.ts'
import { withFirstStatus } from '../strategy/first-status.ts'
import {
  checkCollisions,
  checkCounts,
  checkImmutable,
  checkReplicated,
  checkSelector,
  checkNotMoreThan,
} from './workload-validation.ts'

export const deploymentRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    fillAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 })
    defaultRolling(ensurePart(spec, 'strategy'), { maxUnavailable: '25%', maxSurge: '25%' })
    defaultTemplate(ensurePart(spec, 'template'))
    return finished(draft)
  },
  prepareCreate: withFirstStatus,
  validateCreate: (object) => [...checkDeployment(specOf(object))],
  validateUpdate: (object, live) => [
    ...checkDeployment(specOf(object)),
    ...checkImmutable(specOf(object).selector, specOf(live).selector, 'spec.selector'),
  ],
  validateStatus: (object, live) => {
    const status = statusOf(object)
    return [
      ...checkCounts(status, deploymentCounts),
      ...checkNotMoreThan(status, 'updatedReplicas', 'replicas'),
      ...checkReplicaShares(status),
      ...checkCollisions(status, statusOf(live)),
    ]
  },
  warnings: (object, live) => templateWarnings(object, live, { naming: true }),
}

const deploymentCounts = [
  'observedGeneration',
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'unavailableReplicas',
  'terminatingReplicas',
  'collisionCount',
]

function specOf(object: UntypedObject): DeploymentSpec {
  return (object as unknown as Deployment).spec
}

function statusOf(object: UntypedObject): Readonly<Record<string, unknown>> | undefined {
  return object['status'] as Readonly<Record<string, unknown>> | undefined
}

export function* checkReplicaShares(status: Readonly<Record<string, unknown>> | undefined): Iterable<Cause> {
  yield* checkNotMoreThan(status, 'readyReplicas', 'replicas')
  yield* checkNotMoreThan(status, 'availableReplicas', 'replicas')
  yield* checkNotMoreThan(status, 'availableReplicas', 'readyReplicas', 'readyReplicas')
}

/** RollingUpdate is the default strategy. */
export function defaultRolling(strategy: Draft, steps: Readonly<Record<string, string | number>>): void {
  fillZeros(strategy, { type: 'RollingUpdate' })
  if (strategy['type'] === 'RollingUpdate') fillAbsent(ensurePart(strategy, 'rollingUpdate'), steps)
}

function* checkDeployment(spec: DeploymentSpec): Iterable<Cause> {
  const { replicas, selector, template, strategy, minReadySeconds = 0, progressDeadlineSeconds: deadline } = spec
  yield* checkNotNegative(replicas, 'spec.replicas')
  yield* checkSelector(selector, 'spec.selector', 'deployment')
  yield* checkReplicated(selector, template, 'spec.template', 'ReplicaSet')
  yield* checkStrategy(strategy ?? {}, 'spec.strategy')
  yield* checkNotNegative(minReadySeconds, 'spec.minReadySeconds')
  yield* checkNotNegative(spec.revisionHistoryLimit, 'spec.revisionHistoryLimit')
  yield* checkNotNegative(deadline, 'spec.progressDeadlineSeconds')
  if (deadline !== undefined && deadline <= minReadySeconds) {
    yield invalidField('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')
  }
}

function* checkStrategy({ type, rollingUpdate }: DeploymentStrategy, field: string): Iterable<Cause> {
  if (type === 'Recreate') {
    if (!rollingUpdate) return
    yield forbiddenField(`${field}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")
  } else if (type === 'RollingUpdate') {
    const { maxUnavailable, maxSurge } = rollingUpdate ?? {}
    const at = `${field}.rollingUpdate`
    yield* checkCountOrPercent(maxUnavailable, `${at}.maxUnavailable`)
    yield* checkCountOrPercent(maxSurge, `${at}.maxSurge`)
    if (countOf(maxUnavailable) === 0 && countOf(maxSurge) === 0) {
      yield invalidField(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0')
    }
    yield* checkAtMostAll(maxUnavailable, `${at}.maxUnavailable`)
  } else {
    const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {}
    const shown = {
      Type: type,
      RollingUpdate: rollingUpdate ? { MaxUnavailable: maxUnavailable, MaxSurge: maxSurge } : null,
    }
    yield unsupported(field, shown, ['Recreate', 'RollingUpdate'])
  }
}

export const replicaSet: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    const spec = ensurePart(draft, 'spec')
    fillAbsent(spec, { replicas: 1 })
    defaultTemplate(ensurePart(spec, 'template'))
    return finished(draft)
  },
  prepareCreate: withFirstStatus,
  validateCreate: (object) => [...checkReplicaSet(replicaSetOf(object))],
  validateUpdate: (object, live) => [
    ...checkReplicaSet(replicaSetOf(object)),
    ...checkImmutable(replicaSetOf(object).selector, replicaSetOf(live).selector, 'spec.selector'),
  ],
  validateStatus: (object) => {
    const status = statusOf(object)
    return [
      ...checkCounts(status, replicaCounts),
      ...checkNotMoreThan(status, 'fullyLabeledReplicas', 'replicas'),
      ...checkReplicaShares(status),
    ]
  },
  warnings: (object, live) => templateWarnings(object, live, { naming: true }),
}

/** The counts in the status of ReplicaSets and ReplicationControllers. */
export const replicaCounts: readonly string[] = [
  'replicas',
  'fullyLabeledReplicas',
  'readyReplicas',
  'availableReplicas',
  'observedGeneration',
  'terminatingReplicas',
]

function replicaSetOf(object: UntypedObject): ReplicaSetSpec {
  return (object as unknown as ReplicaSet).spec
}

function* checkReplicaSet({ replicas, minReadySeconds, selector, template }: ReplicaSetSpec): Iterable<Cause> {
  yield* checkNotNegative(replicas, 'spec.replicas')
  yield* checkNotNegative(minReadySeconds, 'spec.minReadySeconds')
  yield* checkSelector(selector, 'spec.selector', 'deployment')
  yield* checkReplicated(selector, template ?? {}, 'spec.template', 'ReplicaSet')
}
