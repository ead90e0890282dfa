/**
 * A runner: where the code of one operator runs. There are three levels, chosen by one setting; the code is the same, and
 * so is what comes of it:
 *
 * - `inline`: in this thread. Trusted: reads the shared caches by reference, costs nothing, may block everybody.
 * - `worker`: in a thread of its own, with a memory limit and without files, network or programs. For code that may be
 *   careless.
 * - `process`: in a process of its own, in namespaces of its own. For code that may be hostile.
 *
 * Whatever the level, an operator reads by a view, wants by waves and holds no connection; nothing of the manager's
 * environment or credentials is in reach of the other two.
 */
import type { KubeObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import type { Execute } from '../run/executor.ts'

export type IsolationLevel = 'inline' | 'worker' | 'process'

export interface Runner {
  readonly level: IsolationLevel
  /** What it declares. At the levels `worker` and `process` it is known from hearsay: its code never runs here. */
  readonly operator: Operator
  /**
   * Runs one reconcile to its end. An operator that breaks off, blocks or breaks the rules is a conclusion, too: one that
   * failed, and says when to try again.
   */
  run(this: void, situation: Situation<KubeObject>, execute: Execute): Promise<Conclusion>
  /** Ends the operator, whatever it is doing. Reconciles under way fail. */
  close(): Promise<void>
}
