/**
 * CRFinalizer: a CR that is being deleted is held until everything about it has come to its end: the application, what
 * the author undoes, what no garbage collector would see. Each part runs until it is done, over as many runs as it takes.
 */
import { OperatorError } from '../failure.ts'
import type { Delete } from '../plan.ts'
import { release } from './finalizers.ts'
import { actOnLife, observeLife, stepLife } from './life.ts'
import { pruneDependents, removeDependent, uncollected } from './pruning.ts'
import type { ReconcileRun, Waves } from './run.ts'

const lookAgainMs = 10_000

export async function* finalize(run: ReconcileRun): Waves {
  const isOver = (yield* endLife(run)) && (await undo(run)) && (yield* takeAway(run))
  if (!isOver) return
  yield* release(run)
  run.isGone = true
}

/** An application is brought to its end before what it runs on is taken away. */
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

/** What the author has to undo, if anything. */
async function undo(run: ReconcileRun): Promise<boolean> {
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

/** What was made for it where no owner reference reaches; true when nothing of that is left. */
async function* takeAway(run: ReconcileRun): Waves<boolean> {
  const left = uncollected(run)
  const doomed = left.flatMap(({ resource, object: { metadata } }): readonly Delete[] => {
    const { name = '', namespace, uid = '', deletionTimestamp } = metadata
    if (deletionTimestamp !== undefined) return []
    return [
      {
        verb: 'delete',
        subject: resource.id,
        resource: resource.kind,
        name: { name, namespace },
        uid,
        why: 'finalized',
      },
    ]
  })
  let isLeft = left.length > doomed.length
  if (doomed.length > 0) {
    const outcomes = yield* removeDependent(run, doomed, 'deleted')
    if (run.journal.failure) return false
    // What the server answers with is still there: somebody else holds it.
    isLeft ||= outcomes.some((outcome) => outcome.result === 'done' && outcome.object !== undefined)
  }
  if (isLeft) run.journal.waiting = 'what was made for it is still being deleted'
  return !isLeft
}
