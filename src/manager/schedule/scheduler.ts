/**
 * The scheduler: who runs when, over all operators. Gates answer when a key may run; `gates/order.ts` has their order.
 *
 * Places are shared: the operator with the fewest runs under way goes first, so one with ten thousand keys waiting delays
 * another by one run and not by ten thousand; and one that hangs does not keep its places from the others
 * (`gates/share.ts`). Within an operator, urgency decides. Between operators it decides one thing: a resync gives way to
 * what anybody else has to do, until it has waited for a while.
 *
 * A key never runs twice at once, and is never lost: what is asked for while it runs is run afterwards.
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

/** What an operator may use of what is everybody's; `budgets/` keeps it. */
export interface BudgetOptions {
  /** Cached on its behalf. @default no limit */
  readonly memoryBytes?: number
  /** To API servers. @default no limit */
  readonly requestsPerMinute?: number
}

export interface GateOptions {
  readonly debounce: DebounceOptions
  readonly coolDown: CoolDownOptions
  readonly allowance: AllowanceOptions
  readonly priority: PriorityOptions
  /** Runs of this operator at once. @default 8 */
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

/** For an operator that is alone: nothing holds it back but how many runs there are at once. */
export const openGates: GateOptions = {
  ...defaultGates,
  allowance: { perMinute: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER },
}

export interface SchedulerOptions {
  readonly clock: Clock
  /** Runs of all operators at once. */
  readonly concurrency: number
  /** How long a run keeps its place from other operators. @default 5 s */
  readonly patienceMs?: number
  readonly observer?: LaneObserver
}

/** Hears what passes through lanes: what metrics and costs count. */
export interface LaneObserver {
  /** `isNew`: the key did not wait already. */
  added(lane: string, cause: RunCause, isNew: boolean): void
  started(lane: string, waitedMs: number): void
  ended(lane: string, tookMs: number): void
}

/** Somebody said so; another replica has the right to run; it has used what it may. */
export type PauseReason = Extract<Gate, 'pause' | 'standby' | 'budget'>

/** What an operator holds of the scheduler. */
export interface SchedulerLane {
  /** Something happened that concerns the key. */
  add(key: string, cause?: RunCause): void
  /** At that time, unless it runs earlier. */
  addAfter(key: string, ms: number, cause?: RunCause): void
  forget(key: string): void
  /** Not before this time has passed, whatever happens; `release` takes it back. */
  hold(key: string, ms: number): void
  release(key: string): void
  /** The changes that a run made. */
  spend(changes: number): void
  /** Nothing of it runs until every reason to pause is gone. */
  pause(why?: PauseReason): void
  resume(why?: PauseReason): void
  /** From now on; what waits is judged anew. */
  regate(gates: GateOptions): void
  state(): LaneState
  /** Resolves when nothing waits or runs; what is due at a later time does not count. */
  idle(): Promise<void>
  /** Takes nothing more; resolves when what runs has ended. */
  leave(): Promise<void>
}

/** For metrics, `muster top` and tests. */
export interface LaneState {
  readonly waiting: number
  readonly running: number
  /** What runs, and since when. */
  readonly runs: readonly { readonly key: string; readonly since: number }[]
  /** How many may run at once. */
  readonly places: number
  readonly later: number
  readonly isPaused: boolean
  /** What holds its keys back at the moment: the first of the gates that are closed, in their order. */
  readonly heldBy: 'nothing' | Gate
}

export interface Scheduler {
  /** `run` never rejects. */
  join(name: string, gates: GateOptions, run: (key: string) => Promise<void>): SchedulerLane
  readonly running: number
  /** Runs of all operators at once, from now on. */
  resize(concurrency: number): void
}

interface Waiting {
  readonly key: string
  readonly cause: RunCause
  readonly collected: Collected
  /** When debounce and cool-down let it through. */
  readonly due: number
}

interface Member {
  readonly name: string
  gates: GateOptions
  readonly run: (key: string) => Promise<void>
  readonly waiting: Map<string, Waiting>
  /** Those that wait, by when they are due; entries that were replaced are skipped. */
  readonly soon: Heap<Waiting>
  /** Those that are due, by urgency; likewise. */
  readonly ready: Heap<Waiting>
  /** Since when. */
  readonly running: Map<string, number>
  readonly ended: Map<string, number>
  /** Until when keys are held back. */
  readonly held: Map<string, number>
  readonly later: Map<string, { readonly at: number; readonly cause: RunCause; readonly timer: Timer }>
  allowance: Allowance
  readonly pauses: Set<PauseReason>
  isLeaving: boolean
  /** Its last run outlasted our patience. */
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

  /** What waits is judged anew. */
  const again = (member: Member, key: string): void => {
    const item = member.waiting.get(key)
    if (item) wait(member, key, item.cause, item.collected)
  }

  /** Moves what has become due; says when the next one will. */
  const ripen = (member: Member, now: number): void => {
    const { soon, ready, waiting } = member
    for (let item = soon.peek(); item && item.due <= now; item = soon.peek()) {
      soon.pop()
      if (waiting.get(item.key) === item) ready.push(item)
    }
  }

  /** The next key that may run, as far as its own operator is concerned. */
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
    // What runs already waits on for its own end.
    for (const item of held) ready.push(item)
    return found
  }

  /** As long as there is enough for all, it does not matter what lasts. */
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
    // What was asked for meanwhile was let through by a cool-down that knew nothing of this run.
    const next = member.waiting.get(key)
    if (next) wait(member, key, next.cause, next.collected)
    pump()
  }

  /** Remembered only as long as it matters: keys come and go. */
  const cool = ({ ended, gates }: Member, key: string): void => {
    const { leastMs } = gates.coolDown
    if (leastMs <= 0) return
    const now = clock.now()
    ended.set(key, now)
    clock.after(leastMs, () => {
      if (ended.get(key) === now) ended.delete(key)
    })
  }

  /** The clock was set back: what was to come at a moment that now lies far ahead counts from now, and comes early at most. */
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

  /** Time is looked at again when the next key is due, can be afforded, or may get the place of a run that lasts. */
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
    // What is due and can be afforded waits for a place: it is looked at when one falls free.
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
      crawl: isAhead((key) => held.get(key) ?? now),
      coolDown: isAhead((key) => cooledAt(ended.get(key), gates.coolDown)),
      debounce: due.length === 0,
      allowance: payableAt(member, now) > now,
      // What runs already waits for its own end, however many places there are.
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

/** What is under way has not paid yet: it is taken to change something, so that many at once do not share one last coin. */
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
