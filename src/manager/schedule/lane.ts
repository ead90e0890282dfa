/**
 * A lane: the work queue of one operator. Its keys wait for the operator's own gates (`gates/order.ts`); the scheduler
 * that opened the lane decides which lane gets the next worker.
 *
 * A key never runs twice at once, and is never lost: a key that is added while it runs runs again afterwards.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import { affordableAt, type Allowance, earned, fullAllowance, regranted, spend } from '../gates/allowance.ts'
import { cooledAt } from '../gates/cool-down.ts'
import { type Collected, noteChange, quietAt } from '../gates/debounce.ts'
import type { GateOptions } from '../gates/gate-options.ts'
import { type Gate, gateOrder } from '../gates/order.ts'
import { moreUrgent, type RunCause, urgency } from '../gates/priority.ts'
import { createHeap, type Heap } from './priority-queue.ts'

/** Notified of the queue's activity: for metrics and costs. */
export interface LaneObserver {
  /** `isNew`: the key was not queued already. */
  added(lane: string, cause: RunCause, isNew: boolean): void
  started(lane: string, waitedMs: number): void
  ended(lane: string, tookMs: number): void
}

/** Paused by an administrator; another replica holds the lease; the budget is exceeded. */
export type PauseReason = Extract<Gate, 'pause' | 'standby' | 'budget'>

/** `cause`: the most urgent reason that the key was queued for. */
type RunKey = (key: string, cause: RunCause) => Promise<void>

/** An operator's queue in the scheduler. */
export interface SchedulerLane {
  /** Names the function that runs a key; it never rejects. Until then, keys wait. */
  serve(run: RunKey): void
  /** Enqueues the key. */
  add(key: string, cause?: RunCause): void
  /** Enqueues the key after this time, unless it runs earlier. */
  addAfter(key: string, ms: number, cause?: RunCause): void
  forget(key: string): void
  /** Throttles the key: it does not run before this time has passed, unless `release` is called. */
  hold(key: string, ms: number): void
  release(key: string): void
  /** Charges the changes that a reconcile made. */
  spend(changes: number): void
  /** No key runs until all pause reasons are gone. */
  pause(why?: PauseReason): void
  resume(why?: PauseReason): void
  /** Replaces the gates; queued keys are evaluated again. */
  regate(gates: GateOptions): void
  state(): LaneState
  /** Resolves when no key is queued or running; keys that are due later do not count. */
  idle(): Promise<void>
  /** Accepts no more keys; resolves when the reconciles in progress have ended. */
  leave(): Promise<void>
}

/** For metrics, `muster top` and tests. */
export interface LaneState {
  readonly waiting: number
  readonly running: number
  /** The reconciles in progress, and since when. */
  readonly runs: readonly { readonly key: string; readonly since: number }[]
  /** The operator's concurrency. */
  readonly concurrency: number
  readonly later: number
  readonly isPaused: boolean
  /** Another replica holds the lease, and no administrator has paused it. @default false */
  readonly isStandby?: boolean
  /** Why queued keys do not run: the first closed gate, in `gateOrder`. */
  readonly heldBy: 'nothing' | Gate
}

/** The scheduler, as its lanes need it. */
interface LaneOwner {
  readonly clock: Clock
  readonly observer: LaneObserver | undefined
  /** A key may have become due. */
  pump(): void
  remove(lane: Lane): void
}

/** A key that waits for its gates. */
export interface QueuedKey {
  readonly key: string
  readonly cause: RunCause
  readonly collected: Collected
  /** When debounce and cool-down are open. */
  readonly due: number
}

export class Lane implements SchedulerLane {
  readonly name: string
  gates: GateOptions
  /** Start times. */
  readonly running: Map<string, number> = new Map()
  /** Its last reconcile took longer than the scheduler's patience. */
  isSlow = false
  /** The turn in which the scheduler last chose this lane. */
  servedAt = 0
  readonly #owner: LaneOwner
  #run: RunKey | undefined
  readonly #waiting = new Map<string, QueuedKey>()
  /** Queued keys by due time; replaced entries are skipped. */
  readonly #soon: Heap<QueuedKey> = createHeap((a, b) => a.due < b.due)
  /** Due keys by priority; replaced entries are skipped. */
  readonly #ready: Heap<QueuedKey> = createHeap((a, b) => this.#urgencyOf(a) < this.#urgencyOf(b))
  readonly #ended = new Map<string, number>()
  /** Throttled keys, and until when. */
  readonly #held = new Map<string, number>()
  readonly #later = new Map<string, { readonly at: number; readonly timer: Timer }>()
  #allowance: Allowance
  readonly #pauses = new Set<PauseReason>()
  #isLeaving = false
  #idlers: (() => void)[] = []

