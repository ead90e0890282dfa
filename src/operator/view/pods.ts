/** The Pods of a Deployment, StatefulSet, DaemonSet, ReplicaSet or Job, from the view. */
import type { KubeObject } from '../../kube/object.ts'
import { isControlledBy } from '../../kube/meta/owner.ts'
import type { LabelSelectorSpec } from '../../kube/selector/selector.ts'
import { Pod } from '../../kube/kinds.ts'
import type { View } from './view.ts'

/** A workload with a Pod selector. */
export interface Workload extends KubeObject {
  readonly spec?: { readonly selector?: LabelSelectorSpec }
}

/** Its Pods, by its selector; Pods must be among the controller's `reads`. Empty for an empty selector. */
export function podsOf(view: View, workload: Workload): readonly Pod[] {
  const { selector } = workload.spec ?? {}
  if (!selector) return []
  const found = view.list(Pod, { namespace: workload.metadata.namespace, labels: selector })
  // A Deployment's Pods are owned by its ReplicaSets; those of other workloads by the workload itself, so foreign Pods
  // with the same labels are left out.
  return workload.kind === 'Deployment' ? found : found.filter((pod) => isControlledBy(pod, workload))
}

/** Running, and not being deleted. */
export function isRunning({ metadata, status }: Pod): boolean {
  return status?.phase === 'Running' && metadata.deletionTimestamp === undefined
}

/** Running, with the condition Ready. */
export function isReady(pod: Pod): boolean {
  const condition = pod.status?.conditions?.find(({ type }) => type === 'Ready')
  return isRunning(pod) && condition?.status === 'True'
}

export function runningPodCount(view: View, workload: Workload): number {
  return podsOf(view, workload).filter(isRunning).length
}

export function readyPodCount(view: View, workload: Workload): number {
  return podsOf(view, workload).filter(isReady).length
}
