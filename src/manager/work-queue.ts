/**
 * Which keys are to be worked on, and when. A key that is wanted twice is worked on once; one that is wanted while it is
 * being worked on is worked on again afterwards, never by two at once.
 */
import type { Clock, Timer } from '../clock/clock.ts'

export interface WorkQueueOptions {
  readonly clock: Clock
  /** How many keys at once. */
  readonly concurrency: number
  /** Never rejects. */
  readonly work: (key: string) => Promise<void>
}

export interface WorkQueue {
  /** As soon as there is room. */
  add(key: string): void
  /** At that time, unless it is wanted earlier. */
  addAfter(key: string, ms: number): void
  /** Forgets a key: what is under way is finished, nothing else. */
  forget(key: string): void
  readonly isIdle: boolean
  /** Resolves when nothing is waiting or under way; what is due later does not count. */
  idle(): Promise<void>
  /** Takes nothing more; resolves when what is under way has ended. */
  stop(): Promise<void>
}

export function createWorkQueue({ clock, concurrency, work }: WorkQueueOptions): WorkQueue {
  const waiting = new Set<string>()
  const working = new Set<string>()
  const again = new Set<string>()
  const later = new Map<string, { readonly at: number; readonly timer: Timer }>()
  let idlers: (() => void)[] = []
  let isStopped = false

  const isIdle = (): boolean => waiting.size === 0 && working.size === 0

  const cancel = (key: string): void => {
    later.get(key)?.timer.cancel()
    later.delete(key)
  }

  const run = async (key: string): Promise<void> => {
    await work(key)
    working.delete(key)
    if (again.delete(key) && !isStopped) waiting.add(key)
    pump()
  }

  const pump = (): void => {
    for (const key of waiting) {
      if (working.size >= concurrency) break
      waiting.delete(key)
      working.add(key)
      void run(key)
    }
    if (!isIdle()) return
    const woken = idlers
    idlers = []
    for (const wake of woken) wake()
  }

  const idle = (): Promise<void> => (isIdle() ? Promise.resolve() : new Promise((resolve) => void idlers.push(resolve)))

  const add = (key: string): void => {
    if (isStopped) return
    cancel(key)
    if (working.has(key)) again.add(key)
    else waiting.add(key)
    pump()
  }

  return {
    add,
    addAfter(key, ms) {
      if (isStopped || waiting.has(key) || again.has(key)) return
      const at = clock.now() + ms
      const due = later.get(key)
      if (due && due.at <= at) return
      cancel(key)
      later.set(key, { at, timer: clock.after(ms, () => add(key)) })
    },
    forget(key) {
      cancel(key)
      waiting.delete(key)
      again.delete(key)
    },
    get isIdle() {
      return isIdle()
    },
    idle,
    async stop() {
      isStopped = true
      for (const key of later.keys()) cancel(key)
      waiting.clear()
      again.clear()
      await idle()
    },
  }
}
