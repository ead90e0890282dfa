/** Whether a node accepts a pod by its taints, labels and host ports, whatever capacity it has left. */
import type { Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration } from '../types/core/v1.ts'
import { needsOf, type PodNeeds } from './pod-needs.ts'

/** What of a node decides. */
export type CandidateNode = Pick<Node, 'spec'> & {
  readonly metadata: { readonly name?: string; readonly labels?: Readonly<Record<string, string>> }
}

type PodWithSpec = { readonly spec?: PodSpec }

const unschedulableTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
const repelling: ReadonlySet<string> = new Set(['NoSchedule', 'NoExecute'])

/** Why a node does not accept a pod, in the scheduler's words; undefined if it does. */
export function mismatchOf(pod: PodWithSpec, node: CandidateNode): string | undefined {
  const tolerations = pod.spec?.tolerations
  if (node.spec?.unschedulable && !isTolerated(unschedulableTaint, tolerations)) return 'node(s) were unschedulable'
  const isRepelled = (node.spec?.taints ?? []).some(
    (taint) => repelling.has(taint.effect) && !isTolerated(taint, tolerations),
  )
  if (isRepelled) return 'node(s) had untolerated taint(s)'
  return matchesNode(pod, node) ? undefined : "node(s) didn't match Pod's node affinity/selector"
}

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
export function matchesNode({ spec }: PodWithSpec, node: CandidateNode): boolean {
  const { labels = {} } = node.metadata
  const isSelected = Object.entries(spec?.nodeSelector ?? {}).every(([name, value]) => labels[name] === value)
  if (!isSelected) return false
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return !required || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
}

export function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  { metadata }: CandidateNode,
): boolean {
  // An empty term matches no node.
  if (matchExpressions.length === 0 && matchFields.length === 0) return false
  return (
    matchExpressions.every((one) => matchesRequirement(one, metadata.labels ?? {})) &&
    matchFields.every((one) => matchesRequirement(one, { 'metadata.name': metadata.name ?? '' }))
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

export function hasPortConflict({ ports }: PodNeeds, others: readonly PodWithSpec[]): boolean {
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
