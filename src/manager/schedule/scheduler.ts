/**
 * The scheduler: which key of which operator runs when. It replaces the work queues of single controllers. Gates answer
 * when a key may run; `gates/order.ts` has their order.
 *
 * Workers are shared: the operator with the fewest reconciles in progress goes first, so one with ten thousand queued
 * keys delays another by one reconcile and not by ten thousand; and one that hangs does not keep its workers from the
 * others (`gates/share.ts`). Within an operator, priority decides. Between operators it decides one thing: a resync
 * yields to changes and retries of other operators, until it has waited for a while.
 *
 * A key never runs twice at once, and is never lost: a key that is added while it runs runs again afterwards.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import {
  affordableAt,
  type Allowance,
  type AllowanceOptions,
  earned,
  fullAllowance,
  regranted,
  spend,
} from '../gates/allowance.ts'
import { cooledAt, type CoolDownOptions } from '../gates/cool-down.ts'
import { type Collected, type DebounceOptions, noteChange, quietAt } from '../gates/debounce.ts'
import { type Gate, gateOrder } from '../gates/order.ts'
import { type RunCause, givesWay, moreUrgent, type PriorityOptions, urgency } from '../gates/priority.ts'
import { defaultPatienceMs, keptPlaces, yieldsAt } from '../gates/share.ts'
import { createHeap, type Heap } from './priority-queue.ts'

/** What an operator may use of shared resources; enforced by `budgets/`. */
export interface BudgetOptions {
  /** Bytes cached for the operator. @default no limit */
  readonly memoryBytes?: number
  /** Requests to API servers. @default no limit */
  readonly requestsPerMinute?: number
}

export interface GateOptions {
  readonly debounce: DebounceOptions
  readonly coolDown: CoolDownOptions
  readonly allowance: AllowanceOptions
  readonly priority: PriorityOptions
  /** Concurrent reconciles of this operator. @default 8 */
  readonly concurrency: number
  /** @default no limits */
  readonly budget?: BudgetOptions
}

export const defaultGates: GateOptions = {
  debounce: { quietMs: 0, maxMs: 1000 },
  coolDown: { leastMs: 0 },
  allowance: { perMinute: 6000, burst: 1000 },
  priority: { ageMs: 10_000 },
  concurrency: 8,
}

/** For an operator that runs alone: only its concurrency limits it. */
export const openGates: GateOptions = {
  ...defaultGates,
  allowance: { perMinute: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER },
}

interface SchedulerOptions {
  readonly clock: Clock
  /** Concurrent reconciles of all operators. */
  readonly concurrency: number
  /** How long a reconcile holds its worker. @default 5000 */
  readonly patienceMs?: number
  readonly observer?: LaneObserver
}

/** Notified of the queue's activity: for metrics and costs. */
export interface LaneObserver {
  /** `isNew`: the key was not queued already. */
  added(lane: string, cause: RunCause, isNew: boolean): void
  started(lane: string, waitedMs: number): void
  ended(lane: string, tookMs: number): void
}

/** Paused by an administrator; another replica holds the lease; the budget is exceeded. */
export type PauseReason = Extract<Gate, 'pause' | 'standby' | 'budget'>

/** An operator's queue in the scheduler. */
export interface SchedulerLane {
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
  readonly places: number
  readonly later: number
  readonly isPaused: boolean
  /** Why queued keys do not run: the first closed gate, in `gateOrder`. */
  readonly heldBy: 'nothing' | Gate
}

export interface Scheduler {
  /** `run` never rejects. */
  join(name: string, gates: GateOptions, run: (key: string) => Promise<void>): SchedulerLane
  readonly running: number
  /** Changes the number of concurrent reconciles of all operators. */
  resize(concurrency: number): void
}

interface Waiting {
  readonly key: string
  readonly cause: RunCause
  readonly collected: Collected
  /** When debounce and cool-down are open. */
  readonly due: number
}

