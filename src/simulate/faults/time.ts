/**
 * The clock of a simulation: everything that happens is triggered by a timer of this clock, and a timer fires only when
 * all work of the one before has drained. Nothing else determines the order of events, so a run is a function of its
 * seed. An hour of waiting takes no time.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { sleepOn } from '../../clock/clock.ts'

export interface SimulatedTime extends Clock {
  /** Advances timer by timer until `isDone`; false when `limitMs` pass first. */
  run(limitMs: number, isDone?: () => boolean): Promise<boolean>
  /** The next timer, upkeep aside; work in progress may set an earlier one. */
  nextAt(): number
  /** The same clock, for maintenance such as lease renewals: a run does not wait for its timers. */
  readonly upkeep: Pick<Clock, 'after'>
  /** Stops the clock until this is done: for work outside of the simulation, such as loading a file. */
  hold<T>(work: Promise<T>): Promise<T>
}

/** A class for speed: a run has a hundred of them. */
class Pending implements Timer {
  readonly at: number
  readonly order: number
  readonly fire: () => void
  readonly isUpkeep: boolean
  isCancelled = false

  constructor(at: number, order: number, fire: () => void, isUpkeep: boolean) {
    this.at = at
    this.order = order
    this.fire = fire
    this.isUpkeep = isUpkeep
  }

  cancel(): void {
    this.isCancelled = true
  }
}

export function simulatedTime(start: number = Date.UTC(2026, 0, 1)): SimulatedTime {
  let now = start
  let order = 0
  /** A binary heap, the next one first. Cancelled ones are dropped when they come up. */
  const heap: Pending[] = []

  const isBefore = (a: Pending, b: Pending): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

  const push = (timer: Pending): void => {
    let at = heap.push(timer) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(timer, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = timer
  }

  const pop = (): void => {
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
  }

  const held = new Set<Promise<unknown>>()

  /** Waits for work outside of the simulation. */
  const release = async (): Promise<void> => {
    while (held.size > 0) {
      await Promise.allSettled(held)
      await dry()
    }
  }

  const next = (): Pending | undefined => {
    while (heap[0]?.isCancelled) pop()
    return heap[0]
  }

  const add = (ms: number, fire: () => void, isUpkeep: boolean): Timer => {
    const timer = new Pending(now + Math.max(ms, 0), order++, fire, isUpkeep)
    push(timer)
    return timer
  }
  const after = (ms: number, fire: () => void): Timer => add(ms, fire, false)
  const isDue = ({ isUpkeep, isCancelled }: Pending): boolean => !isUpkeep && !isCancelled

  return {
    now: () => now,
    after,
    sleep: (ms, signal) => (signal ? sleepOn(after, ms, signal) : new Promise((resolve) => void after(ms, resolve))),
    nextAt() {
      const first = next()
      if (!first?.isUpkeep) return first?.at ?? Infinity
      return heap.reduce((earliest, timer) => (isDue(timer) ? Math.min(earliest, timer.at) : earliest), Infinity)
    },
    upkeep: { after: (ms, fire) => add(ms, fire, true) },
    hold(work) {
      held.add(work)
      const letGo = (): void => void held.delete(work)
      work.then(letGo, letGo)
      return work
    },
    async run(limitMs, isDone = () => false) {
      const end = now + limitMs
      await dry()
      if (held.size > 0) await release()
      while (!isDone()) {
        let timer = next()
        if (!timer || timer.at - now > longMs) {
          await turn()
          if (isDone()) break
          timer = next()
        }
        if (!timer || timer.at > end) {
          now = end
          return isDone()
        }
        pop()
        timer.isCancelled = true
        now = timer.at
        timer.fire()
        await dry()
        if (held.size > 0) await release()
      }
      return true
    },
  }
}

/** Before a wait this long, the event loop gets a turn. */
const longMs = 100

/**
 * A simulation consists of promises: a tick begins when the last of them has run, which is cheaper than a turn of the
 * event loop. Concurrent runs share one.
 */
function dry(): Promise<void> {
  return (drying ??= new Promise((resolve) => {
    process.nextTick(() => {
      drying = undefined
      resolve()
    })
  }))
}

let drying: Promise<void> | undefined

/**
 * A turn of the event loop, for `setImmediate` in author code and for the outside. Work that needs a second turn (a
 * lazily loaded module) is not part of a simulation, and must be done before.
 */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
