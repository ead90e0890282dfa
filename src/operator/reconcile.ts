/**
 * One reconcile: a walk through the steps of a controller for one CR.
 *
 * It performs no I/O. It yields mutations, wave by wave, and the caller returns their outcomes: an executor on a
 * cluster, a directory, a simulator that fails some of them. So the same code runs live, offline and under faults, and
 * may be interrupted at any point: the next reconcile starts from the live objects.
 *
 * The steps are in the folder `reconcile/`, each a function of the run (`run.ts`) that they share.
 */
import type { KubeObject } from '../kube/object.ts'
import type { MutationOutcome, Wave } from './plan.ts'
import { conclude, reportConclusion, writeStatus } from './reconcile/conclusion.ts'
import { finalize } from './reconcile/cr-finalizer.ts'
import { getCr } from './reconcile/cr-getter.ts'
import { mutate } from './reconcile/mutator.ts'
import { getObjects } from './reconcile/objects-getter.ts'
import { takeOverridden } from './reconcile/override.ts'
import { ReconcileRun, type StepResult, type Waves } from './reconcile/run.ts'
import type { Conclusion, ReconcileSituation } from './reconcile/situation.ts'
import { updateDependents } from './reconcile/updater.ts'
import { Suspended } from './suspended.ts'
import { nextStep, standardSteps, type StepEvent, type StepName } from './step-graph.ts'

export { finalizerName } from './reconcile/finalizers.ts'
export {
  type Conclusion,
  type Memory,
  noMemory,
  type Refused,
  type ReconcileSituation as Situation,
} from './reconcile/situation.ts'

/** Yields mutations and receives their outcomes, in the same order. */
export function reconcile<CR extends KubeObject, Config>(
  situation: ReconcileSituation<CR, Config>,
): AsyncGenerator<Wave, Conclusion, readonly MutationOutcome[]> {
  return follow(new ReconcileRun(situation))
}

/** The walk, the status write and the conclusion. */
async function* follow(run: ReconcileRun): Waves<Conclusion> {
  yield* walk(run)
  const { resyncMs } = run.situation.controller.options
  if (resyncMs !== undefined && !run.journal.failure) run.journal.requeue(resyncMs)
  if (!run.isGone && !run.journal.suspension) yield* writeStatus(run)
  return conclude(run)
}

/** From step to step along the graph; an error is an event like any other. */
async function* walk(run: ReconcileRun): Waves {
  const { situation, journal } = run
  let step: StepName | undefined = standardSteps.start
  while (step !== undefined && !run.isGone && !journal.suspension) {
    journal.enter(step, situation.clock.now())
    situation.marks?.at(step)
    try {
      const taken = take(run, step)
      if (taken instanceof Promise) await taken
      else if (taken) yield* taken
    } catch (error) {
      if (error instanceof Suspended) journal.suspend(error)
      else journal.fail(error, 'cr')
    }
    step = nextStep(step, eventsOf(run))
  }
}

/** The events of the last step. */
function eventsOf({ journal: { stepFailure }, isFinalizing }: ReconcileRun): readonly StepEvent[] {
  const failures: readonly StepEvent[] = stepFailure ? [stepFailure.gaveUp ? 'gaveUp' : 'failed'] : []
  return [...failures, ...(isFinalizing ? (['finalizing'] as const) : []), 'done']
}

function take(run: ReconcileRun, step: StepName): StepResult {
  const override = run.situation.controller.options.steps?.[step]
  return override ? takeOverridden(run, override, () => takeByDefault(run, step)) : takeByDefault(run, step)
}

function takeByDefault(run: ReconcileRun, step: StepName): StepResult {
  const { options } = run.situation.controller
  switch (step) {
    case 'CRGetter':
      return getCr(run)
    case 'CRChecker':
      return options.check && run.author(() => options.check?.(run.context))
    case 'ObjectsGetter':
      return getObjects(run)
    case 'Mutator':
      return mutate(run)
    case 'Updater':
      return updateDependents(run)
    case 'CRFinalizer':
      return finalize(run)
    case 'SuccessManager':
      return reportConclusion(run)
    case 'ErrorManager':
    case 'GiveUpManager':
      return undefined
  }
}
