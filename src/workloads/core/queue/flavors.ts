/**
 * The ways to charge a workload: one flavor for each group of resources of each group of its pods, in the order in which they are
 * tried. A way says what is charged to which node of the quota trees, and which nodes of the cluster the pods then go to.
 */
import { isTolerated, matchesTerm } from '../../../kube/scheduling/node-match.ts'
import type { NodeSelector } from '../../../kube/types/core/v1.ts'
import type { PodGroup } from '../nodes/node-table.ts'
import { makePodShape, type PodShape } from '../pods/pod-shape.ts'
import type { WaitReason } from './queue-decisions.ts'
import { type FlavorQuota, type FlavorGroup, type QuotaNode, quotaKey } from '../quota/quota-node.ts'
import type { NodeCharge, QuotaTree } from '../quota/quota-tree.ts'

export interface ChargeOption {
  readonly charges: readonly NodeCharge[]
  /** With the nodes of their flavors. */
  readonly groups: readonly PodGroup[]
  /** By group: the flavor of each resource. */
  readonly flavors: readonly ReadonlyMap<string, string>[]
}

/** More ways are not tried: the number is a product. */
const mostOptions = 64

interface Choice {
  readonly group: number
  readonly node: string
  readonly resources: readonly string[]
  readonly flavors: readonly FlavorQuota[]
}

/** @returns at least one way, or why there is none */
export function chargeOptions(
  quotas: readonly string[],
  groups: readonly PodGroup[],
  tree: QuotaTree | undefined,
): readonly ChargeOption[] | WaitReason {
  const plain = groups.map(() => new Map<string, string>())
  if (!tree || quotas.length === 0) return [{ charges: [], groups, flavors: plain }]
  const choices: Choice[] = []
  for (const name of quotas) {
    const node = tree.node(name)
    if (!node) return { kind: 'UnknownQueue', queue: name }
    for (const [group, { shape }] of groups.entries())
      for (const one of node.groups ?? []) {
        const resources = one.resources.filter((resource) => isCharged(node, shape, resource))
        if (resources.length === 0) continue
        const flavors = one.flavors.filter((flavor) => accepts(flavor, one, shape))
        if (flavors.length === 0) return { kind: 'NoFlavor', queue: name, group }
        choices.push({ group, node: name, resources, flavors })
      }
  }
  return picks(choices).map((picked) => optionOf(quotas, groups, tree, choices, picked))
}

/** All combinations, the last choice changing fastest. */
function picks(choices: readonly Choice[]): readonly (readonly FlavorQuota[])[] {
  let all: readonly (readonly FlavorQuota[])[] = [[]]
  for (const { flavors } of choices) {
    all = all.flatMap((before) => flavors.map((flavor) => before.concat(flavor)))
    // Later choices then have their first flavor only.
    if (all.length > mostOptions) all = all.slice(0, mostOptions)
  }
  return all
}

function optionOf(
  quotas: readonly string[],
  groups: readonly PodGroup[],
  tree: QuotaTree,
  choices: readonly Choice[],
  picked: readonly FlavorQuota[],
): ChargeOption {
  const flavors = groups.map(() => new Map<string, string>())
  const places = groups.map((): FlavorQuota[] => [])
  /** By node, group and resource. */
  const keys = new Map<string, string>()
  for (const [index, { group, node, resources }] of choices.entries()) {
    const flavor = picked[index]!
    for (const resource of resources) {
      keys.set(`${node}\n${group}\n${resource}`, quotaKey(flavor.name, resource))
      if (flavor.name !== '') flavors[group]!.set(resource, flavor.name)
    }
    places[group]!.push(flavor)
  }
  return {
    charges: quotas.map((name) => {
      const node = tree.node(name)!
      const amounts = new Map<string, number>()
      for (const [group, { shape, count }] of groups.entries())
        for (const [resource, amount] of shape.requests) {
          if (!isCharged(node, shape, resource)) continue
          const key = keys.get(`${name}\n${group}\n${resource}`) ?? resource
          amounts.set(key, (amounts.get(key) ?? 0) + amount * count)
        }
      return { node: name, amounts }
    }),
    groups: groups.map(({ shape, count }, group) => ({ shape: placed(shape, places[group]!), count })),
    flavors,
  }
}

/** Whether a node counts a resource. The number of pods counts only where a node lists it. */
function isCharged({ limits, groups = [], otherResources }: QuotaNode, shape: PodShape, resource: string): boolean {
  if (!shape.requests.has(resource)) return false
  const isListed = limits?.has(resource) || groups.some((one) => one.resources.includes(resource))
  return isListed || (resource !== 'pods' && otherResources !== 'unlimited')
}

/** Only labels that distinguish the flavors of a group are judged: nodes have others, too. */
function accepts(flavor: FlavorQuota, { flavors }: FlavorGroup, { constraints }: PodShape): boolean {
  const { nodeSelector = {}, nodeAffinity, tolerations } = constraints
  const isRepelled = flavor.nodeTaints.some(
    (taint) =>
      taint.effect !== 'PreferNoSchedule' &&
      !isTolerated(taint, [...(tolerations ?? []), ...(flavor.tolerations ?? [])]),
  )
  if (isRepelled) return false
  const labels = new Set(flavors.flatMap(({ nodeLabels }) => Object.keys(nodeLabels)))
  for (const [name, value] of Object.entries(nodeSelector))
    if (labels.has(name) && flavor.nodeLabels[name] !== value) return false
  return !nodeAffinity || matchesLabels(nodeAffinity, labels, flavor)
}

function matchesLabels({ nodeSelectorTerms }: NodeSelector, labels: ReadonlySet<string>, flavor: FlavorQuota): boolean {
  return nodeSelectorTerms.some(({ matchExpressions = [] }) => {
    const judged = matchExpressions.filter(({ key }) => labels.has(key))
    return judged.length === 0 || matchesTerm({ matchExpressions: judged }, { metadata: { labels: flavor.nodeLabels } })
  })
}

function placed(shape: PodShape, flavors: readonly FlavorQuota[]): PodShape {
  const added = flavors.filter(
    ({ nodeLabels, tolerations = [] }) => Object.keys(nodeLabels).length + tolerations.length > 0,
  )
  if (added.length === 0) return shape
  const { nodeSelector, tolerations = [] } = shape.constraints
  const more = added.flatMap((flavor) => flavor.tolerations ?? [])
  return makePodShape(
    shape.requests,
    {
      ...shape.constraints,
      nodeSelector: Object.assign({}, ...added.map(({ nodeLabels }) => nodeLabels), nodeSelector),
      ...(tolerations.length + more.length > 0 && { tolerations: [...tolerations, ...more] }),
    },
    shape.perNode,
  )
}
