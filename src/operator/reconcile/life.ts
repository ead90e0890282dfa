/**
 * The application in a run: one more object, that is observed in ObjectsGetter, decided about in Mutator and acted upon in
 * Updater. What is decided is written with the status, and what was written is acted upon in the next run.
 */
import { isMusterError } from '../../kube/errors.ts'
import type { Health } from '../../kube/health.ts'
import type { Hide } from '../../kube/hidden-text.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type ApplicationAccess, statusOf } from '../lifecycle/application.ts'
import type { ActionReport } from '../lifecycle/observation.ts'
import type { LifecycleStep } from '../lifecycle/step.ts'
import type { ReconcileRun } from './run.ts'

export async function observeLife(run: ReconcileRun): Promise<void> {
  const { application } = run.situation.controller.options
  if (!application) return
  try {
    const { actions, ...observed } = await run.author(() => application.observe(outsideOf(run)))
    run.observed = { ...observed, actions: actions.map((report) => maskedReport(report, run.hide)) }
  } catch (error) {
    if (!isMusterError(error, 'SidecarUnauthorized')) throw error
    // It may be one of its objects that has to be put right before anybody is let in: that comes first.
    run.observed = { reachable: false, actions: [] }
    run.unheard = error
  }
}

/** Its words end in the status, cut to what it may hold. */
function maskedReport(report: ActionReport, hide: Hide): ActionReport {
  return report.message === undefined ? report : { ...report, message: hide(report.message) }
}

/** It has come to its end, and that is not written yet: nothing is made for it any more. */
export function isEnding({ situation, cr, life }: ReconcileRun): boolean {
  const { application } = situation.controller.options
  return application !== undefined && application.isPresent(cr) && life?.status?.state === application.lifecycle.end
}

export function stepLife(run: ReconcileRun): void {
  const { application } = run.situation.controller.options
  if (!application || !run.observed) return
  const { context, cr, journal } = run
  run.life = application.step({ ...context, cr }, run.observed, run.isFinalizing)
  const { requeueAtMs, status } = run.life
  // What is new decides which objects are wanted, and goes by what is stored: so once more, when it is.
  if (status !== statusOf(cr)) journal.requeue(0)
  journal.requeue(requeueAtMs === undefined ? application.observeEveryMs : Math.max(requeueAtMs - context.now, 0))
}

export async function actOnLife(run: ReconcileRun): Promise<void> {
  const { application } = run.situation.controller.options
  if (run.unheard) run.journal.fail(run.unheard, 'application')
  const { act } = run.life ?? {}
  if (!application || !act) return
  try {
    await run.author(() => application.perform(act, outsideOf(run)))
    const message = act.verb === 'start' ? `started ${act.action}` : 'cancelled what took too long'
    run.journal.note('application', 'acted', { message })
  } catch (error) {
    run.journal.fail(error, 'application')
  }
}

export function healthOfLife({ condition }: LifecycleStep): Health {
  const { status, reason, message = '' } = condition
  return { status: status === 'True' ? 'Current' : reason === 'Failed' ? 'Failed' : 'InProgress', reason, message }
}

function outsideOf({ context, cr, situation }: ReconcileRun): ApplicationAccess<KubeObject> {
  return { ...context, cr, clock: situation.clock }
}
