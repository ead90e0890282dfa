/**
 * The scheduler's filters: whether a pod fits a node, and why not, in the scheduler's words. Constraints about other
 * pods (affinity, topology spread) are counted once per pod and evaluated for each node.
 */
import { labelsOf, matchLabels } from '../../../kube/selector/selector.ts'
import { hasPortConflict, matchesNode, mismatchOf } from '../../../kube/scheduling/node-match.ts'
import { needsOf, type PodNeeds } from '../../../kube/scheduling/pod-needs.ts'
import type { PodAffinityTerm, TopologySpreadConstraint } from '../../../kube/types/core/v1.ts'
import type { SimulatedState, StoredIn, StoredPod } from '../controller/cluster.ts'
import { isPodTerminating } from '../controller/pod-facts.ts'
import type { NodeInfo, SchedulerCache } from './node-capacity.ts'

type Node = StoredIn<'nodes'>

export interface Misfit {
  readonly reasons: readonly string[]
  /** Whether preemption of other pods could help. */
  readonly isResolvable: boolean
}

/** Whether a pod fits a node as it is; undefined when it does. */
type Fit = (nodeInfo: NodeInfo) => Misfit | undefined

/** `reserved` are the nominated pods of a node. */
export function fitOf(
  cluster: SimulatedState,
  cache: SchedulerCache,
  pod: StoredPod,
  reserved: (node: string) => readonly StoredPod[],
): Fit {
  const needs = needsOf(pod)
  const podConstraints = podConstraintsOf(cluster, cache, pod)
  return (nodeInfo) => {
    const { node } = nodeInfo
    const mismatch = mismatchOf(pod, node)
    if (mismatch !== undefined) return unresolvable(mismatch)
    const others = reserved(node.metadata.name)
    if (needs.ports.length > 0 && hasPortConflict(needs, [...nodeInfo.pods.values(), ...others])) {
      return resolvable("node(s) didn't have free ports for the requested pod ports")
    }
    const short = shortages(needs, nodeInfo, others)
    if (short.length > 0)
      return {
        reasons: short.map(({ reason }) => reason),
        isResolvable: !short.some(({ isUnresolvable }) => isUnresolvable),
      }
    return podConstraints(node)
  }
}

function resolvable(...reasons: readonly string[]): Misfit {
  return { reasons, isResolvable: true }
}

function unresolvable(...reasons: readonly string[]): Misfit {
  return { reasons, isResolvable: false }
}

interface Shortage {
  readonly reason: string
  /** Whether the pod would not even fit the empty node. */
  readonly isUnresolvable: boolean
}

function shortages({ requests }: PodNeeds, nodeInfo: NodeInfo, others: readonly StoredPod[]): readonly Shortage[] {
  const found: Shortage[] = []
  const most = nodeInfo.allocatable.get('pods') ?? 0
  if (nodeInfo.pods.size + others.length + 1 > most) found.push({ reason: 'Too many pods', isUnresolvable: most < 1 })
  for (const [name, amount] of requests) {
    if (amount === 0) continue
    const all = nodeInfo.allocatable.get(name) ?? 0
    const nominated = others.reduce((sum, other) => sum + (needsOf(other).requests.get(name) ?? 0), 0)
    const used = (nodeInfo.used.get(name) ?? 0) + nominated
    if (used + amount > all) found.push({ reason: `Insufficient ${name}`, isUnresolvable: amount > all })
  }
  return found
}

