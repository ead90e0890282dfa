/**
 * The report of a manager: its state and recent activity, as plain JSON. `muster top`, `muster cost`, metrics and the
 * console all read this one structure. It contains names, numbers and messages, and no values of Secrets.
 */
import type { Cost, ProcessCost } from './cost.ts'
import type { LaneState } from '../schedule/lane.ts'
import type { RunOutcome } from '../../operator/ledger.ts'

export interface ManagerReport {
  /** Version of this structure. Members may be added without a new version; readers ignore unknown ones. */
  readonly version: 1
  readonly at: number
  readonly since: number
  /** The replica, where there are several. */
  readonly replica?: string
  readonly isReady: boolean
  /** Problems, one line each. */
  readonly problems: readonly string[]
  readonly operators: readonly OperatorReport[]
  readonly informers: readonly InformerSummary[]
  readonly leases: readonly LeaseReport[]
  /** All assignments, started or not. */
  readonly assignments?: readonly AssignmentReport[]
  readonly process: ProcessCost
  readonly configuration?: ConfigurationReport
  /** What else runs in this process, and counts in its cost. */
  readonly coLocated?: CoLocatedWorkload
}

export interface CoLocatedWorkload {
  /** `an embedded cluster` */
  readonly name: string
  /** Its memory when the manager started; comparisons leave it out. */
  readonly bytes: number
}

/** As `metav1.Condition`: `Reconfigured` is False while the latest configuration is rejected or needs a restart. */
export interface ManagerCondition {
  readonly type: 'Reconfigured'
  readonly status: 'True' | 'False'
  readonly reason: 'InForce' | 'Rejected' | 'RestartRequired'
  /** What is wrong and what happens meanwhile; where the configuration comes from. */
  readonly message: string
  readonly lastTransitionTime: string
}

export type OperatorState = 'standby' | 'paused' | 'working' | 'failing' | 'waiting' | 'idle'

export interface OperatorReport {
  readonly name: string
  readonly state: OperatorState
  /** What it reconciles. Empty for an external program, whose kinds are its own affair. */
  readonly controllers?: readonly ControllerSummary[]
  /** CRs whose last reconcile failed, as far as known. */
  readonly failing: number
  readonly waiting: number
  readonly running: number
  /** How long the reconciles in progress have taken. */
  readonly runningMs: { readonly all: number; readonly longest: number }
  /** Keys that are due later. */
  readonly later: number
  /** The operator's concurrency. */
  readonly concurrency: number
  readonly heldBy: LaneState['heldBy']
  /** Recent reconciles that changed something or failed, newest first. */
  readonly recentRuns: readonly RunSummary[]
  readonly findings: { readonly total: number; readonly latest: readonly FindingSummary[] }
  readonly cost: Cost
}

/** A controller, and the kind of its CRs. */
export interface ControllerSummary {
  /** As in `RunSummary` and `FindingSummary`. */
  readonly name: string
  readonly group: string
  readonly kind: string
  /** The key of the label of the objects that its CRs embed: the Installations of a Platform. */
  readonly embeds?: string
}

/** The result of a reconcile. */
export interface RunSummary {
  readonly at: number
  /** The id of the reconcile, as in logs. */
  readonly id?: string
  readonly controller: string
  /** `namespace/name` of the CR. */
  readonly key: string
  readonly outcome: RunOutcome
  /** `created deployment`, … */
  readonly done: readonly string[]
  /** The error, or what it waits for. */
  readonly why?: string
  readonly tookMs: number
  /** Number of equal results in a row. */
  readonly times: number
}

export interface FindingSummary {
  readonly at: number
  readonly kind: string
  readonly message: string
  readonly controller?: string
  /** The CR it is about. */
  readonly key?: string
  /** The object that is written repeatedly: `Deployment default/web`. */
  readonly object?: string
  /** Fields of that object. */
  readonly fields?: readonly string[]
  /** The other field managers. */
  readonly with?: readonly string[]
}

export interface InformerSummary {
  /** `deployments.apps/v1` */
  readonly resource: string
  readonly state: string
  readonly since: number
  readonly reason?: string
  readonly watches: number
  readonly objects: number
  readonly bytes: number
  readonly consumers: number
}

export interface AssignmentReport {
  /** As in `operators`, once it is started. */
  readonly name: string
  /** `failed`: its start failed and is retried; `elsewhere`: another replica runs it. */
  readonly state: 'starting' | 'active' | 'stopping' | 'failed' | 'elsewhere'
}

export interface ConfigurationReport {
  /** The file or ConfigMap: `muster.yaml`, `ConfigMap muster/config`. */
  readonly source: string
  /** When the configuration in force was read. */
  readonly readAt: number
  /** Whether the latest content of the file or ConfigMap is in force. */
  readonly condition: ManagerCondition
}

export interface LeaseReport {
  readonly name: string
  readonly isHeld: boolean
}

/** @returns undefined for anything that is not a report of a supported version */
export function readReport(value: unknown): ManagerReport | undefined {
  const isReport = typeof value === 'object' && value !== null && 'version' in value && value.version === 1
  return isReport && 'operators' in value && Array.isArray(value.operators) ? (value as ManagerReport) : undefined
}
