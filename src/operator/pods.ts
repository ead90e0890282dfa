/** What authors ask about the Pods of a Deployment, StatefulSet, DaemonSet, ReplicaSet or Job, without a request. */
import type { KubeObject } from '../kube/object.ts'
import { isControlledBy } from '../kube/owner.ts'
import type { LabelSelectorSpec } from '../kube/selector.ts'
import { Pod } from './kinds.ts'
import type { View } from './view.ts'

/** What makes Pods by a selector. */
export interface Workload extends KubeObject {
  readonly spec?: { readonly selector?: LabelSelectorSpec }
}

/** Its Pods, by its selector; Pods must be among the controller's `reads`. None when it selects nothing. */
export function podsOf(view: View, workload: Workload): readonly Pod[] {
  const { selector } = workload.spec ?? {}
  if (!selector) return []
  const found = view.list(Pod, { namespace: workload.metadata.namespace, labels: selector })
  // A Deployment's Pods belong to its ReplicaSets; those of all others to itself, whoever else wears the labels.
  return workload.kind === 'Deployment' ? found : found.filter((pod) => isControlledBy(pod, workload))
}

/** Started, and not on its way out. */
export function isRunning({ metadata, status }: Pod): boolean {
  return status?.phase === 'Running' && metadata.deletionTimestamp === undefined
}

/** Running, and fit to serve. */
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
