/**
 * The node lifecycle controller. A node whose lease expired becomes unreachable; problems of a node are written as
 * taints; pods that do not tolerate a NoExecute taint are evicted, at once or after their tolerationSeconds. The pods
 * of a deleted node are deleted.
 */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import { equalJson, type Json } from '../../../kube/json.ts'
import type { NodeCondition, Taint } from '../../../kube/types/core/v1.ts'
import { splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { earliest } from './container-machine.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import { tolerates } from '../../../kube/scheduling/node-match.ts'
import { isDown, leaseNamespace, leaseSeconds } from './node-fleet.ts'
import { isFinished, isPodReady, isPodTerminating, withPodCondition } from '../controller/pod-facts.ts'

type Node = StoredIn<'nodes'>

const prefix = 'node.kubernetes.io/'
const pressures: ReadonlyMap<string, string> = new Map([
  ['MemoryPressure', 'memory-pressure'],
  ['DiskPressure', 'disk-pressure'],
  ['PIDPressure', 'pid-pressure'],
  ['NetworkUnavailable', 'network-unavailable'],
])
const ownKeys = new Set(
  ['not-ready', 'unreachable', 'unschedulable', ...pressures.values()].map((name) => prefix + name),
)

/** How long a Node object may be missing before its pods are deleted. */
const missingNodeGraceMs = 40_000

export function nodeLifecycle(tools: Tools): SimulatedController {
  const { cluster } = tools
  const missingSince = new Map<string, number>()
  return {
    own: {
      nodes: ({ metadata }) => [`/${metadata.name}`],
      pods: (pod) => (pod.spec?.nodeName && !isFinished(pod) ? [`/${pod.spec.nodeName}`] : []),
    },
    async reconcile(key) {
      const { name } = splitKey(key)
      const pods = cluster.podsOn(name)
      const node = cluster.get('nodes', undefined, name)
      if (node) {
        missingSince.delete(name)
        return await reconcileNode(tools, node)
      }
      if (pods.length === 0) {
        missingSince.delete(name)
        return undefined
      }
      const since = missingSince.get(name) ?? cluster.now()
      missingSince.set(name, since)
      if (cluster.now() < since + missingNodeGraceMs) return since + missingNodeGraceMs - cluster.now()
      for (const pod of pods) await deleteOrphanedPod(tools, pod)
      return undefined
    },
  }
}

async function reconcileNode(tools: Tools, node: Node): Promise<number | undefined> {
  const { cluster, writer } = tools
  const lostAt = isDown(node) ? lastSeen(tools, node) + leaseSeconds * 1000 : undefined
  const isLost = lostAt !== undefined && cluster.now() >= lostAt
  const seen = isLost ? await writer.updateStatus('nodes', node, lostStatus(node, cluster.now())) : node
  const taints = taintsOf(seen, cluster.now())
  const { taints: _taints, ...spec } = seen.spec ?? {}
  const tainted = equalJson((seen.spec?.taints ?? []) as unknown as Json, taints as unknown as Json)
    ? seen
    : await writer.update('nodes', { ...seen, spec: { ...spec, ...(taints.length > 0 && { taints }) } })
  if (isLost) await markPodsNotReady(tools, node)
  const nextEviction = await evict(tools, tainted)
  const wakeAt = earliest([nextEviction, isLost ? undefined : lostAt])
  return wakeAt === undefined ? undefined : Math.max(wakeAt - cluster.now(), 0)
}

function lastSeen({ cluster }: Tools, { metadata }: Node): number {
  const lease = cluster.get('leases.coordination.k8s.io', leaseNamespace, metadata.name)
  return parseTime(lease?.spec?.renewTime ?? '') ?? parseTime(metadata.creationTimestamp ?? '') ?? 0
}

function lostStatus({ status = {} }: Node, now: number): object {
  return { ...status, conditions: (status.conditions ?? []).map((condition) => lostCondition(condition, now)) }
}

function lostCondition(condition: NodeCondition, now: number): NodeCondition {
  const isOurs = condition.type === 'Ready' || pressures.has(condition.type)
  if (condition.status === 'Unknown' || !isOurs) return condition
  return {
    ...condition,
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
    lastTransitionTime: formatTime(now),
  }
}

/** Taints that other clients set, and then those of the known problems. */
function taintsOf({ spec, status }: Node, now: number): readonly Taint[] {
  const known = spec?.taints ?? []
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status
  const problem = ready === 'True' ? undefined : ready === 'Unknown' ? 'unreachable' : 'not-ready'
  const names: (readonly [string, string])[] = []
  if (problem !== undefined) {
    names.push([problem, 'NoSchedule'])
    // A node that has never been ready has no pods to evict.
    if (ready !== undefined) names.push([problem, 'NoExecute'])
  }
  for (const { type, status: value } of status?.conditions ?? []) {
    if (value === 'True' && pressures.has(type)) names.push([pressures.get(type)!, 'NoSchedule'])
  }
  if (spec?.unschedulable) names.push(['unschedulable', 'NoSchedule'])
  const own = names.map(
    ([name, effect]): Taint =>
      known.find((taint) => taint.key === prefix + name && taint.effect === effect) ?? {
        key: prefix + name,
        effect,
        timeAdded: formatTime(now),
      },
  )
  return [...known.filter(({ key }) => !ownKeys.has(key)), ...own]
}

/** The pods of an unreachable node are marked as not ready. */
async function markPodsNotReady({ cluster, writer }: Tools, { metadata }: Node): Promise<void> {
  for (const pod of cluster.podsOn(metadata.name)) {
    if (!isPodReady(pod)) continue
    const status = withPodCondition(pod, { type: 'Ready', status: 'False' }, cluster.now())
    await writer.updateStatus('pods', pod, status)
  }
}

/** Returns when the next pod must be evicted. */
async function evict(tools: Tools, node: Node): Promise<number | undefined> {
  const { cluster, writer } = tools
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
  if (taints.length === 0) return undefined
  const times: number[] = []
  for (const pod of cluster.podsOn(node.metadata.name)) {
    const at = isPodTerminating(pod) || isFinished(pod) ? undefined : evictionTimeOf(pod, taints)
    if (at === undefined) continue
    if (at > cluster.now()) {
      times.push(at)
      continue
    }
    const marked = await writer.updateStatus(
      'pods',
      pod,
      withTarget(pod, 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint', cluster.now()),
    )
    await writer.remove('pods', marked)
  }
  return earliest(times)
}

/** When a pod must be evicted because of these taints; undefined: never. */
function evictionTimeOf({ spec }: StoredPod, taints: readonly Taint[]): number | undefined {
  const times = taints.map((taint) => {
    const since = parseTime(taint.timeAdded ?? '') ?? 0
    const matching = (spec?.tolerations ?? []).filter((toleration) => tolerates(toleration, taint))
    if (matching.length === 0) return since
    const least = earliest(matching.map(({ tolerationSeconds }) => tolerationSeconds))
    return least === undefined ? undefined : since + Math.max(least, 0) * 1000
  })
  return earliest(times)
}

function withTarget(pod: StoredPod, reason: string, message: string, now: number): object {
  return withPodCondition(pod, { type: 'DisruptionTarget', status: 'True', reason, message }, now)
}

async function deleteOrphanedPod({ cluster, writer }: Tools, pod: StoredPod): Promise<void> {
  const message = 'PodGC: node no longer exists'
  const status = withTarget(pod, 'DeletionByPodGC', message, cluster.now())
  const marked = isFinished(pod) ? pod : await writer.updateStatus('pods', pod, { ...status, phase: 'Failed' })
  await writer.remove('pods', marked, { grace: 0 })
}
