/**
 * What of a pod decides where it can run: its requests, and which nodes accept it. Pods of one shape are judged once.
 *
 * Affinity to other pods and topology spread are not part of it: the scheduler of the cluster judges them, and a pod that it
 * cannot place is noticed as one that is not ready.
 */
import type { NodeSelector, PodSpec, Toleration } from '../../../kube/types/core/v1.ts'
import { needsOf, type ResourceAmounts } from '../../../kube/scheduling/pod-needs.ts'

export interface PodShape {
  /** Equal for pods that fit the same nodes equally often. */
  readonly key: string
  /** CPU in thousandths, all else in whole units; zero requests are left out, and each pod takes one of `pods`. */
  readonly requests: ResourceAmounts
  /** What the node has to accept. */
  readonly constraints: NodeConstraints
  /** Pods of this shape on one node at most: 1 for those that take a port of the host. */
  readonly perNode: number
}

export interface NodeConstraints {
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly nodeAffinity?: NodeSelector
  readonly tolerations?: readonly Toleration[]
}

export function podShapeOf(spec: PodSpec): PodShape {
  const { requests, ports } = needsOf({ spec })
  const amounts = [...requests].filter(([, amount]) => amount > 0)
  const nodeAffinity = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return makePodShape(
    new Map(amounts),
    {
      ...(Object.keys(spec.nodeSelector ?? {}).length > 0 && { nodeSelector: spec.nodeSelector }),
      ...(nodeAffinity && { nodeAffinity }),
      ...(spec.tolerations?.length && { tolerations: spec.tolerations }),
    },
    ports.length > 0 ? 1 : Infinity,
  )
}

export function makePodShape(
  requests: ResourceAmounts,
  constraints: NodeConstraints = {},
  perNode: number = Infinity,
): PodShape {
  const all = new Map(requests).set('pods', 1)
  const { nodeSelector = {}, nodeAffinity, tolerations } = constraints
  const key = JSON.stringify([
    byName(all),
    byName(Object.entries(nodeSelector)),
    nodeAffinity,
    tolerations,
    perNode === 1,
  ])
  return { key, requests: all, constraints, perNode }
}

function byName<Value>(entries: Iterable<readonly [string, Value]>): readonly (readonly [string, Value])[] {
  return [...entries].toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))
}
