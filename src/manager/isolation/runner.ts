/**
 * A runner: where the code of one operator runs. There are three levels, chosen by one setting; code and behaviour are
 * the same:
 *
 * - `inline`: in this thread. For trusted code: reads the shared caches by reference, has no overhead, may block all
 *   operators.
 * - `worker`: in a thread of its own, with a memory limit and without files, network or programs. For code that may be
 *   careless.
 * - `process`: in a process of its own, in namespaces of its own. For code that may be hostile.
 *
 * At every level an operator reads through a view, writes through waves and has no connection; at `worker` and
 * `process` it has no access to the manager's environment and credentials.
 */
import type { KubeObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import type { Execute } from '../run/executor.ts'

export type IsolationLevel = 'inline' | 'worker' | 'process'

export interface Runner {
  readonly level: IsolationLevel
  /** Its declarations. At the levels `worker` and `process` they come from the guest: the code never runs here. */
  readonly operator: Operator
  /** Runs one reconcile. A guest that exits, blocks or breaks the rules concludes it as failed, with a requeue. */
  run(this: void, situation: Situation<KubeObject>, execute: Execute): Promise<Conclusion>
  /** Kills the operator. Reconciles in progress fail. */
  close(): Promise<void>
}
