/**
 * The scheduler: it gives each waiting pod a node, the most important pods first. A pod goes to the node that has the
 * most left of those it fits; one that fits nowhere waits, with the reasons in its status, until something changes that
 * gives it hope. If it is more important than others, it takes their place.
 */
import { controllerOf } from '../../kube/owner.ts'
import type { StoredObject } from '../storage/storage.ts'
import type { StoredPod } from './cluster.ts'
import type { SimulatedController, Tools } from './controller.ts'
import { fitOf, isTolerated, matchesTerm, type Misfit } from './fit.ts'
import { isOvertaken } from './object-writer.ts'
import { isFinished, priorityOf, withoutNode } from './pod-facts.ts'
import { makeWay, victimsFor } from './preemption.ts'
import { createRoom, needsOf, type RoomPlace } from './node-capacity.ts'

/** Pods in one go, before others have their turn. */
const inOneGo = 100
/** The queue has one key: who is next is decided when it is known who waits. */
const everybody = '/'

export function scheduler(tools: Tools): SimulatedController {
  const { cluster, hand, record } = tools
  const room = createRoom()
  const waiting = new Map<string, StoredPod>()
  /** Pods that were promised room, by their node. */
  const promised = new Map<string, Map<string, StoredPod>>()
  /** At which version of the room a pod did not fit. */
  const failedAt = new Map<string, number>()

  const follow = (table: string, object: StoredObject | undefined, previous: StoredObject | undefined): void => {
    if (table === 'nodes') room.setNode(object as never, previous as never)
    else if (table === 'persistentvolumeclaims') room.hope()
    else if (table === 'pods') followPod(object as unknown as StoredPod, previous as unknown as StoredPod)
  }

  const followPod = (pod: StoredPod | undefined, previous: StoredPod | undefined): void => {
    room.setPod(pod, previous)
    const { uid } = (pod ?? previous)!.metadata
    const before = previous?.status?.nominatedNodeName
    if (before) promised.get(before)?.delete(uid)
    if (pod && isWaiting(pod)) {
      waiting.set(uid, pod)
      const { nominatedNodeName } = pod.status ?? {}
      if (nominatedNodeName) {
        promised.set(nominatedNodeName, (promised.get(nominatedNodeName) ?? new Map<string, StoredPod>()).set(uid, pod))
      }
      if (previous?.spec && previous.spec !== pod.spec && previous.metadata.generation !== pod.metadata.generation) {
        failedAt.delete(uid)
      }
    } else {
      waiting.delete(uid)
      failedAt.delete(uid)
      // A newcomer may be the company that somebody waits for.
      if (pod && !isFinished(pod) && !previous?.spec?.nodeName && wantsCompany()) room.hope()
    }
  }

  const wantsCompany = (): boolean => [...waiting.values()].some(({ spec }) => spec?.affinity?.podAffinity)

  const reservedFor =
    (pod: StoredPod) =>
    (node: string): readonly StoredPod[] =>
      [...(promised.get(node)?.values() ?? [])].filter(
        (other) => other.metadata.uid !== pod.metadata.uid && priorityOf(other) >= priorityOf(pod),
      )

  /** True when it found a node. */
  const schedule = async (pod: StoredPod, misfits: Map<string, string>): Promise<void> => {
    const { uid } = pod.metadata
    const family = controllerOf(pod)?.kind === 'ReplicaSet' ? `${controllerOf(pod)?.uid}` : uid
    const known = misfits.get(`${room.version} ${family}`)
    if (known !== undefined) return await fail(pod, known)
    const claims = unboundClaim(tools, pod)
    if (claims !== undefined) return await fail(pod, `0/${[...room.places()].length} nodes are available: ${claims}.`)
    const fit = fitOf(cluster, room, pod, reservedFor(pod))
    const reasons = new Map<RoomPlace, Misfit>()
    const places: RoomPlace[] = []
    for (const place of room.places()) {
      const misfit = fit(place)
      if (misfit) reasons.set(place, misfit)
      else places.push(place)
    }
    const best = bestOf(pod, places)
    if (best) return await bind(pod, best)
    const way = victimsFor(tools, room, pod, reasons, reservedFor(pod))
    if (way) return await makeWay(tools, pod, way, messageOf(reasons))
    const message = `${messageOf(reasons)}${preemptionNote(pod, reasons)}`
    misfits.set(`${room.version} ${family}`, message)
    await fail(pod, message)
  }

  const bind = async (pod: StoredPod, { node }: RoomPlace): Promise<void> => {
    const { namespace, name } = pod.metadata
    await hand.bind(pod, node.metadata.name)
    record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${node.metadata.name}`)
  }

  const fail = async (pod: StoredPod, message: string): Promise<void> => {
    failedAt.set(pod.metadata.uid, room.version)
    const status = withoutNode(pod, message, cluster.now())
    if (status === pod.status) return
    record(pod, 'Warning', 'FailedScheduling', message)
    await hand.updateStatus('pods', pod, status)
  }

  return {
    workers: 1,
    follow,
    own: {
      pods: () => [everybody],
      nodes: () => [everybody],
      persistentvolumeclaims: () => [everybody],
    },
    async reconcile() {
      const candidates = [...waiting.values()]
        .filter(({ metadata }) => failedAt.get(metadata.uid) !== room.version)
        .toSorted((a, b) => priorityOf(b) - priorityOf(a))
      const misfits = new Map<string, string>()
      for (const pod of candidates.slice(0, inOneGo)) {
        const live = waiting.get(pod.metadata.uid)
        if (!live) continue
        try {
          await schedule(live, misfits)
        } catch (error) {
          if (!isOvertaken(error)) throw error
        }
      }
      return candidates.length > inOneGo ? 0 : undefined
    },
  }
}

/** One that this scheduler has to find a node for. */
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

function bestOf(pod: StoredPod, places: readonly RoomPlace[]): RoomPlace | undefined {
  const { nominatedNodeName } = pod.status ?? {}
  let best: RoomPlace | undefined
  let most = -1
  for (const place of places) {
    if (place.node.metadata.name === nominatedNodeName) return place
    const score = scoreOf(pod, place)
    // Among equals the one with fewer pods.
    const isBetter = score > most || (score === most && best !== undefined && place.pods.size < best.pods.size)
    if (isBetter) [best, most] = [place, score]
  }
  return best
}

/** The share that would be left, and what the pod and the node would rather have. */
function scoreOf(pod: StoredPod, { node, allocatable, weight }: RoomPlace): number {
  const needs = needsOf(pod).weight
  const share = (used: number, all: number): number => (all === 0 ? 0 : Math.max(0, all - used) / all)
  const cpu = share(weight.cpu + needs.cpu, allocatable.get('cpu') ?? 0)
  const memory = share(weight.memory + needs.memory, allocatable.get('memory') ?? 0)
  const preferred = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  const liking = preferred.reduce((sum, { weight: w, preference }) => sum + (matchesTerm(preference, node) ? w : 0), 0)
  const isDisliked = (node.spec?.taints ?? []).some(
    (taint) => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, pod.spec?.tolerations),
  )
  return 50 * (cpu + memory) + 2 * liking + (isDisliked ? 0 : 300)
}

function messageOf(misfits: ReadonlyMap<RoomPlace, Misfit>): string {
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

function preemptionNote({ spec }: StoredPod, misfits: ReadonlyMap<RoomPlace, Misfit>): string {
  if (misfits.size === 0) return ''
  if (spec?.preemptionPolicy === 'Never') return ' preemption: not eligible due to preemptionPolicy=Never.'
  const reasons = [...misfits.values()].map(({ isCurable }) =>
    isCurable ? 'No preemption victims found for incoming pod' : 'Preemption is not helpful for scheduling',
  )
  return ` preemption: 0/${misfits.size} nodes are available: ${counted(reasons)}.`
}

/** What keeps a pod that mounts claims: one is missing, or has no volume yet. */
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