/** Constraints by other pods: affinity, anti-affinity, topology spread. */
function podConstraintsOf(
  cluster: SimulatedState,
  cache: SchedulerCache,
  pod: StoredPod,
): (node: Node) => Misfit | undefined {
  const { affinity, topologySpreadConstraints = [] } = pod.spec ?? {}
  const affinityTerms = affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const antiAffinityTerms = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const spread = topologySpreadConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')
  const isUnconstrained =
    affinityTerms.length + antiAffinityTerms.length + spread.length + cache.antiAffinityPods.size === 0
  if (isUnconstrained) return () => undefined
  const spreading = spread.map((constraint) => spreadOf(cache, pod, constraint))
  const requiredAffinity = affinityTerms.map((term) => ({ term, counts: countsOf(cluster, cache, pod, term) }))
  const requiredAntiAffinity = antiAffinityTerms.map((term) => ({ term, counts: countsOf(cluster, cache, pod, term) }))
  const excludedTopologies = excludedTopologiesOf(cluster, cache, pod)
  // The first pod of a group with affinity to itself may start the group.
  const isFirst = requiredAffinity.every(
    ({ term, counts }) => counts.size === 0 && termMatches(cluster, term, pod, pod),
  )
  return (node) => {
    const { labels = {} } = node.metadata
    if (spreading.some((fits) => !fits(node))) return resolvable("node(s) didn't match pod topology spread constraints")
    const hasAffinity = requiredAffinity.every(({ term, counts }) => {
      const value = labels[term.topologyKey]
      return value !== undefined && (isFirst || (counts.get(value) ?? 0) > 0)
    })
    if (!hasAffinity) return unresolvable("node(s) didn't match pod affinity rules")
    const hasConflict = requiredAntiAffinity.some(
      ({ term, counts }) => (counts.get(labels[term.topologyKey] ?? '') ?? 0) > 0,
    )
    if (hasConflict) return resolvable("node(s) didn't match pod anti-affinity rules")
    const isExcluded = excludedTopologies.some(({ key, value }) => labels[key] === value)
    return isExcluded ? resolvable("node(s) didn't satisfy existing pods anti-affinity rules") : undefined
  }
}

/** Whether the affinity term of `owner` matches `other`. */
function termMatches(cluster: SimulatedState, term: PodAffinityTerm, owner: StoredPod, other: StoredPod): boolean {
  const { namespaces = [], namespaceSelector, labelSelector } = term
  const { namespace = '', labels } = other.metadata
  const isOwnNamespace = namespaces.length === 0 && !namespaceSelector && namespace === owner.metadata.namespace
  const isNamed = namespaces.includes(namespace)
  const isSelected = (): boolean =>
    namespaceSelector !== undefined &&
    matchLabels(labelsOf(namespaceSelector), cluster.get('namespaces', undefined, namespace)?.metadata.labels)
  return (isOwnNamespace || isNamed || isSelected()) && matchLabels(labelsOf(labelSelector), labels)
}

/** The number of pods that match a term, by the value of its topology key. */
function countsOf(
  cluster: SimulatedState,
  cache: SchedulerCache,
  pod: StoredPod,
  term: PodAffinityTerm,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { node, pods } of cache.nodeInfos()) {
    const value = node.metadata.labels?.[term.topologyKey]
    if (value === undefined) continue
    for (const other of pods.values()) {
      if (termMatches(cluster, term, pod, other)) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
  }
  return counts
}

/** Topology values with pods whose anti-affinity excludes this one. */
function excludedTopologiesOf(
  cluster: SimulatedState,
  cache: SchedulerCache,
  pod: StoredPod,
): readonly { readonly key: string; readonly value: string }[] {
  return [...cache.antiAffinityPods.values()].flatMap((holder) => {
    const labels = cache.nodeInfo(holder.spec?.nodeName ?? '')?.node.metadata.labels ?? {}
    const terms = holder.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    return terms
      .filter((term) => labels[term.topologyKey] !== undefined && termMatches(cluster, term, holder, pod))
      .map(({ topologyKey }) => ({ key: topologyKey, value: labels[topologyKey]! }))
  })
}

function spreadOf(
  cache: SchedulerCache,
  pod: StoredPod,
  constraint: TopologySpreadConstraint,
): (node: Node) => boolean {
  const { topologyKey, maxSkew, labelSelector, minDomains = 1 } = constraint
  const selector = labelsOf(labelSelector)
  const counts = new Map<string, number>()
  for (const { node, pods } of cache.nodeInfos()) {
    const value = node.metadata.labels?.[topologyKey]
    if (value === undefined || !matchesNode(pod, node)) continue
    const own = [...pods.values()].filter(
      (other) =>
        other.metadata.namespace === pod.metadata.namespace &&
        !isPodTerminating(other) &&
        matchLabels(selector, other.metadata.labels),
    ).length
    counts.set(value, (counts.get(value) ?? 0) + own)
  }
  const least =
    counts.size < minDomains ? 0 : [...counts.values()].reduce((fewest, count) => Math.min(fewest, count), Infinity)
  const self = matchLabels(selector, pod.metadata.labels) ? 1 : 0
  return (node) => {
    const value = node.metadata.labels?.[topologyKey]
    return value !== undefined && (counts.get(value) ?? 0) + self - least <= maxSkew
  }
}
