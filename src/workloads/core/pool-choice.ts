/**
 * Inference: which pool, and how many of its nodes, a workload needs that names no instance types. The pods are packed onto empty
 * nodes as the queue packs them; the cheapest pool is taken, and of equal ones the one that needs fewer nodes.
 *
 * Nodes that are being added for one workload may have room for another: they are in `pending`, and only what does not fit there
 * needs further nodes.
 */
import { createNodeTable, type NodeTable, type PodGroup } from './node-table.ts'
import type { NodeTemplate } from './node-pool.ts'

/** A pool that may grow, and by how many nodes. */
export interface PoolOption {
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
  /** The fewest further nodes of a template so that the groups fit, at most `most`. */
  needed(groups: readonly PodGroup[], template: NodeTemplate, most: number): number | undefined
}

export function createPendingNodes(): PendingNodes {
  const table = createNodeTable()
  let nodes = 0
  let untaken = true
  /** Groups that did not fit; more nodes may change that. */
  let unfit = new Set<string>()
  const known = new Map<string, number | undefined>()

  const grow = (template: NodeTemplate, count: number): void => {
    for (let each = 0; each < count; each++) addNode(table, `pending-${nodes++}`, template)
  }
  const shrink = (count: number): void => {
    for (let each = 0; each < count; each++) table.setNode(`pending-${--nodes}`, undefined)
  }

  return {
    add(template, count) {
      if (count <= 0) return
      grow(template, count)
      untaken = false
      unfit = new Set()
      known.clear()
    },
    take(groups) {
      if (untaken) return false
      const key = groupsKey(groups)
      if (unfit.has(key)) return false
      const placed = table.place(groups)
      if (!placed) {
        unfit.add(key)
        return false
      }
      for (const { node, shape, count } of placed) table.take(node, shape.requests, count)
      known.clear()
      return true
    },
    needed(groups, template, most) {
      const key = `${most} ${template.key} ${groupsKey(groups)}`
      if (known.has(key)) return known.get(key)
      const least = Math.max(1, untaken ? fewestBySum(groups, template) : 1)
      const fits = (count: number): boolean => {
        grow(template, count)
        try {
          return table.place(groups) !== undefined
        } finally {
          shrink(count)
        }
      }
      const answer = least > most ? undefined : smallest(least, most, fits)
      known.set(key, answer)
      return answer
    },
  }
}

/** The cheapest way to make room for the groups: nodes of one pool, or a pool for each group; undefined if there is none. */
export function choosePools(
  groups: readonly PodGroup[],
  options: readonly PoolOption[],
  pending: PendingNodes,
): readonly PoolChoice[] | undefined {
  const one = cheapest(groups, options, pending)
  if (one) return [one]
  if (groups.length < 2) return undefined
  const choices = new Map<string, number>()
  for (const group of groups) {
    const left = options.map((option) => ({ ...option, room: option.room - (choices.get(option.id) ?? 0) }))
    const choice = cheapest([group], left, pending)
    if (!choice) return undefined
    choices.set(choice.id, (choices.get(choice.id) ?? 0) + choice.count)
  }
  return [...choices].map(([id, count]) => ({ id, count }))
}

function cheapest(
  groups: readonly PodGroup[],
  options: readonly PoolOption[],
  pending: PendingNodes,
): PoolChoice | undefined {
  let best: (PoolChoice & { readonly cost: number }) | undefined
  for (const { id, template, room } of options) {
    const count = room > 0 ? pending.needed(groups, template, room) : undefined
    if (count === undefined) continue
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
export function estimatedPrice({ allocatable }: Pick<NodeTemplate, 'allocatable'>): number {
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

/** The smallest number for which it holds: it holds for all above it. */
function smallest(least: number, most: number, holds: (count: number) => boolean): number | undefined {
  if (holds(least)) return least
  let low = least
  let step = 1
  let high = least + step
  while (high < most && !holds(high)) {
    low = high
    step *= 2
    high += step
  }
  high = Math.min(high, most)
  if (high <= low || !holds(high)) return undefined
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

function groupsKey(groups: readonly PodGroup[]): string {
  return groups.map(({ shape, count }) => `${count}×${shape.key}`).join(' ')
}
