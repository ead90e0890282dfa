/** The end of a run: the author's report, the status write, the ledger, and the memory for the next run. */
import { MusterError } from '../../kube/errors.ts'
import type { Health } from '../../kube/health.ts'
import type { Json } from '../../kube/json.ts'
import { conformityProblem } from '../conformity.ts'
import { typingOf } from '../desired.ts'
import { healthOfEntry } from '../entry.ts'
import { countFailure, noFailures, reconcileRetryDelay } from '../failure.ts'
import type { Ledger } from '../ledger.ts'
import { statusWrite } from '../status.ts'
import { reportContext } from './author-context.ts'
import { healthOfLife } from './life.ts'
import type { ReconcileRun, Waves } from './run.ts'
import type { Conclusion } from './situation.ts'

/** SuccessManager. */
export async function reportConclusion(run: ReconcileRun): Promise<void> {
  const { options } = run.situation.controller
  if (run.isFinalizing) return
  const reported = options.status && (await run.author(() => options.status?.(reportContext(run))))
  if (reported) takeReport(run, reported)
  run.report ??= {}
}

/**
 * Validates the author's report: the API server would reject an invalid status as a whole, conditions included.
 * @throws InvalidController
 */
export function takeReport(run: ReconcileRun, reported: ReconcileRun['report']): void {
  const { kind } = run.situation.controller
  const problem = reported && conformityProblem({ status: reported as unknown as Json }, kind, typingOf(kind))
  if (problem !== undefined) {
    throw new MusterError('InvalidController', `${run.journal.place}, in its status: ${problem}`)
  }
  run.report = reported
}

export async function* writeStatus(run: ReconcileRun): Waves {
  const { cr, life, journal, settled } = run
  const { kind, reports } = run.situation.controller
  const pending = statusWrite({
    kind,
    cr,
    report: run.report,
    reports,
    life,
    ledger: ledgerOf(run),
    settled: settled.get('status'),
  })
  if (!pending) return
  const [outcome] = yield [pending.write]
  if (outcome?.result === 'failed') {
    // An earlier failure is reported first; this one will recur.
    if (!journal.failure) journal.fail(outcome.error, 'cr')
    return
  }
  journal.note('cr', 'statusWritten', { fields: pending.fields })
  const { resourceVersion } = outcome?.object?.metadata ?? {}
  const isUnchanged = resourceVersion !== undefined && resourceVersion === cr.metadata.resourceVersion
  if (isUnchanged) settled.set('status', { hash: pending.hash, resourceVersion })
  else settled.delete('status')
}

export function conclude(run: ReconcileRun): Conclusion {
  const { situation, journal, settled, refused } = run
  const failure = journal.retriedFailure
  const failures = failure ? countFailure(situation.memory.failures, failure) : noFailures
  const retryMs = failure && reconcileRetryDelay(failure, failures, situation.controller.backOff)
  return {
    // The back-off overrides other requeues: they would only fail again.
    ledger: { ...ledgerOf(run), ...(retryMs !== undefined && { requeueAfterMs: retryMs }) },
    memory: { failures, settled, refused },
  }
}

function ledgerOf({ owner, cr, context, entries, isFinalizing, journal, life }: ReconcileRun): Ledger {
  const { namespace, name = '', generation = 0 } = cr.metadata
  const health = new Map<string, Health>()
  if (!isFinalizing) for (const entry of entries) health.set(entry.subject, healthOfEntry(entry))
  if (life) health.set('application', healthOfLife(life))
  return {
    ...owner,
    key: namespace === undefined ? name : `${namespace}/${name}`,
    generation,
    health,
    isFinalizing,
    startedAt: context.now,
    ...journal.ledgerPart(),
  }
}
