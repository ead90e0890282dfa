/**
 * Measures reconciles: each gets an id, and its ledger states what it took. Operators in this thread, isolated ones and
 * programs are measured alike. Dry runs and test environments, whose ledgers must be reproducible, are not measured.
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
import { kindText } from '../../operator/dependent/entry.ts'
import type { SentWrite } from '../../operator/ledger.ts'
import { mutationName, type Wave } from '../../operator/plan.ts'
import type { ObservedRun, Outcomes } from './run-observer.ts'

/** Busy time of this thread's event loop: the `busyMs` of a meter outside of tests. */
export function loopMs(): number {
  return performance.eventLoopUtilization().active
}

interface ProcessorMeter {
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
export function createProcessorMeter(busyMs: () => number): ProcessorMeter {
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

export interface RunMeter {
  /** A reconcile begins to compute. */
  begin(): MeteredRun
}

/** A reconcile that is measured. */
export type MeteredRun = Omit<ObservedRun, 'marks'>

interface RunMeterOptions {
  readonly clock: Clock
  readonly random: Random
  /** The processor time that is divided among the reconciles: `loopMs`. */
  readonly busyMs: () => number
  /** Makes the id known to the requests of the reconcile: `Tracing.within`. @default not traced */
  readonly within?: <T>(id: string, run: () => Promise<T>) => Promise<T>
}

export function createRunMeter(options: RunMeterOptions): RunMeter {
  const { clock, random, within = (_, run) => run() } = options
  const processor = createProcessorMeter(options.busyMs)
  return {
    begin() {
      const id = runId(random)
      const sent: SentWrite[] = []
      const metered = processor.open()
      const aside = async <T>(work: () => Promise<T>): Promise<T> => {
        metered.pause()
        try {
          return await work()
        } finally {
          metered.resume()
        }
      }
      return {
        within: (work) => within(id, work),
        aside,
        async sending(wave, hide, send) {
          const startedAt = clock.now()
          const outcomes = await aside(send)
          sent.push(...sentWrites(wave, outcomes, hide, { startedAt, endedAt: clock.now() }))
          return outcomes
        },
        end: (reads) => ({ id, endedAt: clock.now(), reads, cpuMs: metered.close(), sent }),
      }
    },
  }
}

function sentWrites(
  wave: Wave,
  outcomes: Outcomes,
  hide: (text: string) => string,
  times: Pick<SentWrite, 'startedAt' | 'endedAt'>,
): readonly SentWrite[] {
  return wave.map((mutation, index) => {
    const { subject, verb, resource } = mutation
    const isDone = outcomes[index]?.result === 'done'
    const { name, namespace } = mutationName(mutation)
    // The name of an existing object may be shown; a refused one could contain anything, even the value of a Secret.
    const shown = { name: isDone ? name : hide(name), namespace }
    return { subject, verb, kind: kindText(resource), name: shown, ...times, isDone }
  })
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
