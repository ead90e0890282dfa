/** Observes the reconciles of all operators of a manager: which are in progress, which holds the thread, what each costs. */
import type { Clock } from '../../clock/clock.ts'
import type { UnderWay } from '../observability/health.ts'
import type { MeteredRun, RunMeter } from '../run/run-meter.ts'
import { noObserver, type RunObserver } from '../run/run-observer.ts'
import type { ThreadWatch } from '../threads/thread-watch.ts'

interface ObservedRunsOptions {
  readonly clock: Clock
  readonly thread: ThreadWatch
  /** @default reconciles are not measured */
  readonly meter?: RunMeter | undefined
}

interface ObservedRuns {
  /** The reconciles in progress. */
  runs(): readonly UnderWay[]
  /** The observer for one operator. */
  of(operator: string): RunObserver
}

export function observeRuns({ clock, thread, meter }: ObservedRunsOptions): ObservedRuns {
  const underWay = new Set<UnderWay>()
  return {
    runs: () => [...underWay],
    of: (operator) => ({
      begin(controller, key) {
        // The name alone, where there is no namespace.
        const one = { operator, key: key.startsWith('/') ? key.slice(1) : key, since: clock.now() }
        underWay.add(one)
        const marks = thread.enter({ operator, controller, key: one.key })
        const metered: MeteredRun = meter?.begin() ?? noObserver.begin(controller, key)
        return {
          marks,
          within: (work) => metered.within(work),
          aside: (work) => metered.aside(work),
          async sending(wave, hide, send) {
            marks.outside()
            const outcomes = await metered.sending(wave, hide, send)
            marks.back()
            return outcomes
          },
          end(reads) {
            marks.leave()
            underWay.delete(one)
            return metered.end(reads)
          },
        }
      },
      holding(coordinator, step, work) {
        const marks = thread.enter({ operator, controller: coordinator, key: '' })
        marks.at(step)
        try {
          return work()
        } finally {
          marks.leave()
        }
      },
    }),
  }
}
