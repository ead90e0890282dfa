/** The end of a run: the author's report, the status write, the ledger, and the memory for the next run. */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Health } from '../../kube/meta/health.ts'
import { asJson } from '../../kube/json-object.ts'
import { conformityProblem } from '../dependent/conformity.ts'
import { typingOf } from '../dependent/desired.ts'
import { healthOfEntry } from '../dependent/entry.ts'
import type { EmbeddedReport } from '../embedded/embedded-set.ts'
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
  if (run.isFinalizing) {
    const left = options.deletionStatus && (await run.author(() => options.deletionStatus?.(reportContext(run))))
    if (left) takeReport(run, left)
    return
  }
  const reported = options.status && (await run.author(() => options.status?.(reportContext(run))))
  if (reported) takeReport(run, reported)
  if (!options.status) run.report ??= {}
  // After the report: what follows from a problem with an embedded object is the author's decision.
  const { embeddedFailure } = run
  if (embeddedFailure) run.journal.fail(embeddedFailure.error, embeddedFailure.subject)
}

/**
 * Validates the author's report: the API server would reject an invalid status as a whole, conditions included.
 * @throws InvalidController
 */
export function takeReport(run: ReconcileRun, reported: ReconcileRun['report']): void {
  const { kind } = run.situation.controller
  const problem = reported && conformityProblem({ status: asJson(reported) }, kind, typingOf(kind))
  if (problem !== undefined) {
    throw new MusterError(operatorErrors.InvalidController, `${run.journal.place}, in its status: ${problem}`)
  }
  run.report = reported
}

export async function* writeStatus(run: ReconcileRun): Waves {
  const { cr, life, journal, settled } = run
  const { kind, reports, options } = run.situation.controller
  const pending = statusWrite({
    kind,
    cr,
    isForeign: options.foreign === true,
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
  const { memory } = situation
  // Nothing was decided: what is remembered of the CR stands.
  if (journal.suspension) {
    return { ledger: ledgerOf(run), memory: { ...memory, settled, refused: new Map([...memory.refused, ...refused]) } }
  }
  const failure = journal.retriedFailure
  const failures = failure ? countFailure(memory.failures, failure) : noFailures
  const retryMs = failure && reconcileRetryDelay(failure, failures, situation.controller.backOff)
  return {
    // The back-off overrides other requeues: they would only fail again.
    ledger: { ...ledgerOf(run), ...(retryMs !== undefined && { requeueAfterMs: retryMs }) },
    memory: { failures, settled, refused },
  }
}

function ledgerOf(run: ReconcileRun): Ledger {
  const { owner, cr, context, entries, embedded, isFinalizing, journal, life } = run
  const { namespace, name, generation = 0 } = cr.metadata
  const health = new Map<string, Health>()
  if (!isFinalizing) for (const entry of entries) health.set(entry.subject, healthOfEntry(entry))
  if (!isFinalizing) for (const [subject, state] of embeddedHealth(embedded)) health.set(subject, state)
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

/** Without objects whose phase has not begun: what it waits for says more. */
function embeddedHealth(report: EmbeddedReport | undefined): readonly (readonly [string, Health])[] {
  return (report?.phases ?? []).flatMap(({ objects }) =>
    objects.flatMap(({ kind, namespace, name, health, isPending }) =>
      isPending ? [] : [[`${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`, health] as const],
    ),
  )
}
