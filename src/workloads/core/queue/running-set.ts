/**
 * What runs, in the order in which it would be evicted: the lowest priority first, and of equal ones the newest.
 */
import type { ResourceAmounts } from '../../../kube/scheduling/pod-needs.ts'
import type { NodeAssignment, NodeTable, PodGroup } from '../nodes/node-table.ts'
import type { EvictionReason } from './queue-decisions.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { QuotaLedger } from '../quota/quota-accounts.ts'
import type { NodeCharge, QuotaTree } from '../quota/quota-tree.ts'

export interface Leaving {
  readonly reason: EvictionReason
  readonly by?: string
}

export interface Running {
  workload: QueuedWorkload
  readonly startedAt: number
  charges: readonly NodeCharge[]
  /** By pod group: the flavor of each resource. */
  readonly flavors: readonly ReadonlyMap<string, string>[] | undefined
  /** Its pods on nodes. */
  pods: readonly NodeAssignment[]
  /** Room for pods that are not there yet. */
  reserved: readonly NodeAssignment[]
  /** Pods that are not there yet, and have no room. */
  pending: readonly PodGroup[]
  /** It is evicted, and not gone yet. */
  leaving: Leaving | undefined
  /** Whether it is part of the plan: not if another workload is to have its room. */
  isPlanned: boolean
  /** The waiting workload that is to have its room. */
  awaitedBy: string | undefined
  /** Its start has been carried out. Otherwise it cannot be evicted yet: who is to start it may not have learnt of it. */
  isConfirmed: boolean
}

export interface RunningSet {
  readonly size: number
  /** Incremented when it changes. */
  readonly version: number
  get(id: string): Running | undefined
  has(id: string): boolean
  add(running: Running): void
  remove(running: Running): void
  all(): readonly Running[]
  /** Those charged to a node of the quota; those charged to none by the empty name. */
  of(node: string): readonly Running[]
  nodes(): Iterable<string>
}

export function createRunningSet(): RunningSet {
  const byId = new Map<string, Running>()
  const byNode = new Map<string, Running[]>()
  const sorted: Running[] = []
  let version = 0
  const listsOf = ({ charges }: Running): readonly string[] =>
    charges.length === 0 ? [''] : charges.map(({ node }) => node)
  return {
    get size() {
      return byId.size
    },
    get version() {
      return version
    },
    get: (id) => byId.get(id),
    has: (id) => byId.has(id),
    add(running) {
      version++
      byId.set(running.workload.id, running)
      sorted.splice(placeOf(sorted, running), 0, running)
      for (const node of listsOf(running)) {
        const own = byNode.get(node) ?? []
        byNode.set(node, own)
        own.splice(placeOf(own, running), 0, running)
      }
    },
    remove(running) {
      version++
      byId.delete(running.workload.id)
      sorted.splice(placeOf(sorted, running), 1)
      for (const node of listsOf(running)) {
        const own = byNode.get(node)!
        own.splice(placeOf(own, running), 1)
        if (own.length === 0) byNode.delete(node)
      }
    },
    all: () => sorted,
    of: (node) => byNode.get(node) ?? [],
    nodes: () => byNode.keys(),
  }
}

export function compareVictims(a: Running, b: Running): number {
  return (
    a.workload.priority - b.workload.priority ||
    b.startedAt - a.startedAt ||
    (a.workload.id < b.workload.id ? 1 : a.workload.id > b.workload.id ? -1 : 0)
  )
}

function placeOf(list: readonly Running[], one: Running): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareVictims(list[middle]!, one) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Nodes and quota, each of which may be missing: then it does not decide. */
export interface Room {
  readonly nodes: NodeTable | undefined
  readonly quota: QuotaTree | undefined
}

export function charge({ quota }: Room, charges: readonly NodeCharge[], factor: 1 | -1, ledger?: QuotaLedger): void {
  for (const { node, amounts } of charges) quota?.use(node, amounts, factor, ledger)
}

export function occupy({ nodes }: Room, assignments: readonly NodeAssignment[], factor: 1 | -1): void {
  for (const { node, shape, count } of assignments) nodes?.take(node, shape.requests, count * factor)
}

/** All that a running workload has on nodes. */
export function heldNodes({ pods, reserved }: Running): readonly NodeAssignment[] {
  return reserved.length === 0 ? pods : [...pods, ...reserved]
}

/** Equal pods on one node together. */
export function amountsByPod(
  assignments: Iterable<NodeAssignment>,
): Map<string, { readonly assignment: NodeAssignment; count: number }> {
  const sums = new Map<string, { readonly assignment: NodeAssignment; count: number }>()
  for (const assignment of assignments) {
    const key = `${assignment.node}\n${assignment.shape.key}`
    const known = sums.get(key)
    if (known) known.count += assignment.count
    else sums.set(key, { assignment, count: assignment.count })
  }
  return sums
}

/** By node. */
export function amountsByNode(assignments: Iterable<NodeAssignment>): Map<string, Map<string, number>> {
  const byNode = new Map<string, Map<string, number>>()
  for (const { node, shape, count } of assignments) {
    const own = byNode.get(node) ?? new Map<string, number>()
    byNode.set(node, own)
    addAmounts(own, shape.requests, count)
  }
  return byNode
}

function addAmounts(sums: Map<string, number>, amounts: ResourceAmounts, factor: number): void {
  for (const [resource, amount] of amounts) sums.set(resource, (sums.get(resource) ?? 0) + amount * factor)
}
