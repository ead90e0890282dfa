/**
 * The input and the result of a reconcile. Both are data: the same input and the same outcomes lead to the same
 * conclusion.
 */
import type { Clock } from '../../clock/clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Recall } from '../../kube/recall.ts'
import type { ThreadMarks } from '../author-code.ts'
import type { Controller } from '../controller.ts'
import type { SettledEntry } from '../entry.ts'
import { type Failures, noFailures } from '../failure.ts'
import type { Ledger } from '../ledger.ts'
import type { Live } from '../live.ts'
import type { View } from '../view.ts'

/** The input of a reconcile. */
export interface ReconcileSituation<CR extends KubeObject, Config = unknown> {
  readonly operator: string
  readonly controller: Controller<CR, Config>
  readonly cr: CR
  readonly view: View
  readonly clock: Clock
  readonly config: Config
  readonly live: Live
  readonly memory: Memory
  readonly marks?: ThreadMarks
  /** A memo of pure computations, shared between CRs and processes of a simulation. @default none */
  readonly recall?: Recall
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
