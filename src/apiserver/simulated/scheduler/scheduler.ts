/**
 * The scheduler: binds each pending pod to a node, in order of priority. It chooses the node with the most free
 * capacity of those that fit; a pod that fits nowhere stays pending, with the reasons in its status, until a change may
 * make it fit. It may preempt pods of lower priority.
 */
import { controllerOf } from '../../../kube/meta/owner.ts'
import type { StoredObject } from '../../storage/storage.ts'
import type { StoredPod } from '../controller/cluster.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import { isTolerated, matchesTerm } from '../../../kube/scheduling/node-match.ts'
import { needsOf } from '../../../kube/scheduling/pod-needs.ts'
import { fitOf, type Misfit } from './fit.ts'
import { isOvertaken } from '../controller/object-writer.ts'
import { isFinished, priorityOf, withoutNode } from '../controller/pod-facts.ts'
import { preempt, victimsFor } from './preemption.ts'
import { createSchedulerCache, type NodeInfo } from './node-capacity.ts'

/** Pods scheduled in a row before other tasks of the process get their turn. */
const batchSize = 100
/** The queue has one key: the next pod is chosen by priority when the key is processed. */
const queueKey = '/'

export function scheduler(tools: Tools): SimulatedController {
  const { cluster, writer, record } = tools
  const cache = createSchedulerCache()
  const waiting = new Map<string, StoredPod>()
  /** Nominated pods, by node. */
  const nominated = new Map<string, Map<string, StoredPod>>()
  /** The version of the capacity at which a pod did not fit. */
  const failedAt = new Map<string, number>()

  const follow = (table: string, object: StoredObject | undefined, previous: StoredObject | undefined): void => {
    if (table === 'nodes') cache.setNode(object as never, previous as never)
    else if (table === 'persistentvolumeclaims') cache.invalidate()
    else if (table === 'pods') followPod(object as unknown as StoredPod, previous as unknown as StoredPod)
  }

  const followPod = (pod: StoredPod | undefined, previous: StoredPod | undefined): void => {
    cache.setPod(pod, previous)
    const { uid } = (pod ?? previous)!.metadata
    const before = previous?.status?.nominatedNodeName
    if (before) nominated.get(before)?.delete(uid)
    if (pod && isWaiting(pod)) {
      waiting.set(uid, pod)
      const { nominatedNodeName } = pod.status ?? {}
      if (nominatedNodeName) {
        nominated.set(
          nominatedNodeName,
          (nominated.get(nominatedNodeName) ?? new Map<string, StoredPod>()).set(uid, pod),
        )
      }
      if (previous?.spec && previous.spec !== pod.spec && previous.metadata.generation !== pod.metadata.generation) {
        failedAt.delete(uid)
      }
    } else {
      waiting.delete(uid)
      failedAt.delete(uid)
      // A new pod may satisfy the affinity of a pending one.
      if (pod && !isFinished(pod) && !previous?.spec?.nodeName && hasPendingAffinity()) cache.invalidate()
    }
  }

  const hasPendingAffinity = (): boolean => [...waiting.values()].some(({ spec }) => spec?.affinity?.podAffinity)

  const reservedFor =
    (pod: StoredPod) =>
    (node: string): readonly StoredPod[] =>
      [...(nominated.get(node)?.values() ?? [])].filter(
        (other) => other.metadata.uid !== pod.metadata.uid && priorityOf(other) >= priorityOf(pod),
      )

  /** Binds the pod to a node, or records why none fits. */
  const schedule = async (pod: StoredPod, misfits: Map<string, string>): Promise<void> => {
    const { uid } = pod.metadata
    const group = controllerOf(pod)?.kind === 'ReplicaSet' ? `${controllerOf(pod)?.uid}` : uid
    const known = misfits.get(`${cache.version} ${group}`)
    if (known !== undefined) return await fail(pod, known)
    const claims = unboundClaim(tools, pod)
    if (claims !== undefined)
      return await fail(pod, `0/${[...cache.nodeInfos()].length} nodes are available: ${claims}.`)
    const fit = fitOf(cluster, cache, pod, reservedFor(pod))
    const reasons = new Map<NodeInfo, Misfit>()
    const nodeInfos: NodeInfo[] = []
    for (const nodeInfo of cache.nodeInfos()) {
      const misfit = fit(nodeInfo)
      if (misfit) reasons.set(nodeInfo, misfit)
      else nodeInfos.push(nodeInfo)
    }
    const best = bestOf(pod, nodeInfos)
    if (best) return await bind(pod, best)
    const preemption = victimsFor(tools, cache, pod, reasons, reservedFor(pod))
    if (preemption) return await preempt(tools, pod, preemption, messageOf(reasons))
    const message = `${messageOf(reasons)}${preemptionNote(pod, reasons)}`
    misfits.set(`${cache.version} ${group}`, message)
    await fail(pod, message)
  }

  const bind = async (pod: StoredPod, { node }: NodeInfo): Promise<void> => {
    const { namespace, name } = pod.metadata
    await writer.bind(pod, node.metadata.name)
    record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`)
  }

  const fail = async (pod: StoredPod, message: string): Promise<void> => {
    failedAt.set(pod.metadata.uid, cache.version)
    const status = withoutNode(pod, message, cluster.now())
    if (status === pod.status) return
    record(pod, 'Warning', 'FailedScheduling', message)
    await writer.updateStatus('pods', pod, status)
  }

  return {
    workers: 1,
    follow,
    own: {
      pods: () => [queueKey],
      nodes: () => [queueKey],
      persistentvolumeclaims: () => [queueKey],
    },
    async reconcile() {
      const candidates = [...waiting.values()]
        .filter(({ metadata }) => failedAt.get(metadata.uid) !== cache.version)
        .toSorted((a, b) => priorityOf(b) - priorityOf(a))
      const misfits = new Map<string, string>()
      for (const pod of candidates.slice(0, batchSize)) {
        const live = waiting.get(pod.metadata.uid)
        if (!live) continue
        try {
          await schedule(live, misfits)
        } catch (error) {
          if (!isOvertaken(error)) throw error
        }
      }
      return candidates.length > batchSize ? 0 : undefined
    },
  }
}

/** A pending pod of this scheduler. */
function isWaiting(pod: StoredPod): boolean {
  const { spec, metadata } = pod
  return (
    !spec?.nodeName &&
    !metadata.deletionTimestamp &&
    !isFinished(pod) &&
    (spec?.schedulingGates ?? []).length === 0 &&
    (spec?.schedulerName ?? 'default-scheduler') === 'default-scheduler'
  )
}

function bestOf(pod: StoredPod, nodeInfos: readonly NodeInfo[]): NodeInfo | undefined {
  const { nominatedNodeName } = pod.status ?? {}
  let best: NodeInfo | undefined
  let highest = -1
  for (const nodeInfo of nodeInfos) {
    if (nodeInfo.node.metadata.name === nominatedNodeName) return nodeInfo
    const score = scoreOf(pod, nodeInfo)
    // Of nodes with equal scores, the one with fewer pods.
    const isBetter = score > highest || (score === highest && best !== undefined && nodeInfo.pods.size < best.pods.size)
    if (isBetter) [best, highest] = [nodeInfo, score]
  }
  return best
}

/** The free share that would be left, plus preferred affinity and taints. */
function scoreOf(pod: StoredPod, { node, allocatable, weight }: NodeInfo): number {
  const needs = needsOf(pod).weight
  const share = (used: number, all: number): number => (all === 0 ? 0 : Math.max(0, all - used) / all)
  const cpu = share(weight.cpu + needs.cpu, allocatable.get('cpu') ?? 0)
  const memory = share(weight.memory + needs.memory, allocatable.get('memory') ?? 0)
  const preferred = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const preferenceScore = preferred.reduce(
    (sum, { weight: w, preference }) => sum + (matchesTerm(preference, node) ? w : 0),
    0,
  )
  const isAvoided = (node.spec?.taints ?? []).some(
    (taint) => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, pod.spec?.tolerations),
  )
  return 50 * (cpu + memory) + 2 * preferenceScore + (isAvoided ? 0 : 300)
}

function messageOf(misfits: ReadonlyMap<NodeInfo, Misfit>): string {
  if (misfits.size === 0) return 'no nodes available to schedule pods'
  return `0/${misfits.size} nodes are available: ${counted([...misfits.values()].flatMap(({ reasons }) => reasons))}.`
}

function counted(reasons: readonly string[]): string {
  const counts = Map.groupBy(reasons, (reason) => reason)
  return [...counts]
    .map(([reason, all]) => `${all.length} ${reason}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join(', ')
}

function preemptionNote({ spec }: StoredPod, misfits: ReadonlyMap<NodeInfo, Misfit>): string {
  if (misfits.size === 0) return ''
  if (spec?.preemptionPolicy === 'Never') return ' preemption: not eligible due to preemptionPolicy=Never.'
  const reasons = [...misfits.values()].map(({ isResolvable }) =>
    isResolvable ? 'No preemption victims found for incoming pod' : 'Preemption is not helpful for scheduling',
  )
  return ` preemption: 0/${misfits.size} nodes are available: ${counted(reasons)}.`
}

/** Why the claims of a pod prevent scheduling: one is missing, or has no volume yet. */
function unboundClaim({ cluster }: Tools, pod: StoredPod): string | undefined {
  for (const { persistentVolumeClaim, ephemeral, name } of pod.spec?.volumes ?? []) {
    const claimName = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod.metadata.name}-${name}` : undefined)
    if (claimName === undefined) continue
    const claim = cluster.get('persistentvolumeclaims', pod.metadata.namespace, claimName)
    if (!claim) return `persistentvolumeclaim "${claimName}" not found`
    if (claim.status?.phase !== 'Bound') return 'pod has unbound immediate PersistentVolumeClaims'
  }
  return undefined
}
