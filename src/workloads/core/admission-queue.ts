/**
 * The queue: which waiting workloads start now, and why the others wait.
 *
 * Workloads of one queue with equal pods form a class. Within a class the order never changes, and where its first workload
 * does not fit, none of the others does: a decision looks at classes, not at workloads. A workload that does not fit holds
 * back its own class only.
 *
 * Nothing here reads a clock or calls an API: state, changes and the time go in, decisions come out.
 */
import type { ResourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import type { NodeAssignment, NodeTable, PodGroup } from './node-table.ts'
import type { QuotaShortage, QuotaTree } from './quota-tree.ts'

export interface QueuedWorkload {
  readonly id: string
  /** The node of the quota tree that it is charged to. */
  readonly queue: string
  readonly priority: number
  /** Priority gained for each second of waiting. */
  readonly slope?: number
  /** Since when it waits: milliseconds. */
  readonly since: number
  readonly groups: readonly PodGroup[]
}

interface Admission {
  readonly workload: QueuedWorkload
  /** Reserved until its pods are there. */
  readonly assignments: readonly NodeAssignment[]
}

/** Why a workload waits. */
export type WaitReason =
  | { readonly kind: 'UnknownQueue'; readonly queue: string }
  | ({ readonly kind: 'InsufficientQuota' } & QuotaShortage)
  | { readonly kind: 'InsufficientNodes'; readonly group: number; readonly requested: number; readonly room: number }
  /** Each group alone would fit, all together do not. */
  | { readonly kind: 'InsufficientNodesTogether' }

interface AdmissionQueue {
  readonly waiting: number
  readonly running: number
  add(workload: QueuedWorkload): void
  /** A workload that is no longer wanted, or has ended: its quota and its reservations are free. */
  remove(id: string): void
  /** Charges a workload that runs already, as after a restart. Its pods are in the table of nodes. */
  restore(workload: QueuedWorkload): void
  /** The pods of a running workload are there: they count from now on, the reservation does not. */
  settle(id: string): void
  /** Workloads that start now, in order. They run from here on. */
  decide(now: number): readonly Admission[]
  /** Why a workload waits; undefined if it does not, or if it would start with the next decision. */
  explain(id: string): WaitReason | undefined
}

interface WorkloadClass {
  readonly key: string
  readonly queue: string
  readonly slope: number
  readonly groups: readonly PodGroup[]
  readonly demand: ResourceAmounts
  /** In order of admission. */
  readonly members: Waiting[]
  /** The growth of capacity at which several groups together did not fit; less capacity changes nothing. */
  failedAt: number
}

interface Waiting {
  readonly workload: QueuedWorkload
  /** Priority at time 0: with one slope for all of a class it orders them at any time. */
  readonly rank: number
  /** Ties are broken by arrival. */
  readonly sequence: number
}

interface Running {
  readonly workload: QueuedWorkload
  readonly demand: ResourceAmounts
  assignments: readonly NodeAssignment[]
}

/** Without nodes only the quota decides, without quota only the nodes. */
export function createAdmissionQueue(nodes: NodeTable | undefined, quota: QuotaTree | undefined): AdmissionQueue {
  const classes = new Map<string, WorkloadClass>()
  const classOf = new Map<string, WorkloadClass>()
  const running = new Map<string, Running>()
  let sequence = 0

  const reasonOf = (one: WorkloadClass): WaitReason | undefined => {
    if (quota) {
      if (!quota.has(one.queue)) return { kind: 'UnknownQueue', queue: one.queue }
      const shortage = quota.shortage(one.queue, one.demand)
      if (shortage) return { kind: 'InsufficientQuota', ...shortage }
    }
    if (!nodes) return undefined
    for (const [group, { shape, count }] of one.groups.entries()) {
      const room = nodes.room(shape)
      if (room < count) return { kind: 'InsufficientNodes', group, requested: count, room }
    }
    return one.failedAt === nodes.growth ? { kind: 'InsufficientNodesTogether' } : undefined
  }

  const drop = (one: WorkloadClass): void => {
    classes.delete(one.key)
    for (const { shape } of one.groups) nodes?.forget(shape)
  }

  const start = (workload: QueuedWorkload, demand: ResourceAmounts, assignments: readonly NodeAssignment[]): void => {
    quota?.use(workload.queue, demand, 1)
    for (const { node, shape, count } of assignments) nodes?.take(node, shape.requests, count)
    running.set(workload.id, { workload, demand, assignments })
  }

  const release = ({ assignments }: Running): void => {
    for (const { node, shape, count } of assignments) nodes?.take(node, shape.requests, -count)
  }

  /** The first workload of a class starts, if its groups fit together. */
  const admit = (one: WorkloadClass): Admission | undefined => {
    const assignments = nodes ? nodes.place(one.groups) : []
    if (!assignments) {
      one.failedAt = nodes?.growth ?? -1
      return undefined
    }
    const { workload } = one.members.shift()!
    classOf.delete(workload.id)
    start(workload, one.demand, assignments)
    return { workload, assignments }
  }

  return {
    get waiting() {
      return classOf.size
    },
    get running() {
      return running.size
    },
    add(workload) {
      if (classOf.has(workload.id) || running.has(workload.id)) return
      const { slope = 0, queue, groups, since, priority } = workload
      const key = JSON.stringify([queue, slope, groups.map(({ shape, count }) => [shape.key, count])])
      let one = classes.get(key)
      if (!one) {
        one = { key, queue, slope, groups, demand: demandOf(groups), members: [], failedAt: -1 }
        classes.set(key, one)
        for (const { shape } of groups) nodes?.watch(shape)
      }
      const waiting = { workload, rank: priority - (slope * since) / 1000, sequence: sequence++ }
      one.members.splice(positionOf(one.members, waiting), 0, waiting)
      classOf.set(workload.id, one)
    },
    remove(id) {
      const one = classOf.get(id)
      if (one) {
        one.members.splice(
          one.members.findIndex(({ workload }) => workload.id === id),
          1,
        )
        classOf.delete(id)
        if (one.members.length === 0) drop(one)
      }
      const ended = running.get(id)
      if (!ended) return
      running.delete(id)
      quota?.use(ended.workload.queue, ended.demand, -1)
      release(ended)
    },
    restore(workload) {
      if (!running.has(workload.id)) start(workload, demandOf(workload.groups), [])
    },
    settle(id) {
      const one = running.get(id)
      if (!one) return
      release(one)
      one.assignments = []
    },
    decide(now) {
      const admissions: Admission[] = []
      const candidates = [...classes.values()].filter((one) => reasonOf(one) === undefined)
      const heap = createHeap<WorkloadClass>((a, b) => compareHeads(a, b, now))
      for (const one of candidates) heap.push(one)
      for (let one = heap.pop(); one; one = heap.pop()) {
        // What started before it may have taken the room.
        if (reasonOf(one) !== undefined) continue
        const admission = admit(one)
        if (!admission) continue
        admissions.push(admission)
        if (one.members.length > 0) heap.push(one)
        else drop(one)
      }
      return admissions
    },
    explain(id) {
      const one = classOf.get(id)
      return one && reasonOf(one)
    },
  }
}

function demandOf(groups: readonly PodGroup[]): ResourceAmounts {
  const demand = new Map<string, number>()
  for (const { shape, count } of groups)
    for (const [resource, amount] of shape.requests)
      if (resource !== 'pods') demand.set(resource, (demand.get(resource) ?? 0) + amount * count)
  return demand
}

function compareWaiting(a: Waiting, b: Waiting): number {
  return b.rank - a.rank || a.workload.since - b.workload.since || a.sequence - b.sequence
}

function positionOf(members: readonly Waiting[], one: Waiting): number {
  let [low, high] = [0, members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareWaiting(members[middle]!, one) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Higher priority first, then the one that waits longer. */
function compareHeads(a: WorkloadClass, b: WorkloadClass, now: number): number {
  const [first, second] = [a.members[0]!, b.members[0]!]
  const priority = second.rank + (b.slope * now) / 1000 - (first.rank + (a.slope * now) / 1000)
  return priority || first.workload.since - second.workload.since || first.sequence - second.sequence
}

interface Heap<Item> {
  push(item: Item): void
  pop(): Item | undefined
}

function createHeap<Item>(compare: (a: Item, b: Item) => number): Heap<Item> {
  const items: Item[] = []
  return {
    push(item) {
      let at = items.push(item) - 1
      while (at > 0) {
        const parent = (at - 1) >>> 1
        if (compare(items[parent]!, item) <= 0) break
        items[at] = items[parent]!
        at = parent
      }
      items[at] = item
    },
    pop() {
      const top = items[0]
      const last = items.pop()
      if (items.length === 0 || last === undefined) return top
      let at = 0
      for (;;) {
        let child = 2 * at + 1
        if (child >= items.length) break
        if (child + 1 < items.length && compare(items[child + 1]!, items[child]!) < 0) child++
        if (compare(last, items[child]!) <= 0) break
        items[at] = items[child]!
        at = child
      }
      items[at] = last
      return top
    },
  }
}
