/**
 * Which machines of a pool belong to which workload, and which are deleted first. Counts are decided on; machines follow: labels on
 * machines say what was chosen before, so a later decision chooses the same.
 */
import type { IdleMachines, NodeClaim, PoolMachine } from './node-pool.ts'

interface PoolCounts {
  readonly replicas: number
  readonly claims: readonly NodeClaim[]
  readonly idle: readonly IdleMachines[]
}

interface MachineAssignment {
  /** The workload of each machine that was added; empty for an idle one. Machines that are not named were there before. */
  readonly owners: ReadonlyMap<string, string>
  of(this: void, workload: string): readonly PoolMachine[]
}

export function assignMachines(machines: readonly PoolMachine[], counts: PoolCounts): MachineAssignment {
  const { replicas, claims, idle } = counts
  const owners = new Map<string, string>()
  const idleTotal = idle.reduce((sum, { count }) => sum + count, 0)
  const base = replicas - idleTotal - claims.reduce((sum, { count }) => sum + count, 0)
  const live = machines.filter(({ isLeaving }) => !isLeaving).toSorted(newestFirst)
  const left = new Map(claims.map(({ workload, count }) => [workload, count]))
  const spare: PoolMachine[] = []
  for (const machine of live.toSorted(bestFirst)) {
    if (machine.owner === undefined) continue
    const open = left.get(machine.owner) ?? 0
    if (open > 0) {
      left.set(machine.owner, open - 1)
      owners.set(machine.name, machine.owner)
    } else spare.push(machine)
  }
  const unlabelled = live.filter(({ owner }) => owner === undefined)
  // Only machines beyond those that others wanted were added for workloads; the newest ones are.
  const fresh = unlabelled.slice(0, Math.max(0, unlabelled.length - Math.max(0, base)))
  const available = [...spare, ...fresh].toSorted(bestFirst)
  for (const { workload } of claims) {
    // Those on which the workload runs already come first.
    available.sort((a, b) => Number(b.users.includes(workload)) - Number(a.users.includes(workload)))
    for (const machine of available.splice(0, left.get(workload) ?? 0)) owners.set(machine.name, workload)
  }
  for (const machine of available) if (spare.includes(machine) || idleTotal > 0) owners.set(machine.name, '')
  return { owners, of: (workload) => live.filter(({ name }) => owners.get(name) === workload) }
}

/**
 * Machines to delete so that `keep` are left; undefined if some of them would have to be busy ones, or belong to a workload. None if
 * there are not more than `keep` as it is.
 */
export function chooseVictims(
  machines: readonly PoolMachine[],
  { owners }: MachineAssignment,
  keep: number,
): readonly PoolMachine[] | undefined {
  const live = machines.filter(({ isLeaving }) => !isLeaving)
  const count = Math.max(0, live.length - keep)
  const eligible = live
    .filter(({ name, users }) => owners.get(name) === '' && users.length === 0)
    .toSorted((a, b) => Number(b.isMarked) - Number(a.isMarked) || bestFirst(b, a))
  return eligible.length < count ? undefined : eligible.slice(0, count)
}

/** Ready machines first, then those that may become ready; machines that are to be deleted are the last that a workload gets. */
function bestFirst(a: PoolMachine, b: PoolMachine): number {
  return rankOf(a) - rankOf(b) || newestFirst(a, b)
}

function rankOf({ isMarked, failure, isReady }: PoolMachine): number {
  if (failure !== undefined) return 3
  if (isMarked) return 2
  return isReady ? 0 : 1
}

function newestFirst(a: PoolMachine, b: PoolMachine): number {
  return b.createdAt - a.createdAt || (a.name < b.name ? -1 : Number(a.name > b.name))
}
