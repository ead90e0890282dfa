/**
 * The application in a run, handled like one more dependent: observed in ObjectsGetter, decided on in Mutator and acted
 * on in Updater. The decision is written with the status; the next run acts on the written status.
 */
import { sidecarErrors } from '../../sidecar/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Health } from '../../kube/meta/health.ts'
import type { Hide } from '../../kube/text/hidden-text.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type ApplicationAccess, statusOf } from '../lifecycle/application.ts'
import type { ActionReport } from '../lifecycle/observation.ts'
import type { LifecycleStep } from '../lifecycle/step.ts'
import type { ReconcileRun } from './run.ts'

export async function observeLife(run: ReconcileRun): Promise<void> {
  const { application } = run.situation.controller.options
  if (!application) return
  try {
    const { actions, ...observed } = await run.author(() => application.observe(accessOf(run)))
    run.observed = { ...observed, actions: actions.map((report) => maskedReport(report, run.hide)) }
  } catch (error) {
    if (!isMusterError(error, sidecarErrors.SidecarUnauthorized)) throw error
    // A dependent may have to be corrected before the sidecar accepts the token: dependents come first.
    run.observed = { reachable: false, actions: [] }
    run.observeError = error
  }
}

/** The message ends up in the status; Secret values are redacted before it is truncated. */
function maskedReport(report: ActionReport, hide: Hide): ActionReport {
  return report.message === undefined ? report : { ...report, message: hide(report.message) }
}

/** The application has reached its end state, and the status does not say so yet: no dependent is written. */
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
  // The stored state decides which objects are desired: run again when the new one is written.
  if (status !== statusOf(cr)) journal.requeue(0)
  journal.requeue(requeueAtMs === undefined ? application.observeEveryMs : Math.max(requeueAtMs - context.now, 0))
}

export async function actOnLife(run: ReconcileRun): Promise<void> {
  const { application } = run.situation.controller.options
  if (run.observeError) run.journal.fail(run.observeError, 'application')
  const { act } = run.life ?? {}
  if (!application || !act) return
  try {
    await run.author(() => application.perform(act, accessOf(run)))
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

function accessOf({ context, cr, situation }: ReconcileRun): ApplicationAccess<KubeObject> {
  return { ...context, cr, clock: situation.clock }
}
