/**
 * Memory given back at rest. V8 collects garbage when somebody allocates: a manager that has filled its caches and then has
 * nothing to do keeps what the start left behind, half as much again as it needs, for as long as nothing happens. So once
 * nothing waits or runs, and much has been taken since the last time, it is collected at once. That takes a tenth of a
 * second, in which nobody waits for anything.
 */
import type { Clock } from '../../clock/clock.ts'
import { exposedCollector } from './exposed-collector.ts'

export interface MemoryAtRestOptions {
  readonly clock: Clock
  /** Nothing waits or runs. */
  readonly isIdle: () => boolean
  /** What the heap has taken from the system. @default this process's */
  readonly heapBytes?: () => number
  /** @default everything, and what is free is given back */
  readonly collect?: () => void
  /** How often it is looked; what is idle twice in a row is at rest. @default 5000 */
  readonly lookMs?: number
  /** Less than this is not worth it. @default 32 MB */
  readonly leastBytes?: number
}

export function keepSmall(options: MemoryAtRestOptions): { close(): void } {
  const { clock, isIdle, heapBytes = ownHeap, collect = collectAll, lookMs = 5000, leastBytes = 32e6 } = options
  let wasIdle = false
  /** After the last time; undefined: there was none. */
  let after: number | undefined
  let timer = clock.after(lookMs, look)

  function look(): void {
    timer = clock.after(lookMs, look)
    const isAtRest = wasIdle && isIdle()
    wasIdle = isIdle()
    if (!isAtRest || (after !== undefined && heapBytes() - after < leastBytes)) return
    collect()
    after = heapBytes()
  }

  return { close: () => timer.cancel() }
}

function ownHeap(): number {
  return process.memoryUsage().heapTotal
}

function collectAll(): void {
  exposedCollector()({ type: 'major', flavor: 'last-resort' })
}
