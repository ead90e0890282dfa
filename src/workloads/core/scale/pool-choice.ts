/**
 * Inference: which pool, and how many of its nodes, a workload needs that names no instance types. The pods are packed onto empty
 * nodes as the queue packs them; the cheapest pool is taken, and of equal ones the one that needs fewer nodes.
 *
 * Nodes that are being added for one workload may have room for another: they are in `pending`, and only what does not fit there
 * needs further nodes.
 */
import { createNodeTable, type NodeTable, type PodGroup } from '../nodes/node-table.ts'
import type { NodeTemplate } from './node-pool.ts'

/** A pool that may grow, and by how many nodes. */
interface PoolOption {
  readonly id: string
  readonly template: NodeTemplate
  readonly room: number
}

export interface PoolChoice {
  readonly id: string
  readonly count: number
}

/** Nodes that are being added, with what the workloads that they are added for will take of them. */
export interface PendingNodes {
  add(template: NodeTemplate, count: number): void
  /** Takes room for the groups; false if they do not fit. */
  take(groups: readonly PodGroup[]): boolean
}

export function createPendingNodes(): PendingNodes {
  const table = createNodeTable()
  let nodes = 0
  /** Groups that did not fit; more nodes may change that. */
  const unfit = new Set<string>()
  return {
    add(template, count) {
      for (let each = 0; each < count; each++) addNode(table, `pending-${nodes++}`, template)
      if (count > 0) unfit.clear()
    },
    take(groups) {
      if (nodes === 0) return false
      const key = groupsKey(groups)
      if (unfit.has(key)) return false
      const placed = table.place(groups)
      if (!placed) unfit.add(key)
      for (const { node, shape, count } of placed ?? []) table.take(node, shape.requests, count)
      return placed !== undefined
    },
  }
}

/** How many empty nodes of a template the groups need; undefined: no number of them is enough. Remembers what it found. */
export type NodeNeeds = (groups: readonly PodGroup[], template: NodeTemplate) => number | undefined

/** The most nodes that are tried. */
const mostNodes = 1000
const mostRemembered = 100_000

export function createNodeNeeds(): NodeNeeds {
  const known = new Map<string, number | undefined>()
  return (groups, template) => {
    const key = `${template.key} ${groupsKey(groups)}`
    if (known.has(key)) return known.get(key)
    const answer = fewestNodes(groups, template)
    if (known.size >= mostRemembered) known.clear()
    known.set(key, answer)
    return answer
  }
}

function fewestNodes(groups: readonly PodGroup[], template: NodeTemplate): number | undefined {
  const least = fewestBySum(groups, template)
  if (least > mostNodes) return undefined
  const table = createNodeTable()
  let nodes = 0
  for (; nodes < least; nodes++) addNode(table, `${nodes}`, template)
  // A pod that fits no empty node fits no number of them.
  if (groups.some(({ shape }) => table.room(shape) === 0)) return undefined
  while (!table.place(groups)) {
    if (nodes >= mostNodes) return undefined
    // In steps that grow with the number: the answer may be a few per cent too high for hundreds of nodes.
    const more = Math.max(1, Math.floor(nodes / 32))
    for (let each = 0; each < more; each++) addNode(table, `${nodes++}`, template)
  }
  return nodes
}

/** The cheapest way to make room for the groups: nodes of one pool, or a pool for each group; undefined if there is none. */
export function choosePools(
  groups: readonly PodGroup[],
  options: readonly PoolOption[],
  needs: NodeNeeds,
): readonly PoolChoice[] | undefined {
  const one = cheapest(groups, options, needs)
  if (one) return [one]
  if (groups.length < 2) return undefined
  const choices = new Map<string, number>()
  for (const group of groups) {
    const left = options.map((option) => ({ ...option, room: option.room - (choices.get(option.id) ?? 0) }))
    const choice = cheapest([group], left, needs)
    if (!choice) return undefined
    choices.set(choice.id, (choices.get(choice.id) ?? 0) + choice.count)
  }
  return [...choices].map(([id, count]) => ({ id, count }))
}

function cheapest(
  groups: readonly PodGroup[],
  options: readonly PoolOption[],
  needs: NodeNeeds,
): PoolChoice | undefined {
  let best: (PoolChoice & { readonly cost: number }) | undefined
  for (const { id, template, room } of options) {
    const count = room > 0 ? needs(groups, template) : undefined
    if (count === undefined || count > room) continue
    const cost = count * (template.price ?? estimatedPrice(template))
    // Of equal ones the first.
    const isBetter = !best || cost < best.cost || (cost === best.cost && count < best.count)
    if (isBetter) best = { id, count, cost }
  }
  return best && { id: best.id, count: best.count }
}

const gibibyte = 2 ** 30
const ordinary: ReadonlySet<string> = new Set(['cpu', 'memory', 'pods', 'ephemeral-storage'])

/** In cores: 8 GiB of memory cost as much as one, a GPU or another device as much as 16. */
function estimatedPrice({ allocatable }: Pick<NodeTemplate, 'allocatable'>): number {
  let devices = 0
  for (const [resource, amount] of allocatable)
    if (!ordinary.has(resource) && !resource.startsWith('hugepages-')) devices += amount
  return (allocatable.get('cpu') ?? 0) / 1000 + (allocatable.get('memory') ?? 0) / (8 * gibibyte) + devices * 16
}

function addNode(table: NodeTable, name: string, { node, allocatable }: NodeTemplate): void {
  table.setNode(name, { ...node, metadata: { ...node.metadata, name } }, allocatable)
}

/** A lower bound: as many nodes as the sums need. */
function fewestBySum(groups: readonly PodGroup[], { allocatable }: NodeTemplate): number {
  const total = new Map<string, number>()
  for (const { shape, count } of groups)
    for (const [resource, amount] of shape.requests) total.set(resource, (total.get(resource) ?? 0) + amount * count)
  return Math.max(...[...total].map(([resource, amount]) => Math.ceil(amount / (allocatable.get(resource) ?? 0))), 1)
}

function groupsKey(groups: readonly PodGroup[]): string {
  return groups.map(({ shape, count }) => `${count}×${shape.key}`).join(' ')
}
