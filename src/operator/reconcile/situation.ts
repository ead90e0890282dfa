/**
 * The input and the result of a reconcile. Both are data: the same input and the same outcomes lead to the same
 * conclusion.
 */
import type { Clock } from '../../clock/clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ThreadMarks } from '../author-code.ts'
import type { Controller } from '../controller.ts'
import type { HeldObjects } from '../embedded/held-objects.ts'
import type { SettledEntry } from '../dependent/entry.ts'
import { type Failures, noFailures } from '../failure.ts'
import type { Ledger } from '../ledger.ts'
import type { Live } from '../live.ts'
import type { DecisionSource } from '../coordinator/decisions.ts'
import type { TaskResults } from '../task/task-results.ts'
import type { ReadView } from '../view/view.ts'

/** The input of a reconcile. */
export interface ReconcileSituation<CR extends KubeObject, Config = unknown> {
  readonly operator: string
  readonly controller: Controller<CR, Config>
  readonly cr: CR
  readonly view: ReadView
  readonly clock: Clock
  readonly config: Config
  readonly live: Live
  /** Live objects of any kind, for a controller that embeds some; absent without a cluster. */
  readonly held?: HeldObjects | undefined
  /** @default each task is worked out where it is asked for */
  readonly tasks?: TaskResults | undefined
  /** @default there are none: a reconcile that reads one is suspended */
  readonly decisions?: DecisionSource | undefined
  readonly memory: Memory
  readonly marks?: ThreadMarks | undefined
}

export interface Conclusion {
  readonly ledger: Ledger
  readonly memory: Memory
}

/** The memory of a CR between two reconciles. Losing it costs a request, never correctness. */
export interface Memory {
  readonly failures: Failures
  /** By subject. */
  readonly settled: ReadonlyMap<string, SettledEntry>
  /** Writes that the API server rejected with a terminal error, by subject: not repeated until something changes. */
  readonly refused: ReadonlyMap<string, Refused>
}

/** A rejected write, for that desired object, live object and CR. */
export interface Refused extends SettledEntry {
  readonly crVersion: string
  readonly error: unknown
}

export const noMemory: Memory = { failures: noFailures, settled: new Map(), refused: new Map() }
