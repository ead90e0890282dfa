/**
 * Young garbage, collected between runs. V8 collects what is short-lived when its nursery is full, which is while somebody
 * allocates, which is while somebody works: one change in twenty would wait some milliseconds for it before its write
 * leaves. So a while after a run, when nothing waits or runs, what it left behind is collected in a fraction of a
 * millisecond, and the next run begins with an empty nursery. Under load nothing changes: then V8 decides, as ever.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { exposedCollector } from './exposed-collector.ts'

export interface YoungGarbageOptions {
  readonly clock: Clock
  /** Nothing waits or runs. */
  readonly isIdle: () => boolean
  /** What the nursery holds. @default this process's */
  readonly youngBytes?: () => number
  /** @default V8's own, of the nursery alone */
  readonly collect?: () => void
  /** After a run, before it is looked: what the run set off has come back by then. @default 5 */
  readonly afterMs?: number
  /** Less than this is not worth it. @default 2 MB */
  readonly leastBytes?: number
}

export interface YoungGarbage {
  /** A run has ended. */
  ended(): void
  close(): void
}

export function keepYoung(options: YoungGarbageOptions): YoungGarbage {
  const { clock, isIdle, youngBytes = nurseryBytes, afterMs = 5, leastBytes = 2e6 } = options
  const { collect = collectYoung } = options
  let timer: Timer | undefined
  const look = (): void => {
    timer = undefined
    // Whoever is at work now will be heard of when that ends.
    if (isIdle() && youngBytes() >= leastBytes) collect()
  }
  return {
    ended: () => void (timer ??= clock.after(afterMs, look)),
    close: () => timer?.cancel(),
  }
}

function nurseryBytes(): number {
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  return spaces.find(({ space_name: name }) => name === 'new_space')?.space_used_size ?? 0
}

function collectYoung(): void {
  exposedCollector()({ type: 'minor' })
}
