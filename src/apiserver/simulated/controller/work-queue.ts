/**
 * A work queue of object keys. A key is queued at most once, however often it is added, and is never processed
 * concurrently; so a controller learns *that* an object changed, not what, and reconciles from the current state. A key
 * can also be added with a delay: that is how controllers requeue.
 */
import type { Clock, Timer } from '../../../clock/clock.ts'

export interface WorkQueue {
  /** Adds the key now, or at the latest in this many milliseconds: changes of many objects then cause one reconcile. */
  add(key: string, withinMs?: number): void
  stop(): void
}

export interface WorkQueueOptions {
  readonly clock: Clock
  /** Keys that are processed concurrently. @default 5 */
  readonly workers?: number | undefined
  /** Reconciles the object of the key. Returns in how many milliseconds to requeue it, unless it is added before. */
  readonly reconcile: (key: string) => Promise<number | undefined>
  /** Called when a reconcile failed. The key is requeued with a growing back-off. */
  readonly failed: (key: string, error: unknown) => void
}

const firstRetryMs = 5
const longestRetryMs = 300_000
/** Keys processed in a row before other tasks of the process get their turn. */
const batchSize = 100

export function createWorkQueue({ clock, workers = 5, reconcile, failed }: WorkQueueOptions): WorkQueue {
  const ready = new Set<string>()
  const running = new Set<string>()
  const again = new Set<string>()
  const failures = new Map<string, number>()
  const alarms = createAlarms(clock, (key) => add(key))
  let isStopped = false
  let isResting = false
  let sinceRest = 0

  const add = (key: string, withinMs = 0): void => {
    if (isStopped || ready.has(key)) return
    if (running.has(key)) {
      again.add(key)
      return
    }
    if (withinMs > 0) {
      alarms.hurry(key, withinMs)
      return
    }
    ready.add(key)
    if (ready.size === 1) queueMicrotask(pump)
  }

  const pump = (): void => {
    if (isResting) return
    for (const key of ready) {
      if (running.size >= workers || isStopped) return
      if (sinceRest++ >= batchSize) {
        rest()
        return
      }
      ready.delete(key)
      void work(key)
    }
  }

  const rest = (): void => {
    isResting = true
    clock.after(0, () => {
      isResting = false
      sinceRest = 0
      pump()
    })
  }

  const work = async (key: string): Promise<void> => {
    running.add(key)
    alarms.clear(key)
    try {
      const ms = await reconcile(key)
      failures.delete(key)
      if (ms !== undefined && !isStopped) alarms.set(key, ms)
    } catch (error) {
      if (!isStopped) {
        const count = failures.get(key) ?? 0
        failures.set(key, count + 1)
        alarms.set(key, Math.min(firstRetryMs * 2 ** count, longestRetryMs))
        failed(key, error)
      }
    }
    running.delete(key)
    if (again.delete(key)) ready.add(key)
    pump()
  }

  return {
    add,
    stop() {
      isStopped = true
      ready.clear()
      alarms.stop()
    },
  }
}

interface Alarms {
  /** Replaces the alarm of the key. */
  set(key: string, ms: number): void
  /** Keeps an earlier alarm. */
  hurry(key: string, ms: number): void
  clear(key: string): void
  stop(): void
}

/** Keys that are due at the same time share a timer: a thousand pods that start together need one. */
function createAlarms(clock: Clock, due: (key: string) => void): Alarms {
  const moments = new Map<number, { readonly timer: Timer; readonly keys: Set<string> }>()
  const momentOf = new Map<string, number>()

  const clear = (key: string): void => {
    const at = momentOf.get(key)
    if (at === undefined) return
    momentOf.delete(key)
    const moment = moments.get(at)!
    moment.keys.delete(key)
    if (moment.keys.size > 0) return
    moment.timer.cancel()
    moments.delete(at)
  }

  const fire = (at: number): void => {
    const { keys } = moments.get(at)!
    moments.delete(at)
    for (const key of keys) {
      momentOf.delete(key)
      due(key)
    }
  }

  const set = (key: string, ms: number): void => {
    clear(key)
    const at = Math.ceil(clock.now() + Math.max(ms, 0))
    if (!moments.has(at)) moments.set(at, { timer: clock.after(at - clock.now(), () => fire(at)), keys: new Set() })
    moments.get(at)!.keys.add(key)
    momentOf.set(key, at)
  }

  return {
    set,
    hurry(key, ms) {
      if ((momentOf.get(key) ?? Infinity) > clock.now() + ms) set(key, ms)
    },
    clear,
    stop() {
      for (const { timer } of moments.values()) timer.cancel()
      moments.clear()
      momentOf.clear()
    },
  }
}