interface Member {
  readonly name: string
  gates: GateOptions
  readonly run: (key: string) => Promise<void>
  readonly waiting: Map<string, Waiting>
  /** Queued keys by due time; replaced entries are skipped. */
  readonly soon: Heap<Waiting>
  /** Due keys by priority; replaced entries are skipped. */
  readonly ready: Heap<Waiting>
  /** Start times. */
  readonly running: Map<string, number>
  readonly ended: Map<string, number>
  /** Throttled keys, and until when. */
  readonly held: Map<string, number>
  readonly later: Map<string, { readonly at: number; readonly cause: RunCause; readonly timer: Timer }>
  allowance: Allowance
  readonly pauses: Set<PauseReason>
  isLeaving: boolean
  /** Its last reconcile took longer than `patienceMs`. */
  isSlow: boolean
  servedAt: number
  idlers: (() => void)[]
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { clock, observer, patienceMs = defaultPatienceMs } = options
  let share = { concurrency: options.concurrency, patienceMs }
  const members = new Set<Member>()
  let turn = 0
  let alarm: { readonly at: number; readonly timer: Timer } | undefined
  let lookedAt = clock.now()

  const wait = (member: Member, key: string, cause: RunCause, collected: Collected): void => {
    const { gates, waiting, soon, ended, held } = member
    const open = Math.max(quietAt(collected, gates.debounce), cooledAt(ended.get(key), gates.coolDown))
    const due = Math.max(open, held.get(key) ?? open)
    const item: Waiting = { key, cause, collected, due }
    waiting.set(key, item)
    soon.push(item)
  }

  const add = (member: Member, key: string, cause: RunCause): void => {
    if (member.isLeaving) return
    cancelLater(member, key)
    const before = member.waiting.get(key)
    observer?.added(member.name, cause, before === undefined)
    wait(member, key, before ? moreUrgent(before.cause, cause) : cause, noteChange(before?.collected, clock.now()))
    pump()
  }

  /** Evaluates the gates of a queued key again. */
  const again = (member: Member, key: string): void => {
    const item = member.waiting.get(key)
    if (item) wait(member, key, item.cause, item.collected)
  }

  /** Moves keys that have become due to `ready`. */
  const ripen = (member: Member, now: number): void => {
    const { soon, ready, waiting } = member
    for (let item = soon.peek(); item && item.due <= now; item = soon.peek()) {
      soon.pop()
      if (waiting.get(item.key) === item) ready.push(item)
    }
  }

  /** The next key that may run, by the gates of its own operator. */
  const candidate = (member: Member, now: number): Waiting | undefined => {
    const { ready, waiting, running: own, gates } = member
    if (member.pauses.size > 0 || own.size >= gates.concurrency) return undefined
    if (payableAt(member, now) > now) return undefined
    const held: Waiting[] = []
    let found: Waiting | undefined
    for (let item = ready.pop(); item; item = ready.pop()) {
      if (waiting.get(item.key) !== item) continue
      if (!own.has(item.key)) {
        found = item
        break
      }
      held.push(item)
    }
    // A key that is running waits for its own end.
    for (const item of held) ready.push(item)
    return found
  }

  /** Long reconciles matter only when workers are scarce. */
  const isScarce = (): boolean => scheduler.running + keptPlaces(share, members.size) >= share.concurrency

  const freePlaces = (now: number): number => {
    if (!isScarce()) return share.concurrency - scheduler.running
    let taken = 0
    for (const member of members) for (const since of member.running.values()) if (yieldsAt(since, share) > now) taken++
    return share.concurrency - taken
  }

  const choose = (now: number, free: number): { readonly member: Member; readonly item: Waiting } | undefined => {
    const isForNewcomers = free <= keptPlaces(share, members.size)
    const order = [...members].filter(
      ({ waiting, running: own, isSlow }) => waiting.size > 0 && (!isForNewcomers || (own.size === 0 && !isSlow)),
    )
    order.sort((a, b) => a.running.size - b.running.size || a.servedAt - b.servedAt)
    let patient: { readonly member: Member; readonly item: Waiting } | undefined
    for (const member of order) {
      ripen(member, now)
      const item = candidate(member, now)
      if (!item) continue
      const { cause, collected } = item
      if (!givesWay(cause, collected.since, now, member.gates.priority)) {
        patient?.member.ready.push(patient.item)
        return { member, item }
      }
      if (patient) member.ready.push(item)
      else patient = { member, item }
    }
    return patient
  }

