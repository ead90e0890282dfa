/**
 * Admission of a pod by the kubelet of its node. A pod that sets `nodeName` itself bypasses the scheduler: if it does
 * not fit, the kubelet rejects it, and the pod fails at once.
 */
import { formatTime } from '../../../kube/units/duration.ts'
import type { PodStatus } from '../../../kube/types/core/v1.ts'
import type { SimulatedState, StoredIn, StoredPod } from '../controller/cluster.ts'
import { hasPortConflict, isTolerated, matchesNode } from '../../../kube/scheduling/node-match.ts'
import { isFinished } from '../controller/pod-facts.ts'
import { needsOf, resourceAmounts } from '../../../kube/scheduling/pod-needs.ts'

interface Rejection {
  readonly reason: string
  readonly message: string
}

/** The first reason why this pod, which has not started yet, cannot run on its node. */
export function rejectionOf(cluster: SimulatedState, pod: StoredPod, node: StoredIn<'nodes'>): Rejection | undefined {
  const os = pod.spec?.os?.name
  if (os !== undefined && os !== 'linux')
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" }
  // A node whose kubelet has not reported yet has no amounts to compare with.
  const allocatable = resourceAmounts(node.status?.allocatable)
  const admitted = cluster
    .podsOn(node.metadata.name)
    .filter((one) => one.metadata.uid !== pod.metadata.uid && one.status?.startTime !== undefined && !isFinished(one))
  const most = allocatable.get('pods')
  if (most !== undefined && admitted.length + 1 > most) return outOf('pods', 1, admitted.length, most)
  const needs = needsOf(pod)
  for (const [name, requested] of needs.requests) {
    const capacity = allocatable.get(name)
    // An extended resource that the node does not know may be one of the cluster.
    if (capacity === undefined || requested === 0) continue
    const used = admitted.reduce((sum, one) => sum + (needsOf(one).requests.get(name) ?? 0), 0)
    if (used + requested > capacity) return outOf(name, requested, used, capacity)
  }
  if (!matchesNode(pod, node)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector")
  if (needs.ports.length > 0 && hasPortConflict(needs, admitted))
    return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports")
  const isRepelled = (node.spec?.taints ?? []).some(
    (taint) => taint.effect === 'NoExecute' && !isTolerated(taint, pod.spec?.tolerations),
  )
  return isRepelled ? failed('TaintToleration', "node(s) had taints that the pod didn't tolerate") : undefined
}

function outOf(resource: string, requested: number, used: number, capacity: number): Rejection {
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` }
}

function failed(predicate: string, why: string): Rejection {
  return { reason: predicate, message: `Predicate ${predicate} failed: ${why}` }
}

export function rejectedStatus(pod: StoredPod, { reason, message }: Rejection, now: number): PodStatus {
  const { conditions, qosClass } = pod.status ?? {}
  return {
    ...(qosClass && { qosClass }),
    ...(conditions && { conditions }),
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
    startTime: formatTime(now),
  }
}
