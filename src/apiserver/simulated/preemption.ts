/**
 * Preemption: a pod that fits nowhere may take the place of less important ones. The node is chosen where it hurts
 * least: no disruption budget broken if that can be, the least important victims, and few of them.
 */
import { labelsOf, matchLabels } from '../../kube/selector.ts'
import type { StoredPod } from './cluster.ts'
import type { Tools } from './controller.ts'
import { fitOf, type Misfit } from './fit.ts'
import { compareRanks, createdAt, isPodTerminating, withoutNode, withPodCondition, priorityOf } from './pod-facts.ts'
import type { RoomPlace, Room } from './node-capacity.ts'

export interface Way {
  readonly node: string
  readonly victims: readonly StoredPod[]
}

export function victimsFor(
  tools: Tools,
  room: Room,
  pod: StoredPod,
  misfits: ReadonlyMap<RoomPlace, Misfit>,
  reserved: (node: string) => readonly StoredPod[],
): Way | undefined {
  const rank = priorityOf(pod)
  if (pod.spec?.preemptionPolicy === 'Never') return undefined
  // Room was promised, and its holders are on their way out: wait for them.
  const nominated = room.place(pod.status?.nominatedNodeName ?? '')
  if (nominated && [...nominated.pods.values()].some((one) => isPodTerminating(one) && priorityOf(one) < rank))
    return undefined
  const candidates: { readonly way: Way; readonly cost: readonly number[] }[] = []
  for (const [place, { isCurable }] of misfits) {
    if (!isCurable) continue
    const found = selectVictims(tools, room, pod, place, reserved)
    if (found) candidates.push(found)
  }
  return candidates.toSorted((a, b) => compareRanks(a.cost, b.cost))[0]?.way
}

function selectVictims(
  tools: Tools,
  room: Room,
  pod: StoredPod,
  place: RoomPlace,
  reserved: (node: string) => readonly StoredPod[],
): { readonly way: Way; readonly cost: readonly number[] } | undefined {
  const rank = priorityOf(pod)
  const lower = [...place.pods.values()].filter((one) => priorityOf(one) < rank)
  if (lower.length === 0) return undefined
  // Taken off for the trial and put back after it: nothing else runs meanwhile.
  for (const one of lower) room.setPod(undefined, one)
  const back = new Set<StoredPod>()
  try {
    const fits = (): boolean => fitOf(tools.cluster, room, pod, reserved)(place) === undefined
    if (!fits()) return undefined
    const budgets = budgetsOf(tools, lower)
    // Those whose end would break a budget are spared first, then the more important and the older.
    const order = lower.toSorted(
      (a, b) =>
        Number(budgets.has(b)) - Number(budgets.has(a)) || priorityOf(b) - priorityOf(a) || createdAt(a) - createdAt(b),
    )
    const victims: StoredPod[] = []
    for (const one of order) {
      room.setPod(one, undefined)
      if (fits()) back.add(one)
      else {
        room.setPod(undefined, one)
        victims.push(one)
      }
    }
    if (victims.length === 0) return undefined
    const broken = victims.filter((one) => budgets.has(one)).length
    const highest = victims.map(priorityOf).reduce((most, priority) => Math.max(most, priority))
    const sum = victims.reduce((total, one) => total + priorityOf(one) + 2 ** 31, 0)
    return { way: { node: place.node.metadata.name, victims }, cost: [broken, highest, sum, victims.length] }
  } finally {
    for (const one of lower) if (!back.has(one)) room.setPod(one, undefined)
  }
}

/** Pods whose end their budget does not allow, if all before them in the list end too. */
function budgetsOf({ cluster }: Tools, pods: readonly StoredPod[]): ReadonlySet<StoredPod> {
  const broken = new Set<StoredPod>()
  const left = new Map<string, number>()
  for (const pod of pods.toSorted((a, b) => priorityOf(b) - priorityOf(a))) {
    for (const budget of cluster.list('poddisruptionbudgets.policy', pod.metadata.namespace)) {
      const { selector } = budget.spec ?? {}
      if (!selector || !matchLabels(labelsOf(selector), pod.metadata.labels)) continue
      const allowed = (left.get(budget.metadata.uid) ?? budget.status?.disruptionsAllowed ?? 0) - 1
      left.set(budget.metadata.uid, allowed)
      if (allowed < 0) broken.add(pod)
    }
  }
  return broken
}

/** Asks the victims to go, and promises their room to the pod. */
export async function makeWay(tools: Tools, pod: StoredPod, { node, victims }: Way, message: string): Promise<void> {
  const { hand, cluster, record } = tools
  const failed = withoutNode(pod, message, cluster.now())
  await hand.updateStatus('pods', pod, { ...failed, nominatedNodeName: node })
  for (const victim of victims) {
    if (isPodTerminating(victim)) continue
    const { namespace, name } = victim.metadata
    const live = cluster.get('pods', namespace, name)
    if (live?.metadata.uid !== victim.metadata.uid) continue
    const why = 'default-scheduler: preempting to accommodate a higher priority pod'
    const marked = await hand.updateStatus(
      'pods',
      live,
      withPodCondition(
        live,
        { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: why },
        cluster.now(),
      ),
    )
    record(marked, 'Normal', 'Preempted', `Preempted by pod ${pod.metadata.uid} on node ${node}`)
    await hand.remove('pods', marked)
  }
}
