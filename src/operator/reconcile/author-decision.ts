/** Decisions of coordinators, for author code: of declared coordinators only. */
import { MusterError } from '../../kube/muster-error.ts'
import type { Coordinator } from '../coordinator/coordinator.ts'
import { type Decisions, noDecisions } from '../coordinator/decisions.ts'
import { operatorErrors } from '../errors.ts'
import { Suspended } from '../suspended.ts'
import type { ReconcileRun } from './run.ts'

export function decisionFor(run: ReconcileRun): Decisions['decision'] {
  return <Decision>(coordinator: Coordinator<Decision>, key: string | undefined): Decision | undefined => {
    const { controller, decisions = noDecisions } = run.situation
    if (!controller.coordinators.includes(coordinator)) {
      throw new MusterError(
        operatorErrors.UndeclaredCoordinator,
        `${run.journal.place} reads a decision of coordinator ${coordinator.name}, which it does not declare. Add it to coordinators.`,
      )
    }
    if (key === undefined) return undefined
    try {
      return decisions.decision(coordinator, key)
    } catch (error) {
      if (error instanceof Suspended) run.journal.suspend(error)
      throw error
    }
  }
}
