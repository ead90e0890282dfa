/**
 * Free capacity of each node. It is updated with every change of nodes and pods, so a scheduling decision iterates over
 * nodes and never over pods.
 */
import { needsOf, type ResourceAmounts, resourceAmounts } from '../../../kube/scheduling/pod-needs.ts'
import type { StoredIn, StoredPod } from '../controller/cluster.ts'
import { isFinished } from '../controller/pod-facts.ts'

/** One node and its pods. */
export interface NodeInfo {
  node: StoredIn<'nodes'>
  allocatable: ResourceAmounts
  readonly used: Map<string, number>
  readonly weight: { cpu: number; memory: number }
  readonly pods: Map<string, StoredPod>
}

export interface SchedulerCache {
  /** Incremented by each change that may make an unschedulable pod fit. */
  readonly version: number
  nodeInfos(): Iterable<NodeInfo>
  nodeInfo(node: string): NodeInfo | undefined
  /** Pods with required anti-affinity, which may exclude other pods. */
  readonly antiAffinityPods: ReadonlyMap<string, StoredPod>
  setNode(node: StoredIn<'nodes'> | undefined, previous: StoredIn<'nodes'> | undefined): void
  setPod(pod: StoredPod | undefined, previous: StoredPod | undefined): void
  /** Increments the version because of a change other than of nodes and pods. */
  invalidate(): void
}

export function createSchedulerCache(): SchedulerCache {
  const nodeInfos = new Map<string, NodeInfo>()
  /** Pods on nodes that do not exist (yet). */
  const podsOfMissingNodes = new Map<string, Map<string, StoredPod>>()
  const antiAffinityPods = new Map<string, StoredPod>()

  const put = (pod: StoredPod): void => {
    const name = pod.spec!.nodeName!
    const nodeInfo = nodeInfos.get(name)
    if (nodeInfo) occupy(nodeInfo, pod, 1)
    else
      podsOfMissingNodes.set(
        name,
        (podsOfMissingNodes.get(name) ?? new Map<string, StoredPod>()).set(pod.metadata.uid, pod),
      )
    if (pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length) {
      antiAffinityPods.set(pod.metadata.uid, pod)
    }
  }

  const take = (pod: StoredPod): void => {
    const name = pod.spec!.nodeName!
    const nodeInfo = nodeInfos.get(name)
    if (nodeInfo) occupy(nodeInfo, pod, -1)
    else podsOfMissingNodes.get(name)?.delete(pod.metadata.uid)
    antiAffinityPods.delete(pod.metadata.uid)
  }

  const cache: SchedulerCache & { version: number } = {
    version: 0,
    nodeInfos: () => nodeInfos.values(),
    nodeInfo: (node) => nodeInfos.get(node),
    antiAffinityPods,
    invalidate: () => void cache.version++,
    setNode(node, previous) {
      const name = (node ?? previous)!.metadata.name
      const before = nodeInfos.get(name)
      if (!node) {
        nodeInfos.delete(name)
        if (before) podsOfMissingNodes.set(name, before.pods)
        return
      }
      if (before && isSameCapacity(node, before.node)) {
        before.node = node
        return
      }
      cache.version++
      const allocatable = resourceAmounts(node.status?.allocatable)
      if (before) {
        before.node = node
        before.allocatable = allocatable
        return
      }
      const nodeInfo: NodeInfo = { node, allocatable, used: new Map(), weight: { cpu: 0, memory: 0 }, pods: new Map() }
      nodeInfos.set(name, nodeInfo)
      for (const pod of podsOfMissingNodes.get(name)?.values() ?? []) occupy(nodeInfo, pod, 1)
      podsOfMissingNodes.delete(name)
    },
    setPod(pod, previous) {
      const isOn = (one: StoredPod | undefined): one is StoredPod => Boolean(one?.spec?.nodeName) && !isFinished(one!)
      if (isOn(previous)) take(previous)
      if (isOn(pod)) put(pod)
      else if (isOn(previous)) cache.version++
    },
  }
  return cache
}

function occupy(nodeInfo: NodeInfo, pod: StoredPod, sign: 1 | -1): void {
  const { requests, weight } = needsOf(pod)
  for (const [name, amount] of requests) nodeInfo.used.set(name, (nodeInfo.used.get(name) ?? 0) + sign * amount)
  nodeInfo.weight.cpu += sign * weight.cpu
  nodeInfo.weight.memory += sign * weight.memory
  if (sign > 0) nodeInfo.pods.set(pod.metadata.uid, pod)
  else nodeInfo.pods.delete(pod.metadata.uid)
}

/** Whether an update of a node, such as a heartbeat, leaves its capacity, labels and taints unchanged. */
function isSameCapacity(a: StoredIn<'nodes'>, b: StoredIn<'nodes'>): boolean {
  const text = ({ metadata, spec, status }: StoredIn<'nodes'>): string =>
    JSON.stringify([metadata.labels, spec, status?.allocatable])
  return text(a) === text(b)
}
