/**
 * Returns memory to the system when the manager is idle. V8 collects garbage on allocation: an idle manager would keep
 * the garbage of its start, half as much again as it needs. So once no key is queued or running and the heap has grown
 * much since the last collection, it collects. That takes a tenth of a second, in which no reconcile is waiting.
 */
import type { Clock } from '../../clock/clock.ts'
import { exposedCollector } from './exposed-collector.ts'

interface MemoryAtRestOptions {
  readonly clock: Clock
  /** No key is queued or running. */
  readonly isIdle: () => boolean
  /** Heap size. @default this process's */
  readonly heapBytes?: () => number
  /** @default a full collection that returns free memory */
  readonly collect?: () => void
  /** How often it checks; idle at two checks in a row is at rest. @default 5000 */
  readonly lookMs?: number
  /** Growth that is worth a collection. @default 32 MB */
  readonly leastBytes?: number
}

export function keepSmall(options: MemoryAtRestOptions): { close(): void } {
  const { clock, isIdle, heapBytes = ownHeap, collect = collectAll, lookMs = 5000, leastBytes = 32e6 } = options
  let wasIdle = false
  /** The heap size after the last collection; undefined: there was none. */
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
