/**
 * Whether a pod fits a node, and why not, in the scheduler's words. What is about other pods (affinity, spreading) is
 * counted once for a pod and asked for each node.
 */
import { labelsOf, matchLabels } from '../../kube/selector.ts'
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from '../../kube/types/core/v1.ts'
import type { SimulatedState, StoredIn, StoredPod } from './cluster.ts'
import { isPodTerminating } from './pod-facts.ts'
import { type Needs, needsOf, type RoomPlace, type Room } from './node-capacity.ts'

type Node = StoredIn<'nodes'>

export interface Misfit {
  readonly reasons: readonly string[]
  /** Whether it would help if other pods went. */
  readonly isCurable: boolean
}

/** Asks whether a pod fits a place as it stands; undefined when it does. */
export type Fit = (place: RoomPlace) => Misfit | undefined

/** `reserved` are pods that were promised room on a node. */
export function fitOf(
  cluster: SimulatedState,
  room: Room,
  pod: StoredPod,
  reserved: (node: string) => readonly StoredPod[],
): Fit {
  const needs = needsOf(pod)
  const nearby = neighbourhoodOf(cluster, room, pod)
  return (place) => {
    const { node } = place
    if (node.spec?.unschedulable && !isTolerated(unschedulableTaint, pod.spec?.tolerations)) {
      return incurable('node(s) were unschedulable')
    }
    const repelling = new Set(['NoSchedule', 'NoExecute'])
    const isRepelled = (node.spec?.taints ?? []).some(
      (taint) => repelling.has(taint.effect) && !isTolerated(taint, pod.spec?.tolerations),
    )
    if (isRepelled) return incurable('node(s) had untolerated taint(s)')
    if (!matchesNode(pod, node)) return incurable("node(s) didn't match Pod's node affinity/selector")
    const others = reserved(node.metadata.name)
    if (needs.ports.length > 0 && hasPortConflict(needs, [...place.pods.values(), ...others])) {
      return curable("node(s) didn't have free ports for the requested pod ports")
    }
    const short = shortages(needs, place, others)
    if (short.length > 0)
      return { reasons: short.map(({ reason }) => reason), isCurable: !short.some(({ isHopeless }) => isHopeless) }
    return nearby(node)
  }
}

function curable(...reasons: readonly string[]): Misfit {
  return { reasons, isCurable: true }
}

function incurable(...reasons: readonly string[]): Misfit {
  return { reasons, isCurable: false }
}

const unschedulableTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

export function isTolerated(taint: Taint, tolerations: readonly Toleration[] | undefined): boolean {
  return (tolerations ?? []).some((toleration) => tolerates(toleration, taint))
}

export function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  if (operator === 'Exists') return true
  if (operator === 'Equal') return Boolean(key) && value === (taint.value ?? '')
  const [mine, theirs] = [Number(value), Number(taint.value)]
  if (!Number.isInteger(mine) || !Number.isInteger(theirs)) return false
  return operator === 'Gt' ? theirs > mine : operator === 'Lt' && theirs < mine
}

/** `nodeSelector` and required node affinity. */
export function matchesNode({ spec }: Pick<StoredPod, 'spec'>, node: Node): boolean {
  const { labels = {} } = node.metadata
  const isSelected = Object.entries(spec?.nodeSelector ?? {}).every(([name, value]) => labels[name] === value)
  if (!isSelected) return false
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return !required || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
}

export function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { metadata }: Node,
): boolean {
  // A term that says nothing means no node.
  if (matchExpressions.length === 0 && matchFields.length === 0) return false
  return (
    matchExpressions.every((one) => matchesRequirement(one, metadata.labels ?? {})) &&
    matchFields.every((one) => matchesRequirement(one, { 'metadata.name': metadata.name }))
  )
}

function matchesRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return Number(value) > Number(values[0])
    case 'Lt':
      return Number(value) < Number(values[0])
    default:
      return false
  }
}

export function hasPortConflict({ ports }: Needs, others: readonly StoredPod[]): boolean {
  return others.some((other) =>
    needsOf(other).ports.some((taken) =>
      ports.some(
        ({ protocol, ip, port }) =>
          port === taken.port &&
          protocol === taken.protocol &&
          (ip === taken.ip || ip === '0.0.0.0' || taken.ip === '0.0.0.0'),
      ),
    ),
  )
}

interface Shortage {
  readonly reason: string
  /** The node would be too small even if it were empty. */
  readonly isHopeless: boolean
}

