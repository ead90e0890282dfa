/** Values derived from a pod alone: whether it is active, ready, available, and the deletion order of pods. */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import { ownerReference } from '../../../kube/meta/owner.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Pod, PodCondition, PodStatus, PodTemplateSpec } from '../../../kube/types/core/v1.ts'
import type { StoredPod } from './cluster.ts'
import type { ObjectDraft } from './object-writer.ts'

export function isFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

export function isPodTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && !isPodTerminating(pod)
}

function isPodConditionTrue(pod: Pod, type: string): boolean {
  return pod.status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false
}

export function isPodReady(pod: Pod): boolean {
  return isPodConditionTrue(pod, 'Ready')
}

/** When the pod becomes or became available; undefined when it is not ready. */
function availableAt(pod: Pod, minReadySeconds = 0): number | undefined {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready?.status !== 'True') return undefined
  if (minReadySeconds === 0) return 0
  return (parseTime(ready.lastTransitionTime ?? '') ?? 0) + minReadySeconds * 1000
}

export function isAvailable(pod: Pod, minReadySeconds: number | undefined, now: number): boolean {
  const at = availableAt(pod, minReadySeconds)
  return at !== undefined && at <= now
}

/** In how many milliseconds the next of these pods becomes available, if its readiness does not change. */
export function untilAvailable(
  pods: readonly Pod[],
  minReadySeconds: number | undefined,
  now: number,
): number | undefined {
  const moments = pods.map((pod) => availableAt(pod, minReadySeconds) ?? 0).filter((at) => at > now)
  return moments.length === 0 ? undefined : moments.reduce((first, at) => Math.min(first, at)) - now
}

/** The status with this condition; the same object when nothing changes. */
export function withPodCondition(
  { status = {}, metadata }: Pod,
  update: Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>,
  now: number,
): PodStatus {
  const { conditions = [] } = status
  const known = conditions.find(({ type }) => type === update.type)
  const isSame = known !== undefined && known.status === update.status
  if (isSame && known.reason === update.reason && known.message === update.message) return status
  const condition = {
    ...update,
    observedGeneration: metadata.generation ?? 0,
    lastProbeTime: null,
    lastTransitionTime: (isSame && known.lastTransitionTime) || formatTime(now),
  } as unknown as PodCondition
  return { ...status, conditions: [...conditions.filter(({ type }) => type !== update.type), condition] }
}

/** The status of an unschedulable pod; the same object when it says so already. */
export function withoutNode(pod: Pod, message: string, now: number): PodStatus {
  return withPodCondition(pod, { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }, now)
}

export function priorityOf({ spec }: Pod): number {
  return spec?.priority ?? 0
}

export function createdAt({ metadata }: KubeObject): number {
  return parseTime(metadata.creationTimestamp ?? '') ?? 0
}

export function restartsOf({ status }: Pod): number {
  return (status?.containerStatuses ?? []).reduce((most, { restartCount }) => Math.max(most, restartCount), 0)
}

/** The pod of a template, for its controller. */
export function podOf(
  owner: KubeObject,
  template: PodTemplateSpec,
  extra: Partial<Pod['metadata']> = {},
): ObjectDraft<Pod> {
  const { labels, annotations, finalizers } = template.metadata ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${owner.metadata.name}-`,
      namespace: owner.metadata.namespace!,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [ownerReference(owner, { controller: true })],
      ...extra,
    },
    spec: template.spec ?? { containers: [] },
  }
}

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'

/**
 * The order in which surplus pods are deleted: unbound, not ready, low deletion cost, many on the same node, new or
 * often restarted first.
 */
export function inDeletionOrder(pods: readonly StoredPod[], now: number): readonly StoredPod[] {
  const crowd = new Map<string, number>()
  for (const { spec } of pods) crowd.set(spec?.nodeName ?? '', (crowd.get(spec?.nodeName ?? '') ?? 0) + 1)
  const phases = ['Pending', 'Unknown', 'Running']
  const rank = (pod: StoredPod): readonly number[] => [
    pod.spec?.nodeName ? 1 : 0,
    phases.indexOf(pod.status?.phase ?? 'Pending'),
    isPodReady(pod) ? 1 : 0,
    Number(pod.metadata.annotations?.[deletionCost] ?? 0) || 0,
    -(crowd.get(pod.spec?.nodeName ?? '') ?? 0),
    isPodReady(pod) ? magnitude(now - readySince(pod)) : 0,
    -restartsOf(pod),
    magnitude(now - createdAt(pod)),
  ]
  return pods
    .map((pod) => ({ pod, rank: rank(pod) }))
    .toSorted((a, b) => compareRanks(a.rank, b.rank) || (a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1))
    .map(({ pod }) => pod)
}

function readySince({ status }: Pod): number {
  return parseTime(status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '') ?? 0
}

/** Ages are compared by order of magnitude, so that the choice between pods of similar age is random. */
function magnitude(ms: number): number {
  return Math.floor(Math.log2(Math.max(ms, 1)))
}

export function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    if (value !== b[index]) return value - b[index]!
  }
  return 0
}
