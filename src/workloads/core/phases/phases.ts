/**
 * The life of an AppWrapper as data: its phase, what of the world it depends on, and what the queue decided. `phase-machine.ts`
 * says which phase comes next.
 */
import type { Toleration } from '../../../kube/types/core/v1.ts'
import type { PhaseSettings } from './phase-settings.ts'
import type { Requeuing, RequeuingState } from './requeuing.ts'

/**
 * - `Suspended`: waits in the queue.
 * - `Resuming`: it was dispatched, and its objects are being created.
 * - `Running`: all of them exist.
 * - `Resetting`: they are deleted, to be created again; the quota is kept.
 * - `Suspending`: they are deleted, and it goes back to the queue.
 * - `Succeeded`, `Failed`: the end.
 */
export type Phase = 'Suspended' | 'Resuming' | 'Running' | 'Resetting' | 'Suspending' | 'Succeeded' | 'Failed'

/** Why something is as it is: for a condition. */
export interface Reason {
  readonly reason: string
  readonly message: string
}

/** Where the pods of a group go, by the quota that they are charged to. */
export interface GroupPlacement {
  /** By resource. */
  readonly flavors: Readonly<Record<string, string>>
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly tolerations?: readonly Toleration[] | undefined
}

/** What is stored between two looks. Times are milliseconds since the epoch. */
export interface Life {
  readonly phase: Phase
  readonly since: number
  /** Why it is in this phase; while it waits, why it does. */
  readonly why: Reason
  /** Its quota and its place on the nodes are taken. */
  readonly isReserved: boolean
  /** Objects or pods of it may exist. */
  readonly isDeployed: boolean
  /** Since when they are there, or about to be. */
  readonly deployedAt?: number | undefined
  readonly firstDispatchAt?: number | undefined
  /** Since when they are being deleted. */
  readonly deletingSince?: number | undefined
  readonly unhealthy?: (Reason & { readonly since: number }) | undefined
  /** Whether enough pods run, since when. */
  readonly pods?: { readonly areReady: boolean; readonly since: number; readonly message: string } | undefined
  /** All items that are to complete have done so, while pods still run. */
  readonly isHolding: boolean
  readonly retries: number
  readonly requeuing?: RequeuingState | undefined
  /** By group of pods, as the queue decided; none without flavors. */
  readonly placements?: readonly GroupPlacement[] | undefined
}

export const newLife = (now: number): Life => ({
  phase: 'Suspended',
  since: now,
  why: { reason: 'Created', message: 'It is new.' },
  isReserved: false,
  isDeployed: false,
  isHolding: false,
  retries: 0,
})

/** What a person asks for. */
export interface PhaseWishes {
  readonly isSuspended: boolean
  /**
   * `reset`: pods that fail or do not start in time lead to a reset, a few times. `requeue`: fewer pods than `minAvailable` lead
   * back to the queue, and an item is complete when one of its conditions says so.
   */
  readonly lifeCycle: 'reset' | 'requeue'
  readonly expectedPods: number
  /** With `requeue`; 0: pods are not watched. */
  readonly minAvailable: number
  readonly requeuing: Requeuing
  /** How long it may take from its first dispatch to its end: seconds. */
  readonly limitSeconds?: number | undefined
}

/** What exists of one wrapped object. */
export interface WrappedState {
  /** `Job batch/v1 train`: for messages. */
  readonly subject: string
  readonly exists: boolean
  readonly isLeaving: boolean
  /** Why it could not be created. */
  readonly problem?: { readonly message: string; readonly isFatal: boolean } | undefined
  /** It reports that it has failed. */
  readonly failure?: string | undefined
  /** Whether it is complete; undefined for one that never is, such as a Service. */
  readonly isComplete?: boolean | undefined
}

export interface PodCounts {
  readonly pending: number
  readonly running: number
  readonly succeeded: number
  readonly failed: number
  /** Of terminated containers of failed pods. */
  readonly exitCodes: readonly number[]
  /** What the scheduler says about a pod that fits nowhere. */
  readonly unschedulable?: string | undefined
  /** A pod runs where a resource that it uses is broken: `Pod a uses nvidia.com/gpu of node b`. */
  readonly onSickNode?: string | undefined
}

export const noPods: PodCounts = { pending: 0, running: 0, succeeded: 0, failed: 0, exitCodes: [] }

/** What the queue decided. */
export type QueueDecision =
  | { readonly what: 'start'; readonly placements?: readonly GroupPlacement[] | undefined }
  | ({ readonly what: 'wait' } & Reason)
  | ({ readonly what: 'evict' } & Reason)

export interface PhaseInput {
  readonly wishes: PhaseWishes
  readonly settings: PhaseSettings
  readonly objects: readonly WrappedState[]
  readonly pods: PodCounts
  /** Objects or pods of it are there, also those that are being deleted. */
  readonly hasLeftovers: boolean
  readonly decision: QueueDecision | undefined
  readonly now: number
}

/** What is to happen to the objects, by the stored life. */
export type Intent =
  | { readonly what: 'nothing' }
  /** Creates those that are missing. */
  | { readonly what: 'create' }
  /** Watches them; one that is missing stays so. */
  | { readonly what: 'watch' }
  /** Deletes them; by force what should be gone: first pods, then objects. */
  | { readonly what: 'delete'; readonly isForced: boolean }