  const start = (member: Member, { key, collected }: Waiting, now: number): void => {
    member.waiting.delete(key)
    member.running.set(key, now)
    member.servedAt = ++turn
    scheduler.running++
    observer?.started(member.name, now - collected.since)
    void work(member, key, now)
  }

  const work = async (member: Member, key: string, startedAt: number): Promise<void> => {
    await member.run(key)
    member.running.delete(key)
    scheduler.running--
    const now = clock.now()
    member.isSlow = yieldsAt(startedAt, share) <= now
    observer?.ended(member.name, now - startedAt)
    cool(member, key)
    // The key was added during this reconcile: its due time did not include the cool-down yet.
    const next = member.waiting.get(key)
    if (next) wait(member, key, next.cause, next.collected)
    pump()
  }

  /** End times are kept only while they matter: keys come and go. */
  const cool = ({ ended, gates }: Member, key: string): void => {
    const { leastMs } = gates.coolDown
    if (leastMs <= 0) return
    const now = clock.now()
    ended.set(key, now)
    clock.after(leastMs, () => {
      if (ended.get(key) === now) ended.delete(key)
    })
  }

  /**
   * The clock was set back: due times that are now far in the future are counted from now; a key then runs too early at
   * worst.
   */
  const setBack = (now: number): void => {
    for (const member of members) {
      member.ended.clear()
      member.held.clear()
      for (const [key, since] of member.running) member.running.set(key, Math.min(since, now))
      for (const { key, cause, collected } of member.waiting.values()) {
        const { since, latest } = collected
        wait(member, key, cause, { since: Math.min(since, now), latest: Math.min(latest, now) })
      }
    }
  }

  const pump = (): void => {
    const now = clock.now()
    if (now < lookedAt) setBack(now)
    lookedAt = now
    for (let free = freePlaces(now); free > 0; free--) {
      const chosen = choose(now, free)
      if (!chosen) break
      start(chosen.member, chosen.item, now)
    }
    for (const member of members) if (isIdle(member)) wake(member)
    arm(now)
  }

  /** Sets the timer: to the next key that is due or affordable, or to when a long reconcile gives its worker back. */
  const arm = (now: number): void => {
    let at = Infinity
    let isWaiting = false
    for (const member of members) {
      if (member.pauses.size > 0 || member.waiting.size === 0) continue
      const { soon, ready } = member
      const next = soon.peek()
      if (next && next.due > now) at = Math.min(at, next.due)
      if (ready.size() === 0 && !(next && next.due <= now)) continue
      const affordable = payableAt(member, now)
      if (affordable > now) at = Math.min(at, affordable)
      else isWaiting = true
    }
    // A key that is due and affordable waits for a worker: it is considered when one becomes free.
    if (isWaiting && isScarce()) at = Math.min(at, nextYield(now))
    if (alarm && alarm.at <= at && alarm.at > now) return
    alarm?.timer.cancel()
    alarm = at === Infinity ? undefined : { at, timer: clock.after(Math.max(Math.ceil(at - now), 0), ring) }
  }

  const nextYield = (now: number): number => {
    let at = Infinity
    for (const member of members)
      for (const since of member.running.values()) {
        const yields = yieldsAt(since, share)
        if (yields > now) at = Math.min(at, yields)
      }
    return at
  }

  const ring = (): void => {
    alarm = undefined
    pump()
  }

  const scheduler: Scheduler & { running: number } = {
    running: 0,
    resize(places) {
      share = { ...share, concurrency: places }
      pump()
    },
    join(name, gates, run) {
      const member: Member = {
        name,
        gates,
        run,
        waiting: new Map(),
        soon: createHeap((a, b) => a.due < b.due),
        ready: createHeap((a, b) => urgencyOf(a, member.gates) < urgencyOf(b, member.gates)),
        running: new Map(),
        ended: new Map(),
        held: new Map(),
        later: new Map(),
        allowance: fullAllowance(gates.allowance, clock.now()),
        pauses: new Set(),
        isLeaving: false,
        isSlow: false,
        servedAt: 0,
        idlers: [],
      }
      members.add(member)
      return laneOf(member)
    },
  }
  return scheduler

