/** What the parts of one scale decision share: settings, the decisions so far, and what may still be added. */
import type { ScaledWorkload } from './node-demand.ts'
import type { PoolDraft, PoolRecord } from './node-pool.ts'
import type { NodeNeeds, PendingNodes } from './pool-choice.ts'

export interface ScaleSettings {
  /** Machines that all pools together may have been given by the scaler. */
  readonly maxScaleout: number
  /** How long a machine that no workload needs is kept. */
  readonly graceMs: number
  /** How long a machine may take to become ready. */
  readonly machineTimeoutMs: number
  /** How long a pool is left alone after a failure, or after a person took machines away; doubled for each failure in a row. */
  readonly coolDownMs: number
  /** How long it may take until the status of workloads shows what new nodes changed. */
  readonly settleMs: number
}

export interface PoolDecision {
  readonly replicas: number
  readonly record: PoolRecord
  /** Machines whose label or mark differs from what it should be, by name. */
  readonly machines: ReadonlyMap<string, MachineDecision>
  /** The pool was made for a workload and is empty: it goes. */
  readonly isObsolete: boolean
}

export interface MachineDecision {
  /** The workload that it is for; empty: none; undefined: it was not added by the scaler. */
  readonly owner: string | undefined
  /** It is deleted first. */
  readonly isMarked: boolean
}

/** A pool that is made for a workload, after a pattern. */
export interface NewPool {
  readonly pattern: string
  readonly instanceType: string | undefined
  readonly count: number
}

export type ScaleReason =
  | 'ScalingOut'
  | 'NodesReady'
  | 'SharesNodes'
  | 'MaxScaleoutReached'
  | 'ExceedsMaxScaleout'
  | 'PoolsUnavailable'
  | 'NoMatchingPool'
  | 'NoInstanceTypes'

export interface WorkloadDecision {
  readonly reason: ScaleReason
  readonly message: string
  readonly create: readonly NewPool[]
}

export interface Round {
  readonly workloads: ReadonlyMap<string, ScaledWorkload>
  readonly drafts: readonly PoolDraft[]
  readonly settings: ScaleSettings
  readonly now: number
  readonly pending: PendingNodes
  readonly needs: NodeNeeds
  readonly decided: Map<string, WorkloadDecision>
  /** Workloads that machines were added for. */
  readonly holders: ReadonlySet<string>
  /** There may be machines to hand over. */
  hasSpare: boolean
  /** Workloads for which enough nodes are being added. */
  readonly served: Set<string>
  /** Machines that may still be added. */
  budget: number
  /** The workload that waits for the budget: no later one gets any of it. */
  isBlocked: boolean
  again: number
}

/** Time alone changes the decision then. */
export function askAgain(round: Round, at: number): void {
  if (at > round.now) round.again = Math.min(round.again, at)
}
