/**
 * The watchdog: a thread that detects when an operator blocks the main thread for good.
 *
 * It is started with the first operator code. From then on the main thread writes heartbeats to a table (`heartbeat-table.ts`),
 * and the watchdog checks them while runs are in progress (`watch-thread.ts`). Without a sign of life for the limit, it
 * names the operator, records it for all replicas and restarts, and ends the process (`alarm.ts`).
 */
import { isMainThread, SHARE_ENV, Worker } from 'node:worker_threads'
import type { Clock } from '../../clock/clock.ts'
import type { Log } from '../logging/log-line.ts'
import { createThreadWatch, type ThreadPosition, type ThreadWatch } from '../threads/thread-watch.ts'
import type { Fact } from './fact.ts'
import { cell, createHeartbeatTable, type HeartbeatTable } from '../threads/heartbeat-table.ts'
import { keepWatch, noteLook, type WatchStart } from './watch-thread.ts'

export interface Watchdog {
  readonly heartbeats: HeartbeatTable
  /** For operator code outside of reconciles: loading modules, serving webhooks. */
  readonly thread: ThreadWatch
  /** Changes the limit; 0 turns the watchdog off. */
  limit(ms: number): void
  tell(fact: Fact): void
  close(): Promise<void>
}

export interface WatchdogOptions {
  readonly clock: Clock
  /** Receives a failure of the thread itself: then nothing is watched. */
  readonly log: Log
}

/** Until the settings are known. */
const firstLimitMs = 10_000

/** Undefined outside of a main thread: it would end a process that belongs to other code. */
export function openWatchdog({ clock, log }: WatchdogOptions): Watchdog | undefined {
  if (!isMainThread) return undefined
  const marks = createHeartbeatTable()
  const cells = new Int32Array(marks.buffer)
  Atomics.store(cells, cell.limit, firstLimitMs)
  const facts: Fact[] = []
  let worker: Worker | undefined
  let isClosed = false

  const start = (): Worker => {
    const workerData: WatchStart = { heartbeats: marks.buffer, alarm: alarmUrl }
    const code = `const { workerData } = require('node:worker_threads')\nvoid (${keepWatch.toString()})(workerData, ${noteLook.toString()})`
    const made = new Worker(code, {
      eval: true,
      name: 'watchdog',
      workerData,
      env: SHARE_ENV,
      argv: [],
      trackUnmanagedFds: false,
      // Enough for an alarm; until then it uses next to nothing.
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 2, stackSizeMb: 2 },
    })
    made.unref()
    made.on('error', (error) => log({ level: 'warn', msg: 'Watchdog failed', error: String(error) }))
    for (const fact of facts.splice(0)) made.postMessage(fact, [])
    return made
  }
  const heartbeats: HeartbeatTable = {
    ...marks,
    enter(place: ThreadPosition, isLoading) {
      if (!isClosed && Atomics.load(cells, cell.limit) > 0) worker ??= start()
      return marks.enter(place, isLoading)
    },
  }
  return {
    heartbeats,
    thread: createThreadWatch({ clock, heartbeats, onHeld: () => undefined }),
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

/** The most that a cell can hold, divided by six. */
const longestMs = 2 ** 28
const isSource = import.meta.url.endsWith('.ts')
const alarmUrl = new URL(`./alarm.${isSource ? 'ts' : 'js'}`, import.meta.url).href
