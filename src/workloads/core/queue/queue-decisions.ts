/** What the queue decides, and how it says why a workload waits. */
import type { NodeAssignment, Shortage } from '../nodes/node-table.ts'
import type { QueuedWorkload } from './queued-workload.ts'

export interface QueueDecisions {
  /** Workloads that start now, in order. They count as running from here on. */
  readonly starts: readonly WorkloadStart[]
  /** Running workloads that have to leave. They keep what they have until they are removed. */
  readonly evictions: readonly WorkloadEviction[]
  /** Ask again at this time, though nothing changes: milliseconds. */
  readonly again?: number
}

export interface WorkloadStart {
  readonly workload: QueuedWorkload
  /** Reserved until its pods are there. */
  readonly assignments: readonly NodeAssignment[]
  /** By pod group: the flavor of each resource, if its quota has flavors. */
  readonly flavors: readonly ReadonlyMap<string, string>[]
}

export interface WorkloadEviction {
  readonly id: string
  readonly reason: EvictionReason
  /** The workload that it makes room for; a stopped queue makes room for none. */
  readonly by?: string
}

/** `Preempted` by a workload of its own queue or for its nodes, `ReclaimedQuota` as a borrower, `QueueStopped` by its queue. */
export type EvictionReason = 'Preempted' | 'ReclaimedQuota' | 'FairSharing' | 'QueueStopped'

/** Why a workload waits. */
export type WaitReason =
  | { readonly kind: 'Held' }
  | { readonly kind: 'BackingOff'; readonly until: number }
  | { readonly kind: 'QueueStopped'; readonly queue: string }
  | { readonly kind: 'UnknownQueue'; readonly queue: string }
  /** No flavor of its queue has nodes that accept its pods. */
  | { readonly kind: 'NoFlavor'; readonly queue: string; readonly group: number }
  | ({ readonly kind: 'InsufficientQuota'; readonly queue: string; readonly flavor?: string } & Shortage)
  | ({
      readonly kind: 'InsufficientNodes'
      readonly group: number
      readonly room: number
      readonly pods: number
    } & Shortage)
  /** Each group alone would fit, all together do not. */
  | { readonly kind: 'InsufficientNodesTogether' }
  /** Room is being made for it: so many workloads have yet to leave. */
  | { readonly kind: 'Preempting'; readonly victims: number }
  /** Room is kept for it: so many workloads have to end, at the latest at this time if it is declared. */
  | { readonly kind: 'AwaitingEnds'; readonly running: number; readonly at?: number }
  /** It would fit, but the room is kept for a workload ahead of it. */
  | { readonly kind: 'Reserved'; readonly by: string }
  /** Its queue is strict, and the first one does not fit. */
  | { readonly kind: 'BehindHead'; readonly head: string }
