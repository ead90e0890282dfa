/**
 * The scheduler: which key of which operator runs when. It replaces the work queues of single controllers. It opens one
 * lane for each operator (`lane.ts`), and shares the workers among them.
 *
 * The operator with the fewest reconciles in progress goes first, so one with ten thousand queued keys delays another
 * by one reconcile and not by ten thousand; and one that hangs does not keep its workers from the others
 * (`gates/share.ts`). Within an operator, priority decides. Between operators it decides one thing: a resync yields to
 * changes and retries of other operators, until it has waited for a while.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { GateOptions } from '../gates/gate-options.ts'
import { givesWay } from '../gates/priority.ts'
import { defaultPatienceMs, keptPlaces, yieldsAt } from '../gates/share.ts'
import { Lane, type LaneObserver, type QueuedKey, type SchedulerLane } from './lane.ts'

interface SchedulerOptions {
  readonly clock: Clock
  /** Concurrent reconciles of all operators. */
  readonly concurrency: number
  /** How long a reconcile holds its worker. @default 5000 */
  readonly patienceMs?: number
  readonly observer?: LaneObserver
}

export interface Scheduler {
  /** A new lane. Its keys wait until it is served. */
  openLane(name: string, gates: GateOptions): SchedulerLane
  readonly running: number
  /** Changes the number of concurrent reconciles of all operators. */
  resize(concurrency: number): void
}

interface Chosen {
  readonly lane: Lane
  readonly item: QueuedKey
}

export function createScheduler(options: SchedulerOptions): Scheduler {
  const { clock, observer, patienceMs = defaultPatienceMs } = options
  let share = { concurrency: options.concurrency, patienceMs }
  const lanes = new Set<Lane>()
  let turn = 0
  let alarm: { readonly at: number; readonly timer: Timer } | undefined
  let lookedAt = clock.now()

  /** Long reconciles matter only when workers are scarce. */
  const isScarce = (): boolean => scheduler.running + keptPlaces(share, lanes.size) >= share.concurrency

  const freePlaces = (now: number): number => {
    if (!isScarce()) return share.concurrency - scheduler.running
    let taken = 0
    for (const lane of lanes) for (const since of lane.running.values()) if (yieldsAt(since, share) > now) taken++
    return share.concurrency - taken
  }

  const choose = (now: number, free: number): Chosen | undefined => {
    const isForNewcomers = free <= keptPlaces(share, lanes.size)
    const order = [...lanes].filter(
      (lane) => lane.isWaiting && (!isForNewcomers || (lane.running.size === 0 && !lane.isSlow)),
    )
    order.sort((a, b) => a.running.size - b.running.size || a.servedAt - b.servedAt)
    let patient: Chosen | undefined
    for (const lane of order) {
      const item = lane.take(now)
      if (!item) continue
      const { cause, collected } = item
      if (!givesWay(cause, collected.since, now, lane.gates.priority)) {
        patient?.lane.putBack(patient.item)
        return { lane, item }
      }
      if (patient) lane.putBack(item)
      else patient = { lane, item }
    }
    return patient
  }

  const start = async ({ lane, item }: Chosen, now: number): Promise<void> => {
    lane.servedAt = ++turn
    scheduler.running++
    await lane.start(item, now)
    scheduler.running--
    const endedAt = clock.now()
    lane.isSlow = yieldsAt(now, share) <= endedAt
    lane.end(item.key, endedAt - now)
    pump()
  }

  const pump = (): void => {
    const now = clock.now()
    if (now < lookedAt) for (const lane of lanes) lane.setBack(now)
    lookedAt = now
    for (let free = freePlaces(now); free > 0; free--) {
      const chosen = choose(now, free)
      if (!chosen) break
      void start(chosen, now)
    }
    for (const lane of lanes) lane.wakeIfIdle()
    arm(now)
  }

  /** Sets the timer: to the next key that is due or affordable, or to when a long reconcile gives its worker back. */
  const arm = (now: number): void => {
    let at = Infinity
    let isWaiting = false
    for (const lane of lanes) {
      const next = lane.nextAt(now)
      if (next > now) at = Math.min(at, next)
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
    for (const lane of lanes)
      for (const since of lane.running.values()) {
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
    openLane(name, gates) {
      const lane = new Lane(name, gates, { clock, observer, pump, remove: (left) => void lanes.delete(left) })
      lanes.add(lane)
      return lane
    },
  }
  return scheduler
}
