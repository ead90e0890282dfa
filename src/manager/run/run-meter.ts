/**
 * Runs that are measured: each gets an id, and its ledger says what it took. A wrapper around whoever drives, so that
 * operators in this thread and elsewhere are measured alike, and offline runs and trials, which must give the same ledger
 * each time, are not.
 *
 * Whose is the processor? Node tells how long its event loop was busy, not for whom. So time is looked at whenever a run
 * begins to work something out and whenever it hands over a wave; what the loop was busy in between belongs to the runs that
 * were at work, in equal parts. A run that waits for writes, or for the outside world (`live`), is not at work. The sum over
 * all runs is never more than the loop was busy; the rest (caches, requests, leases) is nobody's, and told as such. Where
 * author code awaits anything else, its share of what others do meanwhile is an overestimate; what a worker or another
 * process takes is not seen here.
 */
import type { Clock } from '../../clock/clock.ts'
import type { Random } from '../../clock/random.ts'
import { kindText } from '../../operator/entry.ts'
import type { Effort, SentWrite } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import { mutationName } from '../../operator/plan.ts'
import { watchSecrets } from '../../operator/secrecy.ts'
import type { View } from '../../operator/view.ts'
import type { RunReconcile } from './run-reconcile.ts'
import type { Execute } from './executor.ts'

/** How long the event loop of this thread has been busy: what `createMeter` goes by outside of tests. */
export function loopMs(): number {
  return performance.eventLoopUtilization().active
}

export interface Meter {
  /** A run that is at work from now on. */
  open(): Metered
}

export interface Metered {
  pause(): void
  resume(): void
  /** Ends it; says what it took. */
  close(): number
}

/** `busyMs` is what is shared out. */
export function createMeter(busyMs: () => number): Meter {
  const atWork = new Set<{ spent: number }>()
  let seen = busyMs()
  const share = (): void => {
    const now = busyMs()
    for (const run of atWork) run.spent += (now - seen) / atWork.size
    seen = now
  }
  return {
    open() {
      const run = { spent: 0 }
      let isClosed = false
      share()
      atWork.add(run)
      return {
        pause() {
          share()
          atWork.delete(run)
        },
        resume() {
          share()
          // Author code that timed out may come back from outside long after its run.
          if (!isClosed) atWork.add(run)
        },
        close() {
          isClosed = true
          share()
          atWork.delete(run)
          return run.spent
        },
      }
    },
  }
}

export interface MeasureOptions {
  readonly clock: Clock
  readonly random: Random
  readonly meter: Meter
  /** Lets requests of the run know its id: `Tracing.within`. @default nobody asks */
  readonly within?: <T>(id: string, run: () => Promise<T>) => Promise<T>
}

/** The same drive, whose ledgers have an `effort`. */
export function measured(drive: RunReconcile, options: MeasureOptions): RunReconcile {
  const { clock, random, meter, within = (_, run) => run() } = options
  return async (situation, execute) => {
    const id = runId(random)
    const sent: SentWrite[] = []
    const secrets = watchSecrets(situation.view)
    const metered = meter.open()
    const carryOut: Execute = async (wave, run) => {
      metered.pause()
      const startedAt = clock.now()
      try {
        const outcomes = await execute(wave, run)
        const endedAt = clock.now()
        for (const [index, mutation] of wave.entries()) {
          const { subject, verb, resource } = mutation
          const isDone = outcomes[index]?.result === 'done'
          // What is there may be read by its name; what was refused may bear any, a Secret's value too.
          const { name, namespace } = mutationName(mutation)
          const told = isDone ? { name, namespace } : { name: secrets.hide(name), namespace }
          sent.push({ subject, verb, kind: kindText(resource), name: told, startedAt, endedAt, isDone })
        }
        return outcomes
      } finally {
        metered.resume()
      }
    }
    try {
      const live = unmeasured(situation.live, metered)
      const { ledger, memory } = await within(id, () => drive({ ...situation, view: secrets.view, live }, carryOut))
      const reads = readsOf(situation.view)
      const effort: Effort = { id, endedAt: clock.now(), reads, cpuMs: metered.close(), sent }
      return { ledger: { ...ledger, effort }, memory }
    } finally {
      metered.close()
    }
  }
}

/** The outside world, which takes its time. */
function unmeasured(live: Live, metered: Metered): Live {
  const aside = async <T>(ask: () => Promise<T>): Promise<T> => {
    metered.pause()
    try {
      return await ask()
    } finally {
      metered.resume()
    }
  }
  return {
    ...live,
    exec: (...asked) => aside(() => live.exec(...asked)),
    http: (...asked) => aside(() => live.http(...asked)),
  }
}

/** Views that are recorded know. */
function readsOf(view: View & { readonly reads?: readonly unknown[] }): number {
  return view.reads?.length ?? 0
}

/** 128 bits, as W3C's trace context wants them; not all zero. */
function runId(random: Random): string {
  const word = (): string =>
    Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  const id = word() + word() + word() + word()
  return /[1-9a-f]/.test(id) ? id : `${'0'.repeat(31)}1`
}
