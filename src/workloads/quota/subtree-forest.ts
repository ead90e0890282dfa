/**
 * QuotaSubtrees as pools. In MCAD the quota of a node includes that of its children; a pool has what is left beside them, which is
 * negative where the children promise more than their parent has.
 *
 * A hard limit is a borrowing limit of zero: what such a node does not use is lent, but it takes nothing. A node whose way to a root
 * is broken is left out with all below it, and said so: a workload that names it waits.
 */
import type { KubeObject } from '../../kube/object.ts'
import { type QueuePolicies, queueDefaults, type QuotaLimit } from '../core/quota/quota-node.ts'
import { type ObjectFields, oldestFirst, specOf } from './object-fields.ts'
import type { QuotaPool } from './quota-pool.ts'
import type { QuotaProblem } from './quota-problem.ts'

const treeLabel = 'tree'

/** The node that a workload is charged to in a tree that it does not name. */
export const defaultNode = 'default'

export interface SubtreeForest {
  /** Nodes by tree, each with the name of its pool. */
  readonly trees: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly pools: readonly QuotaPool[]
}

interface SubtreeNode {
  readonly name: string
  readonly parent: string | undefined
  readonly amounts: ReadonlyMap<string, number>
  readonly isHard: boolean
  /** Where it is defined. */
  readonly fields: ObjectFields
}

/** `preemption`: whether owners get back what others have borrowed, and higher priorities evict lower ones. */
export function readSubtrees(
  objects: readonly KubeObject[],
  preemption: boolean,
  problems: QuotaProblem[],
): SubtreeForest {
  const trees = new Map<string, Map<string, SubtreeNode>>()
  for (const object of oldestFirst(objects)) {
    const tree = object.metadata.labels?.[treeLabel]
    const spec = specOf(object, problems)
    if (!tree) spec.report('', 'MissingTree', 'the object has no label "tree": its nodes belong to no tree')
    else readChildren(spec, nodesOf(trees, tree), tree)
  }
  const names = [...trees.keys()].toSorted()
  const read = names.map((tree) => [tree, readTree(tree, trees.get(tree)!, preemption)] as const)
  return {
    trees: new Map(read.map(([tree, { members }]) => [tree, members])),
    pools: read.flatMap(([, { pools }]) => pools),
  }
}

function nodesOf(trees: Map<string, Map<string, SubtreeNode>>, tree: string): Map<string, SubtreeNode> {
  const known = trees.get(tree) ?? new Map<string, SubtreeNode>()
  trees.set(tree, known)
  return known
}

function readChildren(spec: ObjectFields, nodes: Map<string, SubtreeNode>, tree: string): void {
  const parent = spec.text('parent') || undefined
  for (const fields of spec.each('children')) {
    const name = fields.text('name')
    const quotas = fields.below('quotas')
    if (quotas?.flag('disabled') === true)
      quotas.report('disabled', 'IgnoredField', 'it has no effect, as in MCAD: remove the child instead')
    if (!name) fields.report('name', 'InvalidField', 'a node needs a name')
    else if (nodes.has(name))
      fields.report(
        'name',
        'Duplicate',
        `${nodes.get(name)!.fields.object} has defined "${name}" in the tree "${tree}"`,
      )
    else {
      const amounts = quotas?.amounts('requests') ?? new Map<string, number>()
      nodes.set(name, { name, parent, amounts, isHard: quotas?.flag('hardLimit') ?? false, fields })
    }
  }
}

/** Resources of one tree: each node has an account for each. */
const mostResources = 200

/** The resources of a tree; those beyond the limit are reported, and not limited. */
function resourcesOf(nodes: readonly SubtreeNode[]): readonly string[] {
  const known = new Set<string>()
  for (const { name, amounts, fields } of nodes) {
    const beyond = [...amounts.keys()].filter((resource) => !known.has(resource) && known.size >= mostResources)
    for (const resource of amounts.keys()) if (known.size < mostResources) known.add(resource)
    if (beyond.length > 0)
      fields.report(
        'quotas',
        'InvalidField',
        `a tree has at most ${mostResources} resources; "${name}" adds ${beyond[0]}`,
      )
  }
  return [...known].toSorted()
}

interface ReadTree {
  readonly members: ReadonlyMap<string, string>
  readonly pools: readonly QuotaPool[]
}

function readTree(tree: string, nodes: ReadonlyMap<string, SubtreeNode>, preemption: boolean): ReadTree {
  const attached = attachedNodes(nodes)
  const resources = resourcesOf(attached)
  const children = new Map<string, SubtreeNode[]>()
  for (const { name } of attached) children.set(name, [])
  for (const node of attached) if (node.parent !== undefined) children.get(node.parent)!.push(node)
  const poolName = (name: string): string => `tree/${tree}/${name}`
  const policies: QueuePolicies = preemption
    ? { ...queueDefaults, withinQueue: 'LowerPriority', reclaim: 'Any' }
    : queueDefaults
  const pools = attached.map((node): QuotaPool => {
    const below = children.get(node.name)!
    const limits = new Map(resources.map((resource) => [resource, limitOf(node, below, resource)]))
    return {
      name: poolName(node.name),
      ...(node.parent !== undefined && { parent: poolName(node.parent) }),
      groups: [{ resources, flavors: [{ name: '', limits, nodeLabels: {}, nodeTaints: [] }] }],
      otherResources: 'unlimited',
      policies,
    }
  })
  return { members: new Map(attached.map(({ name }) => [name, poolName(name)])), pools }
}

function limitOf(node: SubtreeNode, children: readonly SubtreeNode[], resource: string): QuotaLimit {
  const amountOf = ({ amounts }: SubtreeNode): number => amounts.get(resource) ?? 0
  const nominal = children.reduce((rest, child) => rest - amountOf(child), amountOf(node))
  return node.isHard && node.parent !== undefined ? { nominal, borrowing: 0 } : { nominal }
}

/** Nodes with a way to a root, by name; what is wrong with the others is reported at each of them. */
function attachedNodes(nodes: ReadonlyMap<string, SubtreeNode>): readonly SubtreeNode[] {
  /** For each node: `root`, or the name at which its way breaks off. */
  const ends = new Map<string, Ending>()
  for (const node of nodes.values()) {
    const way: SubtreeNode[] = []
    const onWay = new Set<string>()
    let at: SubtreeNode | undefined = node
    let ending: Ending | undefined
    while (!ending) {
      const known: Ending | undefined = ends.get(at.name)
      if (known) ending = known
      else if (onWay.has(at.name)) ending = { kind: 'cycle', at: at.name }
      else {
        way.push(at)
        onWay.add(at.name)
        if (at.parent === undefined) ending = { kind: 'root', at: at.name }
        else if (nodes.has(at.parent)) at = nodes.get(at.parent)!
        else ending = { kind: 'unknown', at: at.parent }
      }
    }
    for (const { name } of way) ends.set(name, ending)
  }
  const sorted = [...nodes.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return sorted.filter((node) => {
    const { kind, at } = ends.get(node.name)!
    if (kind === 'cycle') node.fields.report('name', 'Cycle', `"${node.name}" is in or below a cycle of parents`)
    if (kind === 'unknown')
      node.fields.report(
        'name',
        'UnknownParent',
        node.parent === at ? `its parent "${at}" is not defined` : `its ancestor "${at}" is not defined`,
      )
    return kind === 'root'
  })
}

interface Ending {
  readonly kind: 'root' | 'cycle' | 'unknown'
  readonly at: string
}
