/**
 * Preemption: a pod that fits nowhere may evict pods of lower priority. The chosen node has the fewest violations of
 * disruption budgets, then the victims of the lowest priority, then the fewest victims.
 */
import { labelsOf, matchLabels } from '../../../kube/selector/selector.ts'
import type { StoredPod } from '../controller/cluster.ts'
import type { Tools } from '../controller/controller.ts'
import { fitOf, type Misfit } from './fit.ts'
import {
  compareRanks,
  createdAt,
  isPodTerminating,
  withoutNode,
  withPodCondition,
  priorityOf,
} from '../controller/pod-facts.ts'
import type { NodeInfo, SchedulerCache } from './node-capacity.ts'

export interface Preemption {
  readonly node: string
  readonly victims: readonly StoredPod[]
}

export function victimsFor(
  tools: Tools,
  cache: SchedulerCache,
  pod: StoredPod,
  misfits: ReadonlyMap<NodeInfo, Misfit>,
  reserved: (node: string) => readonly StoredPod[],
): Preemption | undefined {
  const rank = priorityOf(pod)
  if (pod.spec?.preemptionPolicy === 'Never') return undefined
  // The pod has a nominated node whose victims are still stopping: wait for them.
  const nominated = cache.nodeInfo(pod.status?.nominatedNodeName ?? '')
  if (nominated && [...nominated.pods.values()].some((one) => isPodTerminating(one) && priorityOf(one) < rank))
    return undefined
  const candidates: { readonly preemption: Preemption; readonly cost: readonly number[] }[] = []
  for (const [nodeInfo, { isResolvable }] of misfits) {
    if (!isResolvable) continue
    const found = selectVictims(tools, cache, pod, nodeInfo, reserved)
    if (found) candidates.push(found)
  }
  return candidates.toSorted((a, b) => compareRanks(a.cost, b.cost))[0]?.preemption
}

function selectVictims(
  tools: Tools,
  cache: SchedulerCache,
  pod: StoredPod,
  nodeInfo: NodeInfo,
  reserved: (node: string) => readonly StoredPod[],
): { readonly preemption: Preemption; readonly cost: readonly number[] } | undefined {
  const rank = priorityOf(pod)
  const lower = [...nodeInfo.pods.values()].filter((one) => priorityOf(one) < rank)
  if (lower.length === 0) return undefined
  // Removed from the node for the check and restored after it: nothing is awaited in between.
  for (const one of lower) cache.setPod(undefined, one)
  const back = new Set<StoredPod>()
  try {
    const fits = (): boolean => fitOf(tools.cluster, cache, pod, reserved)(nodeInfo) === undefined
    if (!fits()) return undefined
    const budgets = budgetsOf(tools, lower)
    // Pods whose eviction would violate a budget are kept first, then those of higher priority, then the older ones.
    const order = lower.toSorted(
      (a, b) =>
        Number(budgets.has(b)) - Number(budgets.has(a)) || priorityOf(b) - priorityOf(a) || createdAt(a) - createdAt(b),
    )
    const victims: StoredPod[] = []
    for (const one of order) {
      cache.setPod(one, undefined)
      if (fits()) back.add(one)
      else {
        cache.setPod(undefined, one)
        victims.push(one)
      }
    }
    if (victims.length === 0) return undefined
    const violating = victims.filter((one) => budgets.has(one)).length
    const highest = victims.map(priorityOf).reduce((most, priority) => Math.max(most, priority))
    const sum = victims.reduce((total, one) => total + priorityOf(one) + 2 ** 31, 0)
    return {
      preemption: { node: nodeInfo.node.metadata.name, victims },
      cost: [violating, highest, sum, victims.length],
    }
  } finally {
    for (const one of lower) if (!back.has(one)) cache.setPod(one, undefined)
  }
}

/** Pods whose eviction their budget does not allow, if all before them in the list are evicted too. */
function budgetsOf({ cluster }: Tools, pods: readonly StoredPod[]): ReadonlySet<StoredPod> {
  const violating = new Set<StoredPod>()
  const left = new Map<string, number>()
  for (const pod of pods.toSorted((a, b) => priorityOf(b) - priorityOf(a))) {
    for (const budget of cluster.list('poddisruptionbudgets.policy', pod.metadata.namespace)) {
      const { selector } = budget.spec ?? {}
      if (!selector || !matchLabels(labelsOf(selector), pod.metadata.labels)) continue
      const allowed = (left.get(budget.metadata.uid) ?? budget.status?.disruptionsAllowed ?? 0) - 1
      left.set(budget.metadata.uid, allowed)
      if (allowed < 0) violating.add(pod)
    }
  }
  return violating
}

/** Deletes the victims, and nominates the node for the pod. */
export async function preempt(
  tools: Tools,
  pod: StoredPod,
  { node, victims }: Preemption,
  message: string,
): Promise<void> {
  const { writer, cluster, record } = tools
  const failed = withoutNode(pod, message, cluster.now())
  await writer.updateStatus('pods', pod, { ...failed, nominatedNodeName: node })
  for (const victim of victims) {
    if (isPodTerminating(victim)) continue
    const { namespace, name } = victim.metadata
    const live = cluster.get('pods', namespace, name)
    if (live?.metadata.uid !== victim.metadata.uid) continue
    const why = 'default-scheduler: preempting to accommodate a higher priority pod'
    const marked = await writer.updateStatus(
      'pods',
      live,
      withPodCondition(
        live,
        { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: why },
        cluster.now(),
      ),
    )
    record(marked, 'Normal', 'Preempted', `Preempted by pod ${pod.metadata.uid} on node ${node}`)
    await writer.remove('pods', marked)
  }
}