  constructor(name: string, gates: GateOptions, owner: LaneOwner) {
    this.name = name
    this.gates = gates
    this.#owner = owner
    this.#allowance = fullAllowance(gates.allowance, owner.clock.now())
  }

  // ── for the operator ───────────────────────────────────────────────────────────────────────────────────────

  serve(run: RunKey): void {
    this.#run = run
    this.#owner.pump()
  }

  add(key: string, cause: RunCause = 'change'): void {
    if (this.#isLeaving) return
    this.#cancelLater(key)
    const before = this.#waiting.get(key)
    const { clock, observer } = this.#owner
    observer?.added(this.name, cause, before === undefined)
    this.#wait(key, before ? moreUrgent(before.cause, cause) : cause, noteChange(before?.collected, clock.now()))
    this.#owner.pump()
  }

  addAfter(key: string, ms: number, cause: RunCause = 'retry'): void {
    if (this.#isLeaving || this.#waiting.has(key)) return
    const { clock } = this.#owner
    const at = clock.now() + ms
    const known = this.#later.get(key)
    if (known && known.at <= at) return
    this.#cancelLater(key)
    this.#later.set(key, { at, timer: clock.after(ms, () => this.add(key, cause)) })
  }

  forget(key: string): void {
    this.#cancelLater(key)
    this.#waiting.delete(key)
    this.wakeIfIdle()
  }

  hold(key: string, ms: number): void {
    const { clock } = this.#owner
    const until = clock.now() + ms
    this.#held.set(key, until)
    clock.after(ms, () => {
      if (this.#held.get(key) === until) this.#held.delete(key)
    })
    this.#again(key)
  }

  release(key: string): void {
    if (!this.#held.delete(key)) return
    this.#again(key)
    this.#owner.pump()
  }

  spend(changes: number): void {
    this.#allowance = spend(this.#allowance, changes, this.gates.allowance, this.#owner.clock.now())
  }

  pause(why: PauseReason = 'pause'): void {
    this.#pauses.add(why)
  }

  resume(why: PauseReason = 'pause'): void {
    if (this.#pauses.delete(why)) this.#owner.pump()
  }

  regate(gates: GateOptions): void {
    this.#allowance = regranted(this.#allowance, this.gates.allowance, gates.allowance, this.#owner.clock.now())
    this.gates = gates
    for (const key of this.#waiting.keys()) this.#again(key)
    this.#owner.pump()
  }

  state(): LaneState {
    const now = this.#owner.clock.now()
    const { running, gates } = this
    const items = [...this.#waiting.values()]
    const due = items.filter((item) => item.due <= now)
    const isAhead = (until: (key: string) => number): boolean =>
      due.length === 0 && items.some(({ key }) => until(key) > now)
    const closed: Readonly<Record<Gate, boolean>> = {
      pause: this.#pauses.has('pause'),
      standby: this.#pauses.has('standby'),
      budget: this.#pauses.has('budget'),
      throttle: isAhead((key) => this.#held.get(key) ?? now),
      coolDown: isAhead((key) => cooledAt(this.#ended.get(key), gates.coolDown)),
      debounce: due.length === 0,
      allowance: this.#payableAt(now) > now,
      // A key that is running waits for its own end, however many workers there are.
      concurrency: running.size >= gates.concurrency || due.every(({ key }) => running.has(key)),
      share: true,
    }
    return {
      waiting: items.length,
      running: running.size,
      runs: [...running].map(([key, since]) => ({ key, since })),
      concurrency: gates.concurrency,
      later: this.#later.size,
      isPaused: closed.pause || closed.standby,
      isStandby: closed.standby && !closed.pause,
      heldBy: items.length === 0 ? 'nothing' : gateOrder.find((gate) => closed[gate])!,
    }
  }

  idle(): Promise<void> {
    return this.#isIdle ? Promise.resolve() : new Promise((resolve) => void this.#idlers.push(resolve))
  }

  async leave(): Promise<void> {
    this.#isLeaving = true
    this.#waiting.clear()
    for (const key of this.#later.keys()) this.#cancelLater(key)
    await this.idle()
    this.#owner.remove(this)
  }

  // ── for the scheduler ──────────────────────────────────────────────────────────────────────────────────────

  get isWaiting(): boolean {
    return this.#waiting.size > 0
  }

  /** The next key that may run, by the gates of this operator. It is out of the queue: start it or put it back. */
  take(now: number): QueuedKey | undefined {
    this.#ripen(now)
    if (!this.#run || this.#pauses.size > 0 || this.running.size >= this.gates.concurrency) return undefined
    if (this.#payableAt(now) > now) return undefined
    const held: QueuedKey[] = []
    let found: QueuedKey | undefined
    for (let item = this.#ready.pop(); item; item = this.#ready.pop()) {
      if (this.#waiting.get(item.key) !== item) continue
      if (!this.running.has(item.key)) {
        found = item
        break
      }
      held.push(item)
    }
    // A key that is running waits for its own end.
    for (const item of held) this.#ready.push(item)
    return found
  }

  putBack(item: QueuedKey): void {
    this.#ready.push(item)
  }

  /** Runs the key. The caller awaits that, then calls `end`. */
  start({ key, cause, collected }: QueuedKey, now: number): Promise<void> {
    this.#waiting.delete(key)
    this.running.set(key, now)
    this.#owner.observer?.started(this.name, now - collected.since)
    return this.#run!(key, cause)
  }

  end(key: string, tookMs: number): void {
    this.running.delete(key)
    this.#owner.observer?.ended(this.name, tookMs)
    this.#cool(key)
    // The key was added during this reconcile: its due time did not include the cool-down yet.
    this.#again(key)
  }

  /** When a queued key is next due or affordable, for the scheduler's timer; `now`: it waits for a worker. */
  nextAt(now: number): number {
    if (!this.#run || this.#pauses.size > 0 || this.#waiting.size === 0) return Infinity
    const next = this.#soon.peek()
    const later = next && next.due > now ? next.due : Infinity
    if (this.#ready.size() === 0 && !(next && next.due <= now)) return later
    return Math.min(later, Math.max(this.#payableAt(now), now))
  }

  wakeIfIdle(): void {
    if (this.#idlers.length === 0 || !this.#isIdle) return
    const woken = this.#idlers
    this.#idlers = []
    for (const resolve of woken) resolve()
  }

  /**
   * The clock was set back: due times that are now far in the future are counted from now; a key then runs too early at
   * worst.
   */
  setBack(now: number): void {
    this.#ended.clear()
    this.#held.clear()
    for (const [key, since] of this.running) this.running.set(key, Math.min(since, now))
    for (const { key, cause, collected } of this.#waiting.values()) {
      const { since, latest } = collected
      this.#wait(key, cause, { since: Math.min(since, now), latest: Math.min(latest, now) })
    }
  }

  // ── gates ──────────────────────────────────────────────────────────────────────────────────────────────────

  #wait(key: string, cause: RunCause, collected: Collected): void {
    const { gates } = this
    const open = Math.max(quietAt(collected, gates.debounce), cooledAt(this.#ended.get(key), gates.coolDown))
    const item: QueuedKey = { key, cause, collected, due: Math.max(open, this.#held.get(key) ?? open) }
    this.#waiting.set(key, item)
    this.#soon.push(item)
  }

  /** Evaluates the gates of a queued key again. */
  #again(key: string): void {
    const item = this.#waiting.get(key)
    if (item) this.#wait(key, item.cause, item.collected)
  }

  /** Moves keys that have become due to `#ready`. */
  #ripen(now: number): void {
    const soon = this.#soon
    for (let item = soon.peek(); item && item.due <= now; item = soon.peek()) {
      soon.pop()
      if (this.#waiting.get(item.key) === item) this.#ready.push(item)
    }
  }

  /** End times are kept only while they matter: keys come and go. */
  #cool(key: string): void {
    const { leastMs } = this.gates.coolDown
    if (leastMs <= 0) return
    const { clock } = this.#owner
    const now = clock.now()
    this.#ended.set(key, now)
    clock.after(leastMs, () => {
      if (this.#ended.get(key) === now) this.#ended.delete(key)
    })
  }

  /**
   * Reconciles in progress are not charged yet: each is assumed to make one change, so that they do not all start on
   * the last one.
   */
  #payableAt(now: number): number {
    const { allowance } = this.gates
    const { left, at } = earned(this.#allowance, allowance, now)
    return affordableAt({ left: left - this.running.size, at }, allowance)
  }

  #urgencyOf({ cause, collected }: QueuedKey): number {
    return urgency(cause, collected.since, this.gates.priority)
  }

  #cancelLater(key: string): void {
    this.#later.get(key)?.timer.cancel()
    this.#later.delete(key)
  }

  get #isIdle(): boolean {
    return this.#waiting.size === 0 && this.running.size === 0
  }
}
