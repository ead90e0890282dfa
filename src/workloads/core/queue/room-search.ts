/**
 * Whose room a workload could have: the search behind preemption, where workloads are evicted for it, and behind reservations, where
 * it waits for their end.
 *
 * Candidates are taken in their order until the workload fits its quota and its nodes. Then, from the last one on, each is given back
 * if the workload fits without it. So none leaves without need.
 */
import type { ChargeOption } from './flavors.ts'
import type { NodeAssignment } from '../nodes/node-table.ts'
import { heldNodes, charge, type Room, type Running } from './running-set.ts'

export interface RoomPlan<Why> {
  readonly leavers: readonly (readonly [running: Running, why: Why])[]
  readonly assignments: readonly NodeAssignment[]
}

/** Resources of which there is too little, by node of the quota. */
export type ShortQuota = ReadonlyMap<string, ReadonlySet<string>>

/**
 * @param judge why a candidate may leave; `short` has the resources for which it would, and is undefined if it is about nodes alone
 * @returns undefined if it does not fit even then. The state is as before.
 */
export function findRoom<Why>(
  room: Room,
  { charges, groups }: ChargeOption,
  candidates: Iterable<Running>,
  judge: (running: Running, short: ShortQuota | undefined) => Why | undefined,
): RoomPlan<Why> | undefined {
  const { quota } = room
  const trial = room.nodes?.trial()
  charge(room, charges, 1, 'planned')
  const shortQuota = (): ShortQuota => {
    const short = new Map<string, Set<string>>()
    for (const { node, amounts } of charges)
      for (const [resource, amount] of amounts)
        if (amount > 0 && quota!.available(node, resource, 'planned') < 0)
          short.set(node, (short.get(node) ?? new Set()).add(resource))
    return short
  }
  const leave = (running: Running, factor: 1 | -1): void => {
    if (running.isPlanned) charge(room, running.charges, factor === 1 ? -1 : 1, 'planned')
    trial?.free(heldNodes(running), factor)
  }
  const onNodes = (): boolean => !trial || trial.place(groups) !== undefined
  const chosen: (readonly [Running, Why])[] = []
  let short = shortQuota()
  let isPlaced = onNodes()
  for (const running of candidates) {
    if (short.size === 0 && isPlaced) break
    const isQuota = short.size > 0 && usesShort(room, running, short)
    if (!isQuota && (isPlaced || !trial!.concerns(groups, heldNodes(running)))) continue
    const why = judge(running, isQuota ? short : undefined)
    if (why === undefined) continue
    leave(running, 1)
    chosen.push([running, why])
    short = shortQuota()
    isPlaced ||= onNodes()
  }
  let plan: RoomPlan<Why> | undefined
  if (short.size === 0 && isPlaced) {
    const needed: (readonly [Running, Why])[] = []
    for (const one of chosen.toReversed()) {
      leave(one[0], -1)
      if (shortQuota().size === 0 && onNodes()) continue
      leave(one[0], 1)
      needed.unshift(one)
    }
    plan = { leavers: needed, assignments: trial?.place(groups) ?? [] }
    for (const [running] of needed) if (running.isPlanned) charge(room, running.charges, 1, 'planned')
  } else for (const [running] of chosen) if (running.isPlanned) charge(room, running.charges, 1, 'planned')
  charge(room, charges, -1, 'planned')
  return plan
}

/** Whether its end would help: it uses what is short, in the same tree. */
function usesShort({ quota }: Room, { charges }: Running, short: ShortQuota): boolean {
  for (const [node, resources] of short)
    for (const own of charges)
      if (quota!.rootOf(own.node) === quota!.rootOf(node))
        for (const resource of resources) if ((own.amounts.get(resource) ?? 0) > 0) return true
  return false
}
