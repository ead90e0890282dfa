/**
 * A pool: a node of a quota tree as an object declares it, be it a node of a QuotaSubtree, a ClusterQueue or a Cohort. Its name is unique
 * in the forest: `tree/quota_context/gold`, `queue/team-a`, `cohort/all`. All of its quota is in groups; a workload takes one flavor
 * of each.
 */
import type { QueuePolicies, FlavorGroup, QuotaNode } from '../core/quota/quota-node.ts'

export interface QuotaPool extends QuotaNode {
  readonly groups: readonly FlavorGroup[]
  /** The trees of MCAD do not limit what no node of them lists; a ClusterQueue has none of it, and refuses the workload. */
  readonly otherResources: 'unlimited' | 'refused'
  readonly policies: QueuePolicies
}