  function laneOf(member: Member): SchedulerLane {
    return {
      add: (key, cause = 'change') => add(member, key, cause),
      addAfter(key, ms, cause = 'retry') {
        if (member.isLeaving || member.waiting.has(key)) return
        const at = clock.now() + ms
        const known = member.later.get(key)
        if (known && known.at <= at) return
        cancelLater(member, key)
        member.later.set(key, { at, cause, timer: clock.after(ms, () => add(member, key, cause)) })
      },
      forget(key) {
        cancelLater(member, key)
        member.waiting.delete(key)
        if (isIdle(member)) wake(member)
      },
      hold(key, ms) {
        const until = clock.now() + ms
        member.held.set(key, until)
        clock.after(ms, () => {
          if (member.held.get(key) === until) member.held.delete(key)
        })
        again(member, key)
      },
      release(key) {
        if (!member.held.delete(key)) return
        again(member, key)
        pump()
      },
      spend(changes) {
        member.allowance = spend(member.allowance, changes, member.gates.allowance, clock.now())
      },
      pause(why = 'pause') {
        member.pauses.add(why)
      },
      resume(why = 'pause') {
        if (member.pauses.delete(why)) pump()
      },
      regate(gates) {
        member.allowance = regranted(member.allowance, member.gates.allowance, gates.allowance, clock.now())
        member.gates = gates
        for (const key of member.waiting.keys()) again(member, key)
        pump()
      },
      state: () => stateOf(member),
      idle: () => idle(member),
      async leave() {
        member.isLeaving = true
        member.waiting.clear()
        for (const key of member.later.keys()) cancelLater(member, key)
        await idle(member)
        members.delete(member)
      },
    }
  }

  function stateOf(member: Member): LaneState {
    const now = clock.now()
    const { waiting, running: own, later, pauses, gates, ended, held } = member
    const items = [...waiting.values()]
    const due = items.filter((item) => item.due <= now)
    const isAhead = (until: (key: string) => number): boolean =>
      due.length === 0 && items.some(({ key }) => until(key) > now)
    const closed: Readonly<Record<Gate, boolean>> = {
      pause: pauses.has('pause'),
      standby: pauses.has('standby'),
      budget: pauses.has('budget'),
      throttle: isAhead((key) => held.get(key) ?? now),
      coolDown: isAhead((key) => cooledAt(ended.get(key), gates.coolDown)),
      debounce: due.length === 0,
      allowance: payableAt(member, now) > now,
      // A key that is running waits for its own end, however many workers there are.
      concurrency: own.size >= gates.concurrency || due.every(({ key }) => own.has(key)),
      share: true,
    }
    const heldBy = waiting.size === 0 ? 'nothing' : gateOrder.find((gate) => closed[gate])!
    return {
      waiting: waiting.size,
      running: own.size,
      runs: [...own].map(([key, since]) => ({ key, since })),
      places: gates.concurrency,
      later: later.size,
      isPaused: pauses.has('pause') || pauses.has('standby'),
      heldBy,
    }
  }
}

function urgencyOf({ cause, collected }: Waiting, { priority }: GateOptions): number {
  return urgency(cause, collected.since, priority)
}

/**
 * Reconciles in progress are not charged yet: each is assumed to make one change, so that they do not all start on the
 * last one.
 */
function payableAt({ allowance, gates, running }: Member, now: number): number {
  const { left, at } = earned(allowance, gates.allowance, now)
  return affordableAt({ left: left - running.size, at }, gates.allowance)
}

function cancelLater(member: Member, key: string): void {
  member.later.get(key)?.timer.cancel()
  member.later.delete(key)
}

function isIdle({ waiting, running }: Member): boolean {
  return waiting.size === 0 && running.size === 0
}

function idle(member: Member): Promise<void> {
  return isIdle(member) ? Promise.resolve() : new Promise((resolve) => void member.idlers.push(resolve))
}

function wake(member: Member): void {
  const woken = member.idlers
  member.idlers = []
  for (const resolve of woken) resolve()
}
