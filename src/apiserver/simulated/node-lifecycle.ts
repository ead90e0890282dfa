/**
 * What becomes of a node that fails, and of the pods on it. A node whose lease ran out is unreachable; what is wrong
 * with a node is written on it as taints; pods that do not tolerate such a taint are asked to leave, at once or after
 * as long as they bear it. The pods of a node that is gone are gone too.
 */
import { formatTime, parseTime } from '../../kube/duration.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { NodeCondition, Taint } from '../../kube/types/core/v1.ts'
import { splitKey, type StoredIn, type StoredPod } from './cluster.ts'
import { earliest } from './container-machine.ts'
import type { SimulatedController, Tools } from './controller.ts'
import { tolerates } from './fit.ts'
import { isDown, leaseNamespace, leaseSeconds } from './node-fleet.ts'
import { isFinished, isPodReady, isPodTerminating, withPodCondition } from './pod-facts.ts'

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

/** How long a node may be missing before its pods are given up. */
const patienceMs = 40_000

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
        return await look(tools, node)
      }
      if (pods.length === 0) {
        missingSince.delete(name)
        return undefined
      }
      const since = missingSince.get(name) ?? cluster.now()
      missingSince.set(name, since)
      if (cluster.now() < since + patienceMs) return since + patienceMs - cluster.now()
      for (const pod of pods) await giveUp(tools, pod)
      return undefined
    },
  }
}

async function look(tools: Tools, node: Node): Promise<number | undefined> {
  const { cluster, hand } = tools
  const lostAt = isDown(node) ? lastSeen(tools, node) + leaseSeconds * 1000 : undefined
  const isLost = lostAt !== undefined && cluster.now() >= lostAt
  const seen = isLost ? await hand.updateStatus('nodes', node, lostStatus(node, cluster.now())) : node
  const taints = taintsOf(seen, cluster.now())
  const { taints: _taints, ...spec } = seen.spec ?? {}
  const tainted = equalJson((seen.spec?.taints ?? []) as unknown as Json, taints as unknown as Json)
    ? seen
    : await hand.update('nodes', { ...seen, spec: { ...spec, ...(taints.length > 0 && { taints }) } })
  if (isLost) await doubtPods(tools, node)
  const leaveAt = await evict(tools, tainted)
  const wakeAt = earliest([leaveAt, isLost ? undefined : lostAt])
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

/** What others put on the node, and then what is known to be wrong with it. */
function taintsOf({ spec, status }: Node, now: number): readonly Taint[] {
  const known = spec?.taints ?? []
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status
  const trouble = ready === 'True' ? undefined : ready === 'Unknown' ? 'unreachable' : 'not-ready'
  const names: (readonly [string, string])[] = []
  if (trouble !== undefined) {
    names.push([trouble, 'NoSchedule'])
    // A node that has never been ready has no pods to lose.
    if (ready !== undefined) names.push([trouble, 'NoExecute'])
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

/** Of a node that does not answer, nobody knows whether its pods still serve. */
async function doubtPods({ cluster, hand }: Tools, { metadata }: Node): Promise<void> {
  for (const pod of cluster.podsOn(metadata.name)) {
    if (!isPodReady(pod)) continue
    const status = withPodCondition(pod, { type: 'Ready', status: 'False' }, cluster.now())
    await hand.updateStatus('pods', pod, status)
  }
}

/** Returns when the next pod has to leave. */
async function evict(tools: Tools, node: Node): Promise<number | undefined> {
  const { cluster, hand } = tools
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
  if (taints.length === 0) return undefined
  const moments: number[] = []
  for (const pod of cluster.podsOn(node.metadata.name)) {
    const at = isPodTerminating(pod) || isFinished(pod) ? undefined : leavesAt(pod, taints)
    if (at === undefined) continue
    if (at > cluster.now()) {
      moments.push(at)
      continue
    }
    const marked = await hand.updateStatus(
      'pods',
      pod,
      withTarget(pod, 'DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint', cluster.now()),
    )
    await hand.remove('pods', marked)
  }
  return earliest(moments)
}

/** When a pod must leave because of these; undefined: never. */
function leavesAt({ spec }: StoredPod, taints: readonly Taint[]): number | undefined {
  const moments = taints.map((taint) => {
    const since = parseTime(taint.timeAdded ?? '') ?? 0
    const bearing = (spec?.tolerations ?? []).filter((toleration) => tolerates(toleration, taint))
    if (bearing.length === 0) return since
    const least = earliest(bearing.map(({ tolerationSeconds }) => tolerationSeconds))
    return least === undefined ? undefined : since + Math.max(least, 0) * 1000
  })
  return earliest(moments)
}

function withTarget(pod: StoredPod, reason: string, message: string, now: number): object {
  return withPodCondition(pod, { type: 'DisruptionTarget', status: 'True', reason, message }, now)
}

async function giveUp({ cluster, hand }: Tools, pod: StoredPod): Promise<void> {
  const message = 'PodGC: node no longer exists'
  const status = withTarget(pod, 'DeletionByPodGC', message, cluster.now())
  const marked = isFinished(pod) ? pod : await hand.updateStatus('pods', pod, { ...status, phase: 'Failed' })
  await hand.remove('pods', marked, { grace: 0 })
}
