/** Mutator: what each object shall look like, and what shall become of the application. */
import { desiredOf } from '../desired.ts'
import { stepLife } from './life.ts'
import type { ReconcileRun } from './run.ts'

export function mutate(run: ReconcileRun): void {
  const { recall } = run.situation
  for (const entry of run.entries) {
    // One that cannot be told keeps no other from being.
    try {
      entry.desired = desiredOf(entry.resource, entry.context, run.owner, entry.live, recall)
    } catch (error) {
      entry.state = 'failed'
      run.journal.fail(error, entry.subject)
    }
  }
  stepLife(run)
}