function shortages({ requests }: Needs, place: RoomPlace, others: readonly StoredPod[]): readonly Shortage[] {
  const found: Shortage[] = []
  const most = place.allocatable.get('pods') ?? 0
  if (place.pods.size + others.length + 1 > most) found.push({ reason: 'Too many pods', isHopeless: most < 1 })
  for (const [name, amount] of requests) {
    if (amount === 0) continue
    const all = place.allocatable.get(name) ?? 0
    const promised = others.reduce((sum, other) => sum + (needsOf(other).requests.get(name) ?? 0), 0)
    const used = (place.used.get(name) ?? 0) + promised
    if (used + amount > all) found.push({ reason: `Insufficient ${name}`, isHopeless: amount > all })
  }
  return found
}

/** What other pods have to say. */
function neighbourhoodOf(cluster: SimulatedState, room: Room, pod: StoredPod): (node: Node) => Misfit | undefined {
  const { affinity, topologySpreadConstraints = [] } = pod.spec ?? {}
  const near = affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const far = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const spread = topologySpreadConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')
  const isFree = near.length + far.length + spread.length + room.guarded.size === 0
  if (isFree) return () => undefined
  const spreading = spread.map((constraint) => spreadOf(room, pod, constraint))
  const wanted = near.map((term) => ({ term, counts: countsOf(cluster, room, pod, term) }))
  const avoided = far.map((term) => ({ term, counts: countsOf(cluster, room, pod, term) }))
  const guards = guardsOf(cluster, room, pod)
  // The first of a group that wants company may start it.
  const isFirst = wanted.every(({ term, counts }) => counts.size === 0 && termMatches(cluster, term, pod, pod))
  return (node) => {
    const { labels = {} } = node.metadata
    if (spreading.some((fits) => !fits(node))) return curable("node(s) didn't match pod topology spread constraints")
    const isNear = wanted.every(({ term, counts }) => {
      const value = labels[term.topologyKey]
      return value !== undefined && (isFirst || (counts.get(value) ?? 0) > 0)
    })
    if (!isNear) return incurable("node(s) didn't match pod affinity rules")
    const isCrowded = avoided.some(({ term, counts }) => (counts.get(labels[term.topologyKey] ?? '') ?? 0) > 0)
    if (isCrowded) return curable("node(s) didn't match pod anti-affinity rules")
    const isKeptOff = guards.some(({ key, value }) => labels[key] === value)
    return isKeptOff ? curable("node(s) didn't satisfy existing pods anti-affinity rules") : undefined
  }
}

/** Whether `term`, which `owner` has, means `other`. */
function termMatches(cluster: SimulatedState, term: PodAffinityTerm, owner: StoredPod, other: StoredPod): boolean {
  const { namespaces = [], namespaceSelector, labelSelector } = term
  const { namespace = '', labels } = other.metadata
  const isHome = namespaces.length === 0 && !namespaceSelector && namespace === owner.metadata.namespace
  const isNamed = namespaces.includes(namespace)
  const isMeant = (): boolean =>
    namespaceSelector !== undefined &&
    matchLabels(labelsOf(namespaceSelector), cluster.get('namespaces', undefined, namespace)?.metadata.labels)
  return (isHome || isNamed || isMeant()) && matchLabels(labelsOf(labelSelector), labels)
}

/** How many pods the term means, by the value of its topology. */
function countsOf(
  cluster: SimulatedState,
  room: Room,
  pod: StoredPod,
  term: PodAffinityTerm,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { node, pods } of room.places()) {
    const value = node.metadata.labels?.[term.topologyKey]
    if (value === undefined) continue
    for (const other of pods.values()) {
      if (termMatches(cluster, term, pod, other)) counts.set(value, (counts.get(value) ?? 0) + 1)
    }
  }
  return counts
}

/** Where pods are that do not want this one near. */
function guardsOf(
  cluster: SimulatedState,
  room: Room,
  pod: StoredPod,
): readonly { readonly key: string; readonly value: string }[] {
  return [...room.guarded.values()].flatMap((guard) => {
    const labels = room.place(guard.spec?.nodeName ?? '')?.node.metadata.labels ?? {}
    const terms = guard.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    return terms
      .filter((term) => labels[term.topologyKey] !== undefined && termMatches(cluster, term, guard, pod))
      .map(({ topologyKey }) => ({ key: topologyKey, value: labels[topologyKey]! }))
  })
}

function spreadOf(room: Room, pod: StoredPod, constraint: TopologySpreadConstraint): (node: Node) => boolean {
  const { topologyKey, maxSkew, labelSelector, minDomains = 1 } = constraint
  const selector = labelsOf(labelSelector)
  const counts = new Map<string, number>()
  for (const { node, pods } of room.places()) {
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
