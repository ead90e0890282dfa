/**
 * Runs one coordinator on one cluster: tracks its inputs (`input-tracker.ts`, as for a controller), lets it take in what has
 * changed, and asks it for decisions once for each batch of changes, or when the time has come that it named.
 *
 *     loading ─▶ deciding ◀─▶ decided
 *                   └─ error ─▶ failed ── back-off ─▶ deciding, from a fresh list
 *
 * After an error of author code its state may be wrong in any way, so it is started anew; meanwhile there are no decisions, and
 * reconciles that read one are suspended. A coordinator takes at most half of the thread: the next batch is as long as the last
 * decision took.
 */
import type { Timer, Clock } from '../../clock/clock.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import type { Resource } from '../../kube/kind.ts'
import type { Coordinator } from '../../operator/coordinator/coordinator.ts'
import { Coordination } from '../../operator/coordinator/coordination.ts'
import type { InputChange, ObjectName } from '../../operator/view/view.ts'
import type { CausalityTracker } from '../findings/causality-tracker.ts'
import { createInputTracker, type InputTracker } from '../inputs/input-tracker.ts'
import type { Log } from '../logging/log-line.ts'
import { type DecisionPace, noPace, paceAfter } from './decision-pace.ts'

export interface CoordinatorHostOptions {
  /** The name of the operator. */
  readonly operator: string
  readonly coordinator: Coordinator
  readonly client: Client
  readonly cache: SharedCache
  readonly namespaces?: readonly string[] | undefined
  readonly clock: Clock
  /** The current configuration of the operator. */
  readonly config: () => unknown
  readonly history: CausalityTracker
  readonly log: Log
  /** Decisions have changed, because of this origin (`causality-tracker.ts`). */
  readonly onDecided: (changed: readonly string[], origin: number) => void
  /** Decisions can be read now: the first ones of a new state. */
  readonly onReady: () => void
  /** A batch is decided. */
  readonly onBatch?: ((changed: number, tookMs: number) => void) | undefined
  /** Runs its code, and notes that it holds the thread. */
  readonly holding?: (<T>(step: string, work: () => T) => T) | undefined
  /** A mistake of its author code. */
  readonly onProblem: (message: string) => void
}

export interface CoordinatorHost {
  readonly coordinator: Coordinator
  /** Resolves when its inputs are loaded. */
  start(): Promise<void>
  /** Whether decisions can be read. */
  readonly isReady: boolean
  /** Resolves when all changes so far are decided, or when it has failed. */
  decided(): Promise<void>
  decision(key: string): unknown
  /** The decisions in force, by key. */
  readonly decisions: ReadonlyMap<string, unknown>
  /** Starts the state anew: the configuration has changed. */
  restart(): void
  /** Resolves when no input is being loaded and no batch is open. */
  settled(): Promise<void>
  stop(): void
}

/** Between an error and the next attempt. */
const backOff = { firstMs: 1000, mostMs: 300_000 } as const
/** The longest batch. */
const mostBatchMs = 1000

