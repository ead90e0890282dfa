/**
 * The report of a manager: how it stands and what it just did, as plain JSON. `muster top`, `muster cost`, metrics and the
 * console all read this one structure. It holds names, numbers and words, and nothing that a Secret holds.
 */
import type { Cost, ProcessCost } from './cost.ts'
import type { LaneState } from '../schedule/scheduler.ts'
import type { RunOutcome } from '../../operator/ledger.ts'

export interface ManagerReport {
  /** Of this structure. Members are added under the same number; a reader ignores what it does not know. */
  readonly version: 1
  readonly at: number
  readonly since: number
  /** Which of several replicas it is, where that matters. */
  readonly replica?: string
  readonly isReady: boolean
  /** What is wrong, one line each. */
  readonly problems: readonly string[]
  readonly operators: readonly OperatorReport[]
  readonly feeds: readonly FeedSummary[]
  readonly leases: readonly LeaseReport[]
  /** Everything that is to be hosted, started or not. */
  readonly posts?: readonly PostReport[]
  readonly process: ProcessCost
  /** What else is in the process, and in its costs: `an embedded cluster`. */
  readonly beside?: string
}

export type OperatorState = 'standby' | 'paused' | 'working' | 'failing' | 'waiting' | 'idle'

export interface OperatorReport {
  readonly name: string
  readonly state: OperatorState
  /** CRs whose last run failed, as far as that is known. */
  readonly failing: number
  readonly waiting: number
  readonly running: number
  /** How long what is under way has taken. */
  readonly runningMs: { readonly all: number; readonly longest: number }
  /** To be run at a later time. */
  readonly later: number
  /** Runs at once, at most. */
  readonly places: number
  readonly heldBy: LaneState['heldBy']
  /** What it did and what failed, newest first. Runs that changed nothing are not among them. */
  readonly deeds: readonly Deed[]
  readonly findings: { readonly total: number; readonly latest: readonly FindingSummary[] }
  readonly cost: Cost
}

/** What a run came to. */
export interface Deed {
  readonly at: number
  /** Of the run, as logs have it. */
  readonly id?: string
  readonly controller: string
  /** `namespace/name` of the CR. */
  readonly key: string
  readonly outcome: RunOutcome
  /** `created deployment`, … */
  readonly done: readonly string[]
  /** What failed, or what it waits for. */
  readonly why?: string
  readonly tookMs: number
  /** The same came so often in a row. */
  readonly times: number
}

export interface FindingSummary {
  readonly at: number
  readonly kind: string
  readonly message: string
  readonly controller?: string
  /** The CR that it happened for. */
  readonly key?: string
  /** What is written again and again: `Deployment default/web`. */
  readonly object?: string
  /** Of that object. */
  readonly fields?: readonly string[]
  /** Who does the opposite: field managers. */
  readonly with?: readonly string[]
}

export interface FeedSummary {
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

export interface PostReport {
  /** As in `operators`, where it has been started. */
  readonly name: string
  /** `failed`: it cannot be started, and is tried again; `elsewhere`: it is another replica's. */
  readonly stand: 'starting' | 'standing' | 'ending' | 'failed' | 'elsewhere'
}

export interface LeaseReport {
  readonly name: string
  readonly isHeld: boolean
}

/** @returns undefined for anything that is no report this version can read */
export function readReport(value: unknown): ManagerReport | undefined {
  const isReport = typeof value === 'object' && value !== null && 'version' in value && value.version === 1
  return isReport && 'operators' in value && Array.isArray(value.operators) ? (value as ManagerReport) : undefined
}
