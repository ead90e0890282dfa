/**
 * One process of a simulated operator: its clock, which may be set, and its end, after which nothing of it runs. A
 * crashed process is not notified: its requests are never answered, its watches deliver nothing, and its timers never
 * fire.
 */
import type { Clock } from '../../clock/clock.ts'
import { sleepOn } from '../../clock/clock.ts'
import type { Live } from '../../operator/live.ts'
import { createTaskRunner, type TaskRunner } from '../../manager/tasks/task-runner.ts'
import { type Within, withStandingClock } from '../environment/deterministic-globals.ts'
import type { SimulatedTime } from './time.ts'
import type { Lines } from './watch-lines.ts'

export interface SimulatedProcess {
  /** The first process is 1. */
  readonly number: number
  readonly clock: Clock
  /** The same clock, for maintenance such as lease renewals. */
  readonly upkeep: Clock
  /** The number of requests without an answer and of events on their way. */
  waiting: number
  /** Its watches, which end on the server's side. */
  readonly watches: Set<Pick<Lines, 'leave'>>
  readonly isOver: boolean
  /** Runs code in the context of the process: timers of the simulation have none. */
  readonly within: Within
  /** The error of its clock. */
  skewMs: number
  /** Until then its caches are frozen. */
  frozenUntil: number
  /** Until then it is stopped: none of its timers fires, and nothing reaches it. */
  stoppedUntil: number
  /** Until then its requests do not arrive. */
  cutUntil: number
  /** Until then its lease requests do not arrive, and answers are slow. */
  lapsedUntil: number
  /** The past revision that its caches see, and until when. */
  lag: { readonly revision: number; readonly until: number } | undefined
  end(): void
}

/** `contextOf`: the context of its code. @default none */
export function startSimulatedProcess(
  number: number,
  time: SimulatedTime,
  contextOf?: (clock: Clock) => Within,
): SimulatedProcess {
  const watches = new Set<Pick<Lines, 'leave'>>()
  const now = (): number => time.now() + proc.skewMs
  const clockOn = (timers: Pick<Clock, 'after'>): Clock => {
    const after: Clock['after'] = (ms, fire) => {
      const ring = (): void => {
        if (proc.isOver) return
        // Timers that were due while it was stopped fire in order when it continues, after the answers that arrived
        // meanwhile.
        if (proc.stoppedUntil > time.now()) timer = timers.after(proc.stoppedUntil - time.now() + 1, ring)
        else proc.within(fire)
      }
      let timer = timers.after(ms, ring)
      return { cancel: () => timer.cancel() }
    }
    return { now, after, sleep: (ms, signal) => sleepOn(after, ms, signal) }
  }
  const clock = clockOn(time)
  const proc: SimulatedProcess & { isOver: boolean } = {
    number,
    within: contextOf?.(clock) ?? ((work) => work()),
    waiting: 0,
    watches,
    isOver: false,
    skewMs: 0,
    frozenUntil: 0,
    stoppedUntil: 0,
    cutUntil: 0,
    lapsedUntil: 0,
    lag: undefined,
    clock,
    upkeep: clockOn(time.upkeep),
    end() {
      proc.isOver = true
      for (const watch of watches) watch.leave()
      watches.clear()
    },
  }
  return proc
}

/** The answer to a process that is gone. */
export function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** The tasks of one process. The simulation stops for each: no fault comes in between, and runs stay reproducible. */
export function tasksOf({ clock }: SimulatedProcess, time: SimulatedTime): TaskRunner {
  return createTaskRunner({ clock, runBlocking: (key, work) => time.hold(withStandingClock(key, clock)(work)) })
}

/** Commands and calls of one process, answered when it can receive the answer. */
export function liveOf(proc: SimulatedProcess, live: Live, time: Clock, leaves: (what: string) => void): Live {
  const heard = async <T>(answer: Promise<T>): Promise<T> => {
    await answer.catch(() => undefined)
    while (proc.stoppedUntil > time.now()) await time.sleep(proc.stoppedUntil - time.now())
    return proc.isOver ? await never() : await answer
  }
  return {
    available: live.available,
    exec(...command) {
      leaves(`the command ${command[1].join(' ')}`)
      return heard(live.exec(...command))
    },
    http(call) {
      const { method = 'GET', url } = call
      if (method !== 'GET') leaves(`${method} ${url}`)
      return heard(live.http(call))
    },
  }
}
