/**
 * Classes of waiting workloads: those of one queue with equal pods. Within a class the order never changes with time, and where the
 * first one does not fit, none of the others does. So a decision looks at classes, not at workloads.
 */
import type { PodGroup } from '../nodes/node-table.ts'
import type { WaitReason } from './queue-decisions.ts'
import type { ChargeOption } from './flavors.ts'
import type { QueueStop } from '../quota/quota-node.ts'
import type { QueuedWorkload } from './queued-workload.ts'

export interface Waiting {
  readonly workload: QueuedWorkload
  readonly slope: number
  /** Priority at time 0: with one slope for all of a class it orders them at any time. */
  readonly rank: number
  /** Where it is considered; undefined while it is held, backs off, or has a claim. */
  home: WorkloadClass | undefined
  /** It is not considered before this time. */
  until: number
  /** It is the head of its queue for a while, whatever comes later. */
  isPinned: boolean
}

export interface WorkloadClass {
  readonly key: string
  readonly queue: string
  readonly quotas: readonly string[]
  readonly stop: QueueStop | undefined
  readonly groups: readonly PodGroup[]
  /** How long they run at most, if it is declared. */
  readonly durationMs: number | undefined
  /** In order of admission. */
  readonly members: Waiting[]
  /** The ways to charge one of them, or why there is none; worked out anew when the quota changes. */
  options: readonly ChargeOption[] | WaitReason
  optionsAt: number
  /** Nothing of it starts, by what its quota or it says; worked out with the options. */
  isStopped: boolean
  /** By option: the growth of capacity at which several groups together did not fit; less capacity changes nothing. */
  failedAt: number[]
  /** The state for which a search for victims failed, and when its outcome may differ by time alone. */
  searchedAt: string
  searchAgain: number
  /** The capacity for which even the end of all that runs was not enough. */
  hopelessAt: string
}

export function makeWaiting(workload: QueuedWorkload, isDynamic: boolean): Waiting {
  const slope = isDynamic ? (workload.slope ?? 0) : 0
  const rank = workload.priority - (slope * workload.since) / 1000
  return { workload, slope, rank, home: undefined, until: workload.notBefore ?? 0, isPinned: false }
}

export function classKey({ workload, slope }: Waiting, quotas: readonly string[]): string {
  const { queue, stop, groups, limitMs, expectedMs } = workload
  return JSON.stringify([
    queue,
    quotas,
    stop,
    slope,
    limitMs ?? expectedMs,
    groups.map(({ shape, count }) => [shape.key, count]),
  ])
}

export function makeClass(key: string, { workload }: Waiting, quotas: readonly string[]): WorkloadClass {
  const { queue, stop, groups, limitMs, expectedMs } = workload
  return {
    key,
    queue,
    quotas,
    stop,
    groups,
    durationMs: limitMs ?? expectedMs,
    members: [],
    options: [],
    optionsAt: -1,
    isStopped: false,
    failedAt: [],
    searchedAt: '',
    searchAgain: 0,
    hopelessAt: '',
  }
}

/** Higher priority first, then the one that waits longer; ties by id, so that the order of arrival means nothing. */
export function compareOrder(a: Waiting, b: Waiting, now: number): number {
  const priority = b.rank + (b.slope * now) / 1000 - (a.rank + (a.slope * now) / 1000)
  return priority || a.workload.since - b.workload.since || (a.workload.id < b.workload.id ? -1 : Number(a !== b))
}

/** In its queue: the pinned head comes first. */
export function compareInQueue(a: Waiting, b: Waiting, now: number): number {
  return Number(b.isPinned) - Number(a.isPinned) || compareOrder(a, b, now)
}

export function addMember({ members }: WorkloadClass, one: Waiting): void {
  members.splice(countAhead(members, one, 0), 0, one)
}

export function removeMember({ members }: WorkloadClass, one: Waiting): void {
  // Found by its place: it has the same as when it was added.
  let at = countAhead(members, one, 0)
  if (members[at] !== one) at = members.indexOf(one)
  members.splice(at, 1)
}

/** How many members of a class are ahead of a workload, which need not be a member. */
export function countAhead(members: readonly Waiting[], one: Waiting, now: number): number {
  let [low, high] = [0, members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareInQueue(members[middle]!, one, now) < 0) low = middle + 1
    else high = middle
  }
  return low
}
