/** Values derived from a Deployment and its ReplicaSets alone. */
import { equalJson, type Json } from '../../../kube/json.ts'
import type { DeploymentStatus } from '../../../kube/types/apps/v1.ts'
import type { PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { StoredIn } from '../controller/cluster.ts'
import type { SetSize } from './rollout.ts'
import { shareOf } from '../controller/share.ts'

export type DeploymentFacts = StoredIn<'deployments.apps'>
export type ReplicaSet = StoredIn<'replicasets.apps'>

export const hashLabel = 'pod-template-hash'
export const revisionAnnotation = 'deployment.kubernetes.io/revision'

export function surgeOf({ spec }: DeploymentFacts): number {
  return spec.strategy?.type === 'Recreate'
    ? 0
    : shareOf(spec.strategy?.rollingUpdate?.maxSurge, spec.replicas ?? 1, 'up')
}

export function unavailableOf(deployment: DeploymentFacts): number {
  const { replicas = 1, strategy } = deployment.spec
  if (strategy?.type === 'Recreate' || replicas === 0) return 0
  const unavailable = shareOf(strategy?.rollingUpdate?.maxUnavailable, replicas, 'down')
  // If both were rounded down to zero, the rollout could not progress.
  if (unavailable === 0 && surgeOf(deployment) === 0) return 1
  return Math.min(unavailable, replicas)
}

function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  const { labels: _labels, ...metadata } = template.metadata ?? {}
  return { ...template, metadata: { ...metadata, labels } }
}

export function isSameTemplate(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return equalJson(withoutHash(a ?? {}) as unknown as Json, withoutHash(b ?? {}) as unknown as Json)
}

export function byAge(sets: readonly ReplicaSet[]): readonly ReplicaSet[] {
  const at = ({ metadata }: ReplicaSet): string => `${metadata.creationTimestamp}/${metadata.name}`
  return sets.toSorted((a, b) => (at(a) < at(b) ? -1 : 1))
}

/** A revision is a signed 64-bit integer, which a JavaScript number cannot hold. An invalid one counts as absent. */
export function revisionOf({ metadata }: ReplicaSet | DeploymentFacts): bigint {
  return readRevision(metadata.annotations?.[revisionAnnotation]) ?? 0n
}

export function readRevision(text: string | undefined): bigint | undefined {
  if (text === undefined || text.length > 64 || !/^[+-]?\d+$/.test(text)) return undefined
  const revision = BigInt(text.replace('+', ''))
  return BigInt.asIntN(64, revision) === revision ? revision : undefined
}

/**
 * The replicas of a set as its spec limits them: replicas that are about to be deleted no longer count as available.
 */
export function deploymentSize({ spec, status }: ReplicaSet): SetSize {
  const { replicas = 1 } = spec
  return { spec: replicas, available: Math.min(replicas, status?.availableReplicas ?? 0) }
}

export function hasDeadline({ spec }: DeploymentFacts): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== 2 ** 31 - 1
}

export function isComplete({ spec, metadata }: DeploymentFacts, status: DeploymentStatus): boolean {
  const { replicas = 1 } = spec
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  )
}
