/**
 * A clock that moves only on request. Between two timers it runs every ready promise, so an hour of retries and time-outs
 * takes milliseconds and always has the same order.
 */
import { type Clock, sleepOn, type Timer } from './clock.ts'

export interface VirtualClock extends Clock {
  /** Advances by `ms`, firing due timers in order, each at its own time. */
  advance(ms: number): Promise<void>
  /** Runs everything that is ready, without advancing time. */
  settle(): Promise<void>
  /** Advances timer by timer until `done` returns true. Fails if `limitMs` pass first. */
  until(done: () => boolean, limitMs?: number): Promise<void>
  /** Time stands still until this is done: for work that takes real time. */
  hold<T>(work: Promise<T>): Promise<T>
}

interface Pending {
  readonly at: number
  readonly order: number
  readonly fire: () => void
}

/** Turns of the event loop after which a chain of promises and in-process streams is done. */
const settleTurns = 8

export function virtualClock(start: number = Date.UTC(2026, 0, 1)): VirtualClock {
  let now = start
  let order = 0
  const timers = new Set<Pending>()

  const after = (ms: number, fire: () => void): Timer => {
    const timer = { at: now + Math.max(ms, 0), order: order++, fire }
    timers.add(timer)
    return { cancel: () => void timers.delete(timer) }
  }

  const next = (): Pending | undefined => {
    let first: Pending | undefined
    for (const timer of timers) {
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer
    }
    return first
  }

  const held = new Set<Promise<unknown>>()

  const settle = async (): Promise<void> => {
    do {
      await Promise.allSettled(held)
      for (let turn = 0; turn < settleTurns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
    } while (held.size > 0)
  }

  const fireNext = async (limit: number): Promise<boolean> => {
    const timer = next()
    if (!timer || timer.at > limit) return false
    timers.delete(timer)
    now = timer.at
    timer.fire()
    await settle()
    return true
  }

  return {
    now: () => now,
    after,
    sleep: (ms, signal) => sleepOn(after, ms, signal),
    settle,
    hold(work) {
      held.add(work)
      const letGo = (): void => void held.delete(work)
      work.then(letGo, letGo)
      return work
    },
    async advance(ms) {
      const end = now + ms
      await settle()
      while (await fireNext(end));
      now = end
    },
    async until(done, limitMs = 3_600_000) {
      const end = now + limitMs
      await settle()
      while (!done()) {
        if (!(await fireNext(end))) throw new Error(`still waiting after ${limitMs} ms of virtual time`)
      }
    },
  }
}
