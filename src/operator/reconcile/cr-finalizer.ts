/**
 * CRFinalizer: keeps a deleted CR until its clean-up is complete: the application, fields in shared objects, the author's
 * `finalize`, and objects that the garbage collector does not cover. Each part runs until it is done, over as many reconciles as needed.
 */
import { OperatorError } from '../failure.ts'
import type { Delete } from '../plan.ts'
import { updateEmbedded } from './embedded-updater.ts'
import { removeFinalizer } from './finalizers.ts'
import { actOnLife, observeLife, stepLife } from './life.ts'
import { pruneDependents, removeDependent, uncollected, withdrawShared } from './pruning.ts'
import type { ReconcileRun, Waves } from './run.ts'

const lookAgainMs = 10_000

export async function* finalize(run: ReconcileRun): Waves {
  const isCleanedUp =
    (yield* endLife(run)) &&
    (yield* withdrawShared(run)) &&
    (await runFinalize(run)) &&
    (yield* removeEmbedded(run)) &&
    (yield* deleteUncollected(run))
  if (!isCleanedUp) return
  yield* removeFinalizer(run)
  run.isGone = true
}

/** The application reaches its end state before its objects are deleted. */
async function* endLife(run: ReconcileRun): Waves<boolean> {
  const { application } = run.situation.controller.options
  if (!application) return true
  await observeLife(run)
  stepLife(run)
  if (!application.isPresent(run.cr)) yield* pruneDependents(run)
  await actOnLife(run)
  const { status, message } = run.life!.condition
  if (status !== 'True') run.journal.waiting = `the application: ${message}`
  return status === 'True' && !run.journal.failure
}

/** Runs the author's `finalize`, if there is one. */
async function runFinalize(run: ReconcileRun): Promise<boolean> {
  const { options } = run.situation.controller
  if (!options.finalize) return true
  const verdict = await run.author(() => options.finalize!(run.context))
  if (verdict === 'done') return true
  if (typeof verdict !== 'object') {
    throw new OperatorError('InvalidFinalization', 'finalize() must return "done" or what it waits for.', {
      retry: 'terminal',
    })
  }
  run.journal.waiting = verdict.waitingFor
  run.journal.requeue(verdict.afterMs ?? lookAgainMs)
  return false
}

/** Deletes the embedded objects, in their order; true when none is left. */
async function* removeEmbedded(run: ReconcileRun): Waves<boolean> {
  const isGone = yield* updateEmbedded(run)
  const { embeddedFailure } = run
  if (embeddedFailure) run.journal.fail(embeddedFailure.error, embeddedFailure.subject)
  return isGone && !embeddedFailure
}

/** Deletes objects that no owner reference covers; true when none is left. */
async function* deleteUncollected(run: ReconcileRun): Waves<boolean> {
  const left = uncollected(run)
  const deletions = left.flatMap(({ dependent, object: { metadata } }): readonly Delete[] => {
    const { name = '', namespace, uid = '', deletionTimestamp } = metadata
    if (deletionTimestamp !== undefined) return []
    return [
      {
        verb: 'delete',
        subject: dependent.id,
        resource: dependent.kind,
        name: { name, namespace },
        uid,
        why: 'finalized',
      },
    ]
  })
  let isLeft = left.length > deletions.length
  if (deletions.length > 0) {
    const outcomes = yield* removeDependent(run, deletions, 'deleted')
    if (run.journal.failure) return false
    // An object in the answer still exists: another finalizer holds it.
    isLeft ||= outcomes.some((outcome) => outcome.result === 'done' && outcome.object !== undefined)
  }
  if (isLeft) run.journal.waiting = 'its dependents are still being deleted'
  return !isLeft
}
