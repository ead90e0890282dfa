/**
 * The loop of the watchdog's thread: it sleeps, and reads the heartbeat table from time to time. It sleeps without a timer while
 * no run is in progress, so an idle manager causes no wake-ups.
 *
 * These two functions are passed to the thread as source text. Loading a module would take three times the memory
 * (README.md); so they use nothing but their arguments and globals. An alarm loads what it needs.
 */

/** The result of the last check. */
export interface Watching {
  readonly sign: number
  /** How long there was no sign of life, as far as the watchdog can tell. */
  readonly silentMs: number
}

export interface Look {
  readonly sign: number
  /** How long the watchdog slept, and how long it intended to. */
  readonly sleptMs: number
  readonly wantedMs: number
}

/** If the watchdog itself overslept (a suspended machine, a stopped process), the count restarts. */
export function noteLook(before: Watching, { sign, sleptMs, wantedMs }: Look): Watching {
  const isKnown = sign === before.sign && sleptMs <= wantedMs + 1000
  return { sign, silentMs: isKnown ? before.silentMs + Math.min(sleptMs, wantedMs) : 0 }
}

export interface WatchStart {
  readonly heartbeats: SharedArrayBuffer
  /** The module with `raiseAlarm`. */
  readonly alarm: string
}

interface AlarmModule {
  raiseAlarm(heartbeats: SharedArrayBuffer, silentMs: number): Promise<void>
}

/** The numbers are those of `cell` in `heartbeat-table.ts`. */
export async function keepWatch(
  { heartbeats, alarm }: WatchStart,
  note: (before: Watching, look: Look) => Watching,
): Promise<void> {
  const cells = new Int32Array(heartbeats)
  const [signAt, seatedAt, loadingAt, asleepAt, limitAt] = [0, 2, 3, 4, 5] as const
  const sleeping = new Int32Array(new SharedArrayBuffer(4))
  const fresh = (): Watching => ({ sign: Atomics.load(cells, signAt), silentMs: 0 })
  let watching = fresh()
  for (;;) {
    const limitMs = Atomics.load(cells, limitAt)
    if (Atomics.load(cells, seatedAt) === 0) {
      // In this order: a run that begins now sees the flag, or the check below sees the run.
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
    // Loading a module may take long, and cannot yield.
    const patience = Atomics.load(cells, loadingAt) > 0 ? 6 : 1
    if (limitMs === 0 || watching.silentMs < limitMs * patience) continue
    try {
      // From here on time matters: use the code that the main thread has compiled before.
      process.getBuiltinModule('node:module').enableCompileCache()
      const loaded = (await import(alarm)) as AlarmModule
      await loaded.raiseAlarm(heartbeats, watching.silentMs)
    } catch (error) {
      const { writeSync } = process.getBuiltinModule('node:fs')
      writeSync(2, `${JSON.stringify({ level: 'error', msg: 'Watchdog failed', error: String(error) })}\n`)
      process.kill(process.pid, 'SIGKILL')
    }
    watching = fresh()
  }
}
