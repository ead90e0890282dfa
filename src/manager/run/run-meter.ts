/**
 * Measures reconciles: each gets an id, and its ledger states what it took. It wraps a `RunReconcile`, so that
 * operators in this thread and isolated ones are measured alike. Dry runs and test environments, whose ledgers must be
 * reproducible, are not measured.
 *
 * Processor time per reconcile: Node reports how long its event loop was busy, not for which task. So the meter samples
 * whenever a reconcile starts to compute and whenever it submits a wave, and divides the busy time in between equally
 * among the reconciles that were computing. A reconcile that waits for writes or for live calls is not computing. The
 * sum over all reconciles never exceeds the busy time; the rest (caches, requests, leases) is attributed to no
 * operator, and reported so. Where author code awaits anything else, its share is an overestimate. Time spent in a
 * worker or another process is not seen here.
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

/** Busy time of this thread's event loop: the input of `createMeter` outside of tests. */
export function loopMs(): number {
  return performance.eventLoopUtilization().active
}

interface Meter {
  /** Starts measuring a reconcile that computes from now on. */
  open(): Metered
}

interface Metered {
  pause(): void
  resume(): void
  /** Ends the measurement and returns the busy time. */
  close(): number
}

/** `busyMs` is the total that is divided. */
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
          // A live call of author code that timed out may return long after its reconcile.
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
  /** Makes the id known to the requests of the reconcile: `Tracing.within`. @default not traced */
  readonly within?: <T>(id: string, run: () => Promise<T>) => Promise<T>
}

/** The same `RunReconcile`, whose ledgers have an `effort`. */
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
          // The name of an existing object may be shown; a refused one could contain anything, even the value of a
          // Secret.
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

/** Live calls do not count as computing. */
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

/** Only recorded views count their reads. */
function readsOf(view: View & { readonly reads?: readonly unknown[] }): number {
  return view.reads?.length ?? 0
}

/** 128 bits, as W3C Trace Context requires; not all zero. */
function runId(random: Random): string {
  const word = (): string =>
    Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  const id = word() + word() + word() + word()
  return /[1-9a-f]/.test(id) ? id : `${'0'.repeat(31)}1`
}
