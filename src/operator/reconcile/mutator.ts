/** Mutator: computes the desired objects, and the next step of the application's life cycle. */
import { desiredOf } from '../desired.ts'
import { stepLife } from './life.ts'
import type { ReconcileRun } from './run.ts'

export function mutate(run: ReconcileRun): void {
  const { recall } = run.situation
  for (const entry of run.entries) {
    // A failure of one dependent does not affect the others.
    try {
      entry.desired = desiredOf(entry.dependent, entry.context, run.owner, entry.live, recall)
    } catch (error) {
      entry.state = 'failed'
      run.journal.fail(error, entry.subject)
    }
  }
  stepLife(run)
}
