/** CRGetter: is the CR to be served, or to be taken leave of? */
import { hold, isHeld } from './finalizers.ts'
import type { Run, Waves } from './run.ts'

export async function* getCr(run: Run): Waves {
  run.isFinalizing = run.cr.metadata.deletionTimestamp !== undefined
  if (run.isFinalizing) run.isGone = !isHeld(run)
  // Before anything has an effect, the finalizer is there: whatever happens then, the end will be heard of.
  else if (run.situation.controller.finalizes && !isHeld(run)) yield* hold(run)
}
