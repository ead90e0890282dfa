/**
 * Quota as the queue counts it, wherever it is declared: pools that lend to and borrow from each other. A pool is a node of a
 * QuotaSubtree, a ClusterQueue or a Cohort.
 */
import type { NodeLabels, NodeTaint } from './resource-flavor.ts'
import type { QuotaLimit } from '../core/quota-tree.ts'

export interface QuotaPool {
  /** Unique in the forest: `tree/quota_context/gold`, `queue/team-a`, `cohort/all`. */
  readonly name: string
  readonly parent?: string
  /** Each resource is in one group. A workload takes one flavor of each group. */
  readonly groups: readonly QuotaGroup[]
  /**
   * What the pool does with a resource that no group has. The trees of MCAD do not limit it; a ClusterQueue has none of it, and
   * refuses the workload.
   */
  readonly otherResources: 'unlimited' | 'refused'
  readonly policies: QuotaPolicies
}

export interface QuotaGroup {
  readonly resources: readonly string[]
  /** In the order in which they are tried. */
  readonly flavors: readonly QuotaFlavor[]
}

export interface QuotaFlavor {
  /** Empty for quota that does not distinguish nodes. */
  readonly name: string
  readonly limits: ReadonlyMap<string, QuotaLimit>
  /** Pods that are charged to it go to nodes with these labels. */
  readonly nodeLabels: NodeLabels
  /** Pods need to tolerate these. */
  readonly nodeTaints: readonly NodeTaint[]
}

/** Who may take whose place. */
export interface QuotaPolicies {
  /** Whether a workload that does not fit holds back all behind it, or only its like. */
  readonly strategy: 'StrictFIFO' | 'BestEffortFIFO'
  /** Which running workloads of the same queue a waiting one may evict. */
  readonly withinQueue: 'Never' | 'LowerPriority' | 'LowerOrNewerEqualPriority'
  /** Which borrowers of other queues may be evicted for quota that is the queue's own. */
  readonly reclaim: 'Never' | 'LowerPriority' | 'Any'
  /** Which workloads of other queues may be evicted by one that borrows itself. */
  readonly whileBorrowing: { readonly policy: 'Never' | 'LowerPriority'; readonly highestPriority?: number }
  /** Whether the next flavor is tried before this one is borrowed for, or preempted in. */
  readonly whenCanBorrow: 'MayStopSearch' | 'TryNextFlavor'
  readonly whenCanPreempt: 'MayStopSearch' | 'TryNextFlavor'
  /** Of its share, where shares are fair; 0 borrows last. */
  readonly weight: number
}

/** As Kueue has it where an object says nothing. */
export const defaultPolicies: QuotaPolicies = {
  strategy: 'BestEffortFIFO',
  withinQueue: 'Never',
  reclaim: 'Never',
  whileBorrowing: { policy: 'Never' },
  whenCanBorrow: 'MayStopSearch',
  whenCanPreempt: 'TryNextFlavor',
  weight: 1,
}