export function createCoordinatorHost(options: CoordinatorHostOptions): CoordinatorHost {
  const { operator, coordinator, clock, history, holding = (_step, work) => work() } = options
  const tracker: InputTracker = createInputTracker({
    operator: { name: operator, inputs: coordinator.inputs, declaredInputs: coordinator.declaredInputs },
    client: options.client,
    cache: options.cache,
    namespaces: options.namespaces,
    log: options.log,
    ownWrites: true,
    onChange: (change) => look(change.resource, nameOf(change), () => history.originOf(change)),
    onNamed: ({ resource }, name) => look(resource, name, () => history.newOrigin()),
    onKind: (resource) => lookAtKind(resource),
    onLoaded: () => undefined,
  })
  const coordination = new Coordination(coordinator, tracker.references)
  const waiters = new Set<() => void>()
  let state: 'loading' | 'deciding' | 'decided' | 'failed' | 'stopped' = 'loading'
  /** The newest origin of the batch; undefined: no input has changed. */
  let origin: number | undefined
  /** The next decision or attempt. */
  let timer: Timer | undefined
  let pace: DecisionPace = noPace
  /** The next batch is not decided before. */
  let earliest = 0
  let failures = 0
  let failedAt = -Infinity

  function arm(at: number, due: () => void): void {
    timer?.cancel()
    timer = clock.after(Math.max(at - clock.now(), 0), due)
  }

  // ── changes ────────────────────────────────────────────────────────────────────────────────────────────────

  function look(resource: Resource, name: ObjectName, originOf: () => number): void {
    if (state !== 'deciding' && state !== 'decided') return
    attempt('take', () => {
      if (coordination.note(resource, name, tracker.peek(resource, name))) open(originOf())
    })
  }

  /** The objects of a kind that is served now are reported one by one. */
  function lookAtKind(resource: Resource): void {
    if ((state !== 'deciding' && state !== 'decided') || tracker.source.serves(resource)) return
    attempt('take', () => {
      if (coordination.noteGone(resource)) open(history.newOrigin())
    })
  }

  /** Adds a change to the batch. */
  function open(cause: number): void {
    origin = Math.max(cause, origin ?? 0)
    if (state === 'deciding') return
    state = 'deciding'
    const now = clock.now()
    // The clock may have been set back.
    arm(Math.min(Math.max(earliest, now), now + mostBatchMs), decide)
  }

  /** From a fresh list. */
  function begin(): void {
    timer?.cancel()
    attempt('start', () => {
      coordination.start(options.config(), tracker.source)
      state = 'decided'
      open(history.newOrigin())
    })
  }

  // ── decisions ──────────────────────────────────────────────────────────────────────────────────────────────

  function decide(): void {
    const startedAt = clock.now()
    const { isFresh } = coordination
    const outcome = attempt('decide', () => coordination.decide(startedAt))
    if (!outcome) return
    const { changed, again } = outcome
    const now = clock.now()
    const byInput = origin !== undefined
    const cause = origin ?? history.newOrigin()
    state = 'decided'
    origin = undefined
    earliest = now + Math.min(now - startedAt, mostBatchMs)
    const next = paceAfter(pace, { now, again, hasChanged: changed.length > 0, byInput })
    pace = next.pace
    if (next.problem !== undefined) options.onProblem(next.problem)
    if (next.at !== undefined) arm(next.at, decide)
    options.onBatch?.(changed.length, now - startedAt)
    notifyWaiters()
    if (changed.length > 0) options.onDecided(changed, cause)
    if (isFresh) options.onReady()
  }

  /** Undefined: the author code has failed. */
  function attempt<T>(step: string, work: () => T): T | undefined {
    try {
      return holding(step, work)
    } catch (error) {
      fail(error)
      return undefined
    }
  }

  function fail(error: unknown): void {
    const now = clock.now()
    if (now - failedAt > 2 * backOff.mostMs) failures = 0
    failedAt = now
    const delay = Math.min(backOff.firstMs * 2 ** failures++, backOff.mostMs)
    state = 'failed'
    origin = undefined
    pace = noPace
    arm(now + delay, begin)
    options.onProblem(`failed, and starts anew in ${delay / 1000} s: ${textOf(error)}`)
    notifyWaiters()
  }

  function notifyWaiters(): void {
    const woken = [...waiters]
    waiters.clear()
    for (const waiter of woken) waiter()
  }

  const decided = async (): Promise<void> => {
    // At least a turn: the change that enqueued a reconcile may reach its controller before it is taken in here.
    await Promise.resolve()
    if (state === 'deciding') await new Promise<void>((resolve) => void waiters.add(resolve))
  }

  return {
    coordinator,
    async start() {
      await tracker.start()
      if (state === 'loading') begin()
    },
    get isReady() {
      return (state === 'deciding' || state === 'decided') && !coordination.isFresh
    },
    decided,
    decision: (key) => coordination.decision(key),
    get decisions() {
      return coordination.decisions
    },
    restart() {
      if (state === 'deciding' || state === 'decided') begin()
    },
    async settled() {
      await tracker.settled()
      await decided()
    },
    stop() {
      state = 'stopped'
      timer?.cancel()
      tracker.stop()
      notifyWaiters()
    },
  }
}

function nameOf({ before, after }: InputChange): ObjectName {
  const { name = '', namespace } = (after ?? before)!.metadata
  return { name, namespace }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
