/** CRGetter: is the CR to be served, or to be taken leave of? */
import { hold, isHeld } from './finalizers.ts'
import type { ReconcileRun, Waves } from './run.ts'

export function getCr(run: ReconcileRun): Waves | undefined {
  run.isFinalizing = run.cr.metadata.deletionTimestamp !== undefined
  if (run.isFinalizing) run.isGone = !isHeld(run)
  // Before anything has an effect, the finalizer is there: whatever happens then, the end will be heard of.
  else if (run.situation.controller.finalizes && !isHeld(run)) return hold(run)
  return undefined
}
