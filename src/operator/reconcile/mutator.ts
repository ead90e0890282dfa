/** Mutator: computes the desired objects, and the next step of the application's life cycle. */
import { desiredOf } from '../dependent/desired.ts'
import { staysAsCreated } from '../dependent/entry.ts'
import { stepLife } from './life.ts'
import type { ReconcileRun } from './run.ts'

export function mutate(run: ReconcileRun): void {
  for (const entry of run.entries) {
    // A failure of one dependent does not affect the others.
    try {
      if (staysAsCreated(entry)) continue
      entry.desired = desiredOf(entry.dependent, entry.context, run.owner, entry.live)
    } catch (error) {
      entry.state = 'failed'
      run.journal.fail(error, entry.subject)
    }
  }
  stepLife(run)
}
