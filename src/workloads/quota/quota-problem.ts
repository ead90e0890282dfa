/**
 * What is wrong with an object of quota. A problem takes effect on the smallest part that it concerns: an amount, a node, a queue;
 * all else goes on.
 */

export type QuotaProblemReason =
  /** It is not a quantity, or negative; it counts as zero. */
  | 'InvalidAmount'
  /** A field has the wrong form, and counts as left out. */
  | 'InvalidField'
  /** A field that is read elsewhere and has no effect here. */
  | 'IgnoredField'
  /** A QuotaSubtree without the label `tree`. */
  | 'MissingTree'
  /** Two objects define one node, or one resource twice; the older counts. */
  | 'Duplicate'
  /** A node whose parent, or an ancestor, is not defined. */
  | 'UnknownParent'
  /** A node that is its own ancestor. */
  | 'Cycle'
  /** A ClusterQueue names a ResourceFlavor that does not exist. */
  | 'UnknownFlavor'
  /** A LocalQueue names a ClusterQueue that does not exist. */
  | 'UnknownQueue'

export interface QuotaProblem {
  /** `QuotaSubtree team/gold`. */
  readonly object: string
  /** `spec.children[2].quotas.requests.cpu`. */
  readonly field: string
  readonly reason: QuotaProblemReason
  readonly message: string
}
