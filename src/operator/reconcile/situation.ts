/**
 * What a reconcile is a function of, and what it comes to. Both are data: the same situation, told the same outcomes,
 * comes to the same conclusion.
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

/** All that a reconcile is a function of. */
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
  /** What was worked out before, for this CR or another one, in this life or an earlier one. @default nothing */
  readonly recall?: Recall
}

export interface Conclusion {
  readonly ledger: Ledger
  readonly memory: Memory
}

/** What is remembered of a CR between two reconciles. Losing it costs a request, never a mistake. */
export interface Memory {
  readonly failures: Failures
  /** By subject. */
  readonly settled: ReadonlyMap<string, SettledEntry>
  /** What a server refused for good, by subject: it is not asked again before something is different. */
  readonly refused: ReadonlyMap<string, Refused>
}

/** A wish that was refused, for that object and that CR. */
export interface Refused extends SettledEntry {
  readonly crVersion: string
  readonly error: unknown
}

export const noMemory: Memory = { failures: noFailures, settled: new Map(), refused: new Map() }
