/** CRGetter: is the CR reconciled, finalized, or gone? */
import { addFinalizer, hasOwnFinalizer } from './finalizers.ts'
import type { ReconcileRun, Waves } from './run.ts'

export function getCr(run: ReconcileRun): Waves | undefined {
  run.isFinalizing = run.cr.metadata.deletionTimestamp !== undefined
  if (run.isFinalizing) run.isGone = !hasOwnFinalizer(run)
  // The finalizer is added before the first effect: otherwise the CR could disappear without a clean-up.
  else if (run.situation.controller.finalizes && !hasOwnFinalizer(run)) return addFinalizer(run)
  return undefined
}
