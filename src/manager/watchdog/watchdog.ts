/**
 * The watchdog: a thread that sees what nobody in the main thread can tell, that an operator does not give it back.
 *
 * It is started with the first code that may do so. From then on the main thread leaves marks on a board (`mark-board.ts`), and
 * the thread looks at them while anybody is seated (`watch-thread.ts`). When there has been no sign for the limit, it names who
 * it was, records that for every replica and restart, and ends the process (`alarm.ts`).
 */
import { isMainThread, SHARE_ENV, Worker } from 'node:worker_threads'
import type { Clock } from '../../clock/clock.ts'
import type { Log } from '../logging/log-line.ts'
import { createThreadWatch, type ThreadPosition, type ThreadWatch } from '../threads/thread-watch.ts'
import type { Fact } from './fact.ts'
import { cell, createMarkBoard, type MarkBoard } from '../threads/mark-board.ts'
import { keepWatch, noteLook, type WatchStart } from './watch-thread.ts'

export interface Watchdog {
  readonly board: MarkBoard
  /** For code that is no run of an operator: what is loaded, what answers webhooks. */
  readonly thread: ThreadWatch
  /** The limit from now on; 0: there is no watchdog. */
  limit(ms: number): void
  tell(fact: Fact): void
  close(): Promise<void>
}

export interface WatchdogOptions {
  readonly clock: Clock
  /** Hears when the thread itself has failed: then nobody watches. */
  readonly log: Log
  /** Until the settings are known. @default 10_000 */
  readonly limitMs?: number
}

/** Undefined where it would end more than it should: outside of the main thread, whose process is somebody else's. */
export function openWatchdog({ clock, log, limitMs = 10_000 }: WatchdogOptions): Watchdog | undefined {
  if (!isMainThread) return undefined
  const marks = createMarkBoard()
  const cells = new Int32Array(marks.buffer)
  Atomics.store(cells, cell.limit, limitMs)
  const facts: Fact[] = []
  let worker: Worker | undefined
  let isClosed = false

  const start = (): Worker => {
    const workerData: WatchStart = { board: marks.buffer, alarm: alarmUrl }
    const code = `const { workerData } = require('node:worker_threads')\nvoid (${keepWatch.toString()})(workerData, ${noteLook.toString()})`
    const made = new Worker(code, {
      eval: true,
      name: 'watchdog',
      workerData,
      env: SHARE_ENV,
      argv: [],
      trackUnmanagedFds: false,
      // What an alarm loads must fit; until then it uses next to nothing.
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 2, stackSizeMb: 2 },
    })
    made.unref()
    made.on('error', (error) => log({ problem: `nobody watches the thread any more: ${String(error)}` }))
    for (const fact of facts.splice(0)) made.postMessage(fact, [])
    return made
  }
  const board: MarkBoard = {
    ...marks,
    enter(place: ThreadPosition, isLoading) {
      if (!isClosed && Atomics.load(cells, cell.limit) > 0) worker ??= start()
      return marks.enter(place, isLoading)
    },
  }
  return {
    board,
    thread: createThreadWatch({ clock, board, onHeld: () => undefined }),
    limit(ms) {
      Atomics.store(cells, cell.limit, Math.min(ms, longestMs))
      if (ms > 0) return
      void worker?.terminate()
      worker = undefined
    },
    tell(fact) {
      if (worker) worker.postMessage(fact, [])
      else facts.push(fact)
    },
    async close() {
      isClosed = true
      await worker?.terminate()
    },
  }
}

/** What a cell can hold, six times over. */
const longestMs = 2 ** 28
const isSource = import.meta.url.endsWith('.ts')
const alarmUrl = new URL(`./alarm.${isSource ? 'ts' : 'js'}`, import.meta.url).href
