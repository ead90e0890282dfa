/**
 * What the queue knows of a workload: what it asks for, who it is charged to, and its place in the order. Its id is the uid of the
 * object: two workloads of one name in different namespaces, or one after the other, are never mixed up.
 */
import type { PodGroup } from '../nodes/node-table.ts'
import type { QueueStop } from '../quota/quota-node.ts'

export interface QueuedWorkload {
  /** The uid. */
  readonly id: string
  /** The queue in which it has its place; its policies decide who may take whose place. */
  readonly queue: string
  /** The nodes of the quota trees that it is charged to, one of each tree; all of them must agree. @default its queue */
  readonly quotas?: readonly string[]
  readonly priority: number
  /** Priority gained for each second of waiting, if the queue's priority is dynamic. */
  readonly slope?: number
  /** Since when it waits: milliseconds. A workload that was evicted keeps its place. */
  readonly since: number
  readonly groups: readonly PodGroup[]
  /** It is not considered before this time: its own pause after a failure. */
  readonly notBefore?: number
  /** It is not considered at all. */
  readonly held?: boolean
  /** `Hold` starts nothing new, `HoldAndDrain` evicts what runs, too: of its queue, whatever level says so. */
  readonly stop?: QueueStop
  /** Whether it may be evicted for another workload. @default true */
  readonly preemptible?: boolean
  /** Since when it runs: milliseconds. */
  readonly startedAt?: number
  /** It is not evicted for another workload before it has run for so long. */
  readonly minimumRunMs?: number
  /** It is ended after this time: what is behind it may rely on that. */
  readonly limitMs?: number
  /** How long it is expected to run, if it has no limit. */
  readonly expectedMs?: number
}

/** When a running workload has ended at the latest, as far as it is declared. */
export function endOf({ startedAt, limitMs, expectedMs }: QueuedWorkload): number | undefined {
  const duration = limitMs ?? expectedMs
  return duration === undefined || startedAt === undefined ? undefined : startedAt + duration
}
