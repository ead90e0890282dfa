/**
 * Time as a scheduler: everything that happens in a simulation happens because a timer of this clock fired, and one
 * fires only when all that the one before set off has run dry. Nothing else decides what comes first, so a run is a
 * function of its seed. An hour of waiting takes no time.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { sleepOn } from '../../clock/clock.ts'

export interface SimulatedTime extends Clock {
  /** Moves ahead, timer by timer, until `isDone` says so; false when `limitMs` pass first. */
  run(limitMs: number, isDone?: () => boolean): Promise<boolean>
  /** When something happens next, upkeep aside, unless something comes before of what is under way. */
  nextAt(): number
  /** The same clock, for what only keeps up what is: a lease that is renewed. Nobody waits for that. */
  readonly upkeep: Pick<Clock, 'after'>
  /** Time stands still until this is done: for what is not part of the simulation, such as loading a file. */
  hold<T>(work: Promise<T>): Promise<T>
}

/** A class: there are a hundred of them in a run. */
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

  /** Waits for what is not part of the simulation. */
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

/** Before so long a wait, those who asked for a turn of the event loop have had it. */
const longMs = 100

/**
 * Everything in a simulation is promises: a tick begins when the last of them has run, and costs less than a turn. Runs that go side
 * by side have one between them.
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
 * A turn of the event loop, for what an author puts off with `setImmediate`, and for what is outside. What needs a second
 * one (a module that is loaded when it is first used) is not part of a simulation, and has to be there before.
 */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
