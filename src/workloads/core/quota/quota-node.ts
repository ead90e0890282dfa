/**
 * A node of a quota tree: how much it has of each resource, in which flavors, and who may take whose place in it.
 *
 * The same node is a ClusterQueue or a Cohort of Kueue, or a node of a QuotaSubtree. Nodes without a common ancestor are different
 * trees; all trees together are the forest.
 */
import type { Taint, Toleration } from '../../../kube/types/core/v1.ts'

export interface QuotaLimit {
  /** May be negative where the children of a node promise more than it has. */
  readonly nominal: number
  /** Beyond the nominal quota, from ancestors. Without it there is no limit; a hard limit is 0. */
  readonly borrowing?: number
  /** Of the nominal quota, to others. Without it all is lent. */
  readonly lending?: number
}

/** Quota of certain nodes of the cluster: pods that are charged to it go there. */
export interface FlavorQuota {
  /** Empty for quota that does not distinguish nodes. */
  readonly name: string
  readonly limits: ReadonlyMap<string, QuotaLimit>
  readonly nodeLabels: Readonly<Record<string, string>>
  /** Pods need to tolerate these. */
  readonly nodeTaints: readonly Taint[]
  /** Given to the pods: taints of the nodes that do not keep workloads away from the quota. */
  readonly tolerations?: readonly Toleration[]
}

/** Resources that are taken from one flavor together. */
export interface FlavorGroup {
  readonly resources: readonly string[]
  /** In the order in which they are tried. */
  readonly flavors: readonly FlavorQuota[]
}

export type QueueStop = 'None' | 'Hold' | 'HoldAndDrain'

/** Who may take whose place. */
export interface QueuePolicies {
  /** Whether a workload that does not fit holds back all behind it, or only its like. */
  readonly strategy: 'StrictFIFO' | 'BestEffortFIFO'
  /** Which running workloads of the same queue a waiting one may evict. */
  readonly withinQueue: 'Never' | 'LowerPriority' | 'LowerOrNewerEqualPriority'
  /** Which borrowers of other queues may be evicted for quota that is the queue's own. */
  readonly reclaim: 'Never' | 'LowerPriority' | 'Any'
  /** Which borrowers of other queues may be evicted by a workload that borrows itself. */
  readonly whileBorrowing: { readonly policy: 'Never' | 'LowerPriority'; readonly highestPriority?: number }
  /** Whether the next flavor is tried before this one is borrowed for, or preempted in. */
  readonly whenCanBorrow: 'MayStopSearch' | 'TryNextFlavor'
  readonly whenCanPreempt: 'MayStopSearch' | 'TryNextFlavor'
  /** Of its share, where shares are fair; 0 borrows last. */
  readonly weight: number
}

export interface QuotaNode {
  readonly name: string
  readonly parent?: string
  /** Quota that does not distinguish nodes. */
  readonly limits?: ReadonlyMap<string, QuotaLimit>
  /** Quota by flavor. Each resource is in one group. */
  readonly groups?: readonly FlavorGroup[]
  /** What the node does with a resource that it does not list. @default refused */
  readonly otherResources?: 'unlimited' | 'refused'
  readonly policies?: Partial<QueuePolicies>
  readonly stop?: QueueStop
}

/** As Kueue has it where an object says nothing. */
export const queueDefaults: QueuePolicies = {
  strategy: 'BestEffortFIFO',
  withinQueue: 'Never',
  reclaim: 'Never',
  whileBorrowing: { policy: 'Never' },
  whenCanBorrow: 'MayStopSearch',
  whenCanPreempt: 'TryNextFlavor',
  weight: 1,
}

/** The name under which the quota of a flavor is counted. */
export function quotaKey(flavor: string, resource: string): string {
  return flavor === '' ? resource : `${flavor}:${resource}`
}
