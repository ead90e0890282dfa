/** A step done in its author's way, who may have the default done, too, by calling `next()`. */
import type { StepOverride } from '../controller.ts'
import type { KubeObject } from '../../kube/object.ts'
import { stepContext } from './author-context.ts'
import type { ReconcileRun, Taken, Waves } from './run.ts'

/** The author's code runs beside the default, which may have something to yield: it is handed over by promise. */
export async function* takeOverridden(
  run: ReconcileRun,
  override: StepOverride<KubeObject>,
  byDefault: () => Taken,
): Waves {
  const wanted = Promise.withResolvers<'default' | 'ended'>()
  const finished = Promise.withResolvers<void>()
  const next = async (): Promise<void> => {
    wanted.resolve('default')
    await finished.promise
  }
  const running = run.author(() => override(stepContext(run), next)).finally(() => wanted.resolve('ended'))
  // It is awaited below in every case; until then a rejection is nobody's to report.
  running.catch(() => undefined)
  finished.promise.catch(() => undefined)
  if ((await wanted.promise) === 'default') {
    try {
      const taken = byDefault()
      if (taken instanceof Promise) await taken
      else if (taken) yield* taken
      finished.resolve()
    } catch (error) {
      finished.reject(error)
    }
  }
  await running
}
