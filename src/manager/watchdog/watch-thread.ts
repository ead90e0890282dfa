/**
 * What the watchdog's thread does for months: nothing, and now and then a look at the board. It sleeps for good while nobody
 * is seated, so a manager at rest is at rest.
 *
 * These two functions are handed to the thread as their own text. A thread that had to load a module for it would take
 * three times the memory (README.md); so they may use nothing but their arguments and what is there in every thread. What it
 * needs for an alarm it loads when there is one.
 */

/** What is known from the last look. */
export interface Watching {
  readonly sign: number
  /** How long there was no sign, as far as the watcher could tell. */
  readonly silentMs: number
}

export interface Look {
  readonly sign: number
  /** How long the watcher slept, and how long it wanted to. */
  readonly sleptMs: number
  readonly wantedMs: number
}

/** Whoever was not let run itself cannot tell: a machine that was suspended, a process that was stopped begin anew. */
export function noteLook(before: Watching, { sign, sleptMs, wantedMs }: Look): Watching {
  const isKnown = sign === before.sign && sleptMs <= wantedMs + 1000
  return { sign, silentMs: isKnown ? before.silentMs + Math.min(sleptMs, wantedMs) : 0 }
}

export interface WatchStart {
  readonly board: SharedArrayBuffer
  /** The module that has `raiseAlarm`. */
  readonly alarm: string
}

interface AlarmModule {
  raiseAlarm(board: SharedArrayBuffer, silentMs: number): Promise<void>
}

/** The numbers are those of `cell` in `mark-board.ts`. */
export async function keepWatch(
  { board, alarm }: WatchStart,
  note: (before: Watching, look: Look) => Watching,
): Promise<void> {
  const cells = new Int32Array(board)
  const [signAt, seatedAt, loadingAt, asleepAt, limitAt] = [0, 2, 3, 4, 5] as const
  const sleeping = new Int32Array(new SharedArrayBuffer(4))
  const fresh = (): Watching => ({ sign: Atomics.load(cells, signAt), silentMs: 0 })
  let watching = fresh()
  for (;;) {
    const limitMs = Atomics.load(cells, limitAt)
    if (Atomics.load(cells, seatedAt) === 0) {
      // In this order: whoever sits down now sees that we sleep, or we see him.
      Atomics.store(cells, asleepAt, 1)
      if (Atomics.load(cells, seatedAt) === 0) Atomics.wait(cells, asleepAt, 1)
      Atomics.store(cells, asleepAt, 0)
      watching = fresh()
      continue
    }
    const wantedMs = Math.max(limitMs / 8, 10)
    const before = performance.now()
    Atomics.wait(sleeping, 0, 0, wantedMs)
    const look = { sign: Atomics.load(cells, signAt), sleptMs: performance.now() - before, wantedMs }
    watching = note(watching, look)
    // A module may take long to be loaded, and nobody could have it pause.
    const patience = Atomics.load(cells, loadingAt) > 0 ? 6 : 1
    if (limitMs === 0 || watching.silentMs < limitMs * patience) continue
    try {
      // Time counts from here on: what the main thread has compiled before need not be compiled again.
      process.getBuiltinModule('node:module').enableCompileCache()
      const loaded = (await import(alarm)) as AlarmModule
      await loaded.raiseAlarm(board, watching.silentMs)
    } catch (error) {
      const { writeSync } = process.getBuiltinModule('node:fs')
      writeSync(2, `${JSON.stringify({ level: 'error', error: `the watchdog failed: ${String(error)}` })}\n`)
      process.kill(process.pid, 'SIGKILL')
    }
    watching = fresh()
  }
}
