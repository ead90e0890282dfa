/**
 * Collects young garbage between reconciles. V8 collects it when its young generation is full, which happens during
 * work: one change in twenty would wait some milliseconds for it before its write is sent. So shortly after a
 * reconcile, when no key is queued or running, its garbage is collected in a fraction of a millisecond, and the next
 * reconcile starts with an empty young generation. Under load nothing changes: V8 decides, as usual.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { exposedCollector } from './exposed-collector.ts'

interface YoungGarbageOptions {
  readonly clock: Clock
  /** No key is queued or running. */
  readonly isIdle: () => boolean
  /** Size of the young generation. @default this process's */
  readonly youngBytes?: () => number
  /** @default a collection of the young generation */
  readonly collect?: () => void
  /** Delay after a reconcile: the watch events of its writes have arrived by then. @default 5 */
  readonly afterMs?: number
  /** Garbage that is worth a collection. @default 2 MB */
  readonly leastBytes?: number
}

export interface YoungGarbage {
  /** A reconcile has ended. */
  ended(): void
  close(): void
}

export function keepYoung(options: YoungGarbageOptions): YoungGarbage {
  const { clock, isIdle, youngBytes = nurseryBytes, afterMs = 5, leastBytes = 2e6 } = options
  const { collect = collectYoung } = options
  let timer: Timer | undefined
  const look = (): void => {
    timer = undefined
    // If a reconcile is in progress, its end starts the next check.
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
