/** How a run ends: what its author reports, the status that says so, the ledger, and what the next run shall know. */
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
  const said = options.status && (await run.author(() => options.status?.(reportContext(run))))
  if (said) takeReport(run, said)
  run.report ??= {}
}

/**
 * What the author reports. A status that does not fit its kind would be refused as a whole, conditions included.
 * @throws InvalidController
 */
export function takeReport(run: ReconcileRun, said: ReconcileRun['report']): void {
  const { kind } = run.situation.controller
  const problem = said && conformityProblem({ status: said as unknown as Json }, kind, typingOf(kind))
  if (problem !== undefined) {
    throw new MusterError('InvalidController', `${run.journal.place}, in its status: ${problem}`)
  }
  run.report = said
}

export async function* writeStatus(run: ReconcileRun): Waves {
  const { cr, life, journal, settled } = run
  const { kind, reports } = run.situation.controller
  const due = statusWrite({
    kind,
    cr,
    report: run.report,
    reports,
    life,
    ledger: ledgerOf(run),
    settled: settled.get('status'),
  })
  if (!due) return
  const [outcome] = yield [due.write]
  if (outcome?.result === 'failed') {
    // The trouble that there was comes first; this one will be met again.
    if (!journal.failure) journal.fail(outcome.error, 'cr')
    return
  }
  journal.note('cr', 'statusWritten', { fields: due.fields })
  const { resourceVersion } = outcome?.object?.metadata ?? {}
  const isNothing = resourceVersion !== undefined && resourceVersion === cr.metadata.resourceVersion
  if (isNothing) settled.set('status', { hash: due.hash, resourceVersion })
  else settled.delete('status')
}

export function conclude(run: ReconcileRun): Conclusion {
  const { situation, journal, settled, refused } = run
  const failure = journal.retriedFailure
  const failures = failure ? countFailure(situation.memory.failures, failure) : noFailures
  const retryMs = failure && reconcileRetryDelay(failure, failures, situation.controller.backOff)
  return {
    // Whatever else was to be done soon waits, too: it would only fail again.
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
    ...journal.told(),
  }
}
