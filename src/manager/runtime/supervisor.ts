/**
 * The supervisor: keeps named things running as desired. The desired state may change at any time; each name converges
 * step by step, independently of the others: a failed start is retried with back-off and delays no other name.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

interface SupervisorOptions<Desired, Running> {
  readonly clock: Clock
  /** The signal aborts when the desired state has changed: cancel the start. */
  start(name: string, target: Desired, signal: AbortSignal): Promise<Running>
  /** Waits for work in progress. */
  end(name: string, running: Running): Promise<void>
  /** Whether the change can be applied without a restart. */
  isSame(before: Desired, after: Desired): boolean
  /** Applies a change without a restart. */
  adjust(name: string, running: Running, after: Desired): void
  /** A start failed and is retried after `retryMs`; or a stop or an adjustment failed, which is not retried. */
  onProblem(name: string, error: unknown, retryMs: number | undefined): void
}

export type AssignmentState = 'starting' | 'active' | 'stopping' | 'failed'

export interface Supervisor<Desired> {
  /**
   * Sets the desired state. Resolves when everything that is no longer desired has ended; new starts may be in
   * progress.
   */
  setDesired(target: ReadonlyMap<string, Desired>): Promise<void>
  readonly states: ReadonlyMap<string, AssignmentState>
  /** Failed starts, and why. */
  readonly failures: ReadonlyMap<string, unknown>
  /** Resolves when every start has succeeded or failed at least once. */
  settled(): Promise<void>
  /** Ends everything. Later calls of `setDesired` have no effect. */
  stop(): Promise<void>
}

interface Entry<Desired, Running> {
  state: AssignmentState | undefined
  /** The desired state that it was last started with. */
  as: Desired | undefined
  running: Running | undefined
  failures: number
  failure: unknown
  retry: Timer | undefined
  /** Cancels the start in progress. */
  starting: AbortController | undefined
  /** The current or last step. */
  work: Promise<void>
}

const firstRetryMs = 1000
const mostRetryMs = 60_000

export function createSupervisor<Desired, Running extends object>(
  options: SupervisorOptions<Desired, Running>,
): Supervisor<Desired> {
  const { clock } = options
  let desired: ReadonlyMap<string, Desired> = new Map()
  let isStopped = false
  const entries = new Map<string, Entry<Desired, Running>>()

  const entryOf = (name: string): Entry<Desired, Running> => {
    let entry = entries.get(name)
    if (!entry) {
      entry = {
        state: undefined,
        as: undefined,
        running: undefined,
        failures: 0,
        failure: undefined,
        retry: undefined,
        starting: undefined,
        work: Promise.resolve(),
      }
      entries.set(name, entry)
    }
    return entry
  }

  async function end(name: string, entry: Entry<Desired, Running>): Promise<void> {
    const { running } = entry
    if (!running) return
    entry.running = undefined
    entry.state = 'stopping'
    try {
      await options.end(name, running)
    } catch (error) {
      options.onProblem(name, error, undefined)
    }
  }

  async function start(name: string, entry: Entry<Desired, Running>, target: Desired): Promise<void> {
    const starting = new AbortController()
    Object.assign(entry, { state: 'starting', as: target, starting })
    try {
      entry.running = await options.start(name, target, starting.signal)
      Object.assign(entry, { state: 'active', failures: 0 })
    } catch (error) {
      entry.state = 'failed'
      entry.failure = error
      if (starting.signal.aborted) {
        // The start did not fail, and the name may be desired again.
        entry.as = undefined
        return
      }
      const retryMs = Math.min(firstRetryMs * 2 ** entry.failures++, mostRetryMs)
      options.onProblem(name, error, retryMs)
      entry.retry = clock.after(retryMs, () => {
        entry.as = undefined
        void converge(name)
      })
    } finally {
      entry.starting = undefined
    }
  }

  /** One step towards the desired state. */
  async function step(name: string, entry: Entry<Desired, Running>): Promise<void> {
    if (entries.get(name) !== entry) return
    const target = desired.get(name)
    if (target === undefined) {
      await end(name, entry)
      if (desired.has(name)) return
      entry.retry?.cancel()
      entries.delete(name)
      return
    }
    if (entry.running && entry.as !== target) {
      if (options.isSame(entry.as!, target)) options.adjust(name, entry.running, target)
      else await end(name, entry)
      entry.as = target
    }
    const isWaiting = entry.state === 'failed' && entry.as !== undefined && isDesiredAs(name, entry.as)
    if (!entry.running && !isWaiting) {
      entry.retry?.cancel()
      const now = desired.get(name)
      if (now !== undefined) await start(name, entry, now)
    }
  }

  async function stepAfter(before: Promise<void>, name: string, entry: Entry<Desired, Running>): Promise<void> {
    await before
    try {
      await step(name, entry)
    } catch (error) {
      // A failed step must not prevent the next one.
      options.onProblem(name, error, undefined)
    }
  }

  async function converge(name: string): Promise<void> {
    const entry = entryOf(name)
    // A start that is no longer desired is cancelled.
    if (entry.starting && !isDesiredAs(name, entry.as!)) entry.starting.abort()
    entry.work = stepAfter(entry.work, name, entry)
    await entry.work
  }

  function isDesiredAs(name: string, as: Desired): boolean {
    const target = desired.get(name)
    return target !== undefined && (target === as || options.isSame(as, target))
  }

  return {
    async setDesired(target) {
      if (isStopped) return
      const leaving = [...entries.keys()].filter((name) => !target.has(name))
      desired = target
      for (const name of target.keys()) void converge(name)
      await Promise.all(leaving.map(converge))
    },
    get states() {
      return new Map([...entries].flatMap(([name, { state }]) => (state ? [[name, state] as const] : [])))
    },
    get failures() {
      const failed = [...entries].filter(([, { state }]) => state === 'failed')
      return new Map(failed.map(([name, { failure }]) => [name, failure]))
    },
    async settled() {
      await Promise.all([...entries.values()].map(({ work }) => work))
    },
    async stop() {
      isStopped = true
      desired = new Map()
      await Promise.all([...entries.keys()].map(converge))
    },
  }
}
