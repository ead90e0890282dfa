/**
 * Pods as the queue counts them. Pods of an AppWrapper belong to it: where they are and which are still to come is reported for the
 * AppWrapper as a whole. All other pods take their part of a node by themselves.
 */
import { needsOf, type ResourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import type { Pod } from '../../kube/kinds.ts'
import type { NodeAssignment, NodeTable, PodGroup } from '../core/nodes/node-table.ts'
import { makePodShape, type PodShape } from '../core/pods/pod-shape.ts'
import { uidLabel } from './labels.ts'

/** A pod on a node; one that has ended takes nothing there any more. */
interface KnownPod {
  readonly node: string
  readonly requests: ResourceAmounts
  /** The uid of its AppWrapper. */
  readonly owner: string | undefined
  readonly hasEnded: boolean
}

/** Of one AppWrapper. */
interface OwnPods {
  readonly placed: readonly NodeAssignment[]
  /** Pods that are still to come. */
  readonly pending: readonly PodGroup[]
}

export interface QueuePods {
  /** Takes in a change; returns the AppWrapper that it concerns. */
  take(uid: string, pod: Pod | undefined): string | undefined
  of(owner: string, groups: readonly PodGroup[]): OwnPods
  /** Whether the AppWrapper is known to the queue: then its pods are counted with it, otherwise each by itself. */
  setKnown(owner: string, isKnown: boolean): void
}

export function createQueuePods(nodes: Pick<NodeTable, 'take'>): QueuePods {
  const pods = new Map<string, KnownPod>()
  const byOwner = new Map<string, Set<string>>()
  const owners = new Set<string>()

  const count = ({ node, requests, hasEnded }: KnownPod, factor: 1 | -1): void => {
    if (!hasEnded) nodes.take(node, requests, factor)
  }
  const isOwned = ({ owner }: KnownPod): boolean => owner !== undefined && owners.has(owner)

  return {
    take(uid, pod) {
      const before = pods.get(uid)
      const now = pod && knownPod(pod)
      if (before && now && before.hasEnded === now.hasEnded && before.owner === now.owner) return undefined
      if (before) {
        pods.delete(uid)
        if (!isOwned(before)) count(before, -1)
        if (before.owner !== undefined) forget(byOwner, before.owner, uid)
      }
      if (now) {
        pods.set(uid, now)
        if (!isOwned(now)) count(now, 1)
        if (now.owner !== undefined) byOwner.set(now.owner, (byOwner.get(now.owner) ?? new Set()).add(uid))
      }
      return now?.owner ?? before?.owner
    },
    of(owner, groups) {
      const left = groups.map((group) => ({ group, count: group.count }))
      const placed: NodeAssignment[] = []
      for (const uid of byOwner.get(owner) ?? []) {
        const { node, requests, hasEnded } = pods.get(uid)!
        const match = left.find(({ group, count: open }) => open > 0 && hasRequests(group.shape, requests))
        if (match) match.count--
        if (!hasEnded) placed.push({ node, shape: match?.group.shape ?? makePodShape(requests), count: 1 })
      }
      const pending = left.flatMap(({ group, count: open }) => (open > 0 ? [{ shape: group.shape, count: open }] : []))
      return { placed, pending }
    },
    setKnown(owner, isKnown) {
      if (owners.has(owner) === isKnown) return
      if (isKnown) owners.add(owner)
      else owners.delete(owner)
      for (const uid of byOwner.get(owner) ?? []) count(pods.get(uid)!, isKnown ? -1 : 1)
    },
  }
}

function forget(index: Map<string, Set<string>>, owner: string, uid: string): void {
  const own = index.get(owner)
  own?.delete(uid)
  if (own?.size === 0) index.delete(owner)
}

/** Undefined for a pod without a node. */
function knownPod({ metadata, spec, status }: Pod): KnownPod | undefined {
  if (!spec?.nodeName) return undefined
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  const requests = new Map([...needsOf({ spec }).requests].filter(([, amount]) => amount > 0)).set('pods', 1)
  return { node: spec.nodeName, requests, owner: metadata.labels?.[uidLabel], hasEnded }
}

/** The shape of its template: admission adds tolerations and the like to pods, requests stay. */
function hasRequests({ requests }: PodShape, own: ResourceAmounts): boolean {
  if (requests.size !== own.size) return false
  for (const [name, amount] of requests) if (own.get(name) !== amount) return false
  return true
}
