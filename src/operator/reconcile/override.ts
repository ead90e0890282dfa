/** A step that the author overrides; `next()` runs the default. */
import type { StepOverride } from '../controller.ts'
import type { KubeObject } from '../../kube/object.ts'
import { stepContext } from './author-context.ts'
import type { ReconcileRun, StepResult, Waves } from './run.ts'

/** Author code is a function and the default a generator that may yield mutations: `next()` hands over by promise. */
export async function* takeOverridden(
  run: ReconcileRun,
  override: StepOverride<KubeObject>,
  byDefault: () => StepResult,
): Waves {
  const request = Promise.withResolvers<'default' | 'ended'>()
  const finished = Promise.withResolvers<void>()
  const next = async (): Promise<void> => {
    request.resolve('default')
    await finished.promise
  }
  const running = run.author(() => override(stepContext(run), next)).finally(() => request.resolve('ended'))
  // It is awaited below in every case; until then a rejection must not count as unhandled.
  running.catch(() => undefined)
  finished.promise.catch(() => undefined)
  if ((await request.promise) === 'default') {
    try {
      // Author code may have caught it.
      if (run.journal.suspension) throw run.journal.suspension
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
