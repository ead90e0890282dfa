/**
 * Drives a reconcile from its first wave to its conclusion: each wave is executed, and its outcomes are passed back.
 */
import type { KubeObject } from '../../kube/object.ts'
import { type Conclusion, reconcile, type Situation } from '../../operator/reconcile.ts'
import type { Execute } from './executor.ts'

/** Where a reconcile runs: in this thread, a worker or another process. */
export type RunReconcile = (situation: Situation<KubeObject>, execute: Execute) => Promise<Conclusion>

/** In this thread. */
export async function runReconcile<CR extends KubeObject>(
  situation: Situation<CR>,
  execute: Execute,
): Promise<Conclusion> {
  const walk = reconcile(situation)
  let step = await walk.next([])
  while (!step.done) step = await walk.next(await execute(step.value))
  return step.value
}
