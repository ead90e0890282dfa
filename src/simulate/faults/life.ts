/**
 * The life of one process of an operator: its clock, which may be set, and its end, after which nothing of it moves. A
 * process that crashed is not told so: its requests are never answered, its watches bring nothing more, and its timers never fire.
 */
import type { Clock } from '../../clock/clock.ts'
import { sleepOn } from '../../clock/clock.ts'
import type { Live } from '../../operator/live.ts'
import type { Within } from '../environment/deterministic-globals.ts'
import type { SimulatedTime } from './time.ts'
import type { Lines } from './watch-lines.ts'

export interface SimulatedLife {
  /** The first process is 1. */
  readonly number: number
  readonly clock: Clock
  /** The same, for what only keeps up what is. */
  readonly upkeep: Clock
  /** How much it waits for: requests without an answer, events that are under way. */
  waiting: number
  /** What ends with it: its watches, on the server's side. */
  readonly watches: Set<Pick<Lines, 'leave'>>
  readonly isOver: boolean
  /** Does this as a part of it: a timer of the simulation is nobody's. */
  readonly within: Within
  /** By how much its clock is wrong. */
  skewMs: number
  /** Until then nothing reaches its caches. */
  frozenUntil: number
  /** Until then it is stopped: none of its timers fires, and nothing reaches it. */
  stoppedUntil: number
  /** Until then nothing that it sends arrives. */
  cutUntil: number
  /** Until then no request about its lease arrives, and answers are late. */
  lapsedUntil: number
  /** What its caches are shown instead of the present, and until when. */
  lag: { readonly revision: number; readonly until: number } | undefined
  end(): void
}

/** `within`: how its code is run. @default as any other */
export function beginLife(number: number, time: SimulatedTime, secluded?: (clock: Clock) => Within): SimulatedLife {
  const watches = new Set<Pick<Lines, 'leave'>>()
  const now = (): number => time.now() + life.skewMs
  const clockOn = (timers: Pick<Clock, 'after'>): Clock => {
    const after: Clock['after'] = (ms, fire) => {
      const ring = (): void => {
        if (life.isOver) return
        // What fell due while it was stopped comes in its order when it goes on, and after what was answered meanwhile.
        if (life.stoppedUntil > time.now()) timer = timers.after(life.stoppedUntil - time.now() + 1, ring)
        else life.within(fire)
      }
      let timer = timers.after(ms, ring)
      return { cancel: () => timer.cancel() }
    }
    return { now, after, sleep: (ms, signal) => sleepOn(after, ms, signal) }
  }
  const clock = clockOn(time)
  const life: SimulatedLife & { isOver: boolean } = {
    number,
    within: secluded?.(clock) ?? ((work) => work()),
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
      life.isOver = true
      for (const watch of watches) watch.leave()
      watches.clear()
    },
  }
  return life
}

/** What is answered to a process that is gone. */
export function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** Commands and calls of one process: it hears of them when it can. */
export function liveOf(life: SimulatedLife, live: Live, time: Clock, leaves: (what: string) => void): Live {
  const heard = async <T>(answer: Promise<T>): Promise<T> => {
    await answer.catch(() => undefined)
    while (life.stoppedUntil > time.now()) await time.sleep(life.stoppedUntil - time.now())
    return life.isOver ? await never() : await answer
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
