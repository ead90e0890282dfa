/**
 * Enforces budgets: limits on an operator's use of shared resources. An operator that exceeds one is paused, and that
 * is reported:
 *
 * | budget   | what counts                                                       | paused until                               |
 * | -------- | ----------------------------------------------------------------- | ------------------------------------------ |
 * | memory   | its share of the caches: objects divided among their readers      | a check finds less, or the budget is raised |
 * | requests | its writes, Events, reads and commands, in the last minute        | it is at nine tenths of the budget         |
 *
 * Reconciles in progress finish: a plan is not cut in two. A budget is a pause reason, so it precedes every gate that
 * opens at a time, and follows a pause by an administrator.
 *
 * The heap of an operator is not included: the levels `worker` and `process` limit that.
 */
import type { InformerReport, SharedCache } from '../../cache/shared-cache.ts'
import type { Clock, Timer } from '../../clock/clock.ts'
import type { OverBudget } from '../findings/finding.ts'
import type { BudgetOptions } from '../gates/gate-options.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import { fewerAt, noRequests, noteRequest, requestsIn, type RequestWindow } from './request-window.ts'

interface BudgetKeeperOptions {
  readonly clock: Clock
  readonly onFinding: (finding: OverBudget) => void
}

interface Budgeted {
  readonly operator: string
  /** The consumer of the cache that is measured. */
  readonly consumer: string
  readonly cache: Pick<SharedCache, 'report'>
  readonly lane: Pick<SchedulerLane, 'pause' | 'resume'>
  readonly budget: BudgetOptions
}

export interface BudgetKeeper {
  join(budgeted: Budgeted): Budget
  /** Checks the caches now. */
  look(): void
}

/** The budget of one operator. */
export interface Budget {
  request(): void
  /** From now on. */
  change(budget: BudgetOptions): void
  leave(): void
}

interface Member {
  readonly of: Budgeted
  budget: BudgetOptions
  window: RequestWindow
  /** The exceeded budgets. */
  readonly over: Set<OverBudget['budget']>
  relief: Timer | undefined
}

/** Below this share it is resumed: at the limit, the next request would pause it again. */
const enough = 0.9
/** How often caches are checked, which iterates over every object. */
const lookMs = 10_000

export function createBudgetKeeper({ clock, onFinding }: BudgetKeeperOptions): BudgetKeeper {
  const members = new Set<Member>()
  let timer: Timer | undefined

  const exceed = (member: Member, budget: OverBudget['budget'], used: number, allowed: number): void => {
    if (member.over.has(budget)) return
    member.over.add(budget)
    member.of.lane.pause('budget')
    const { operator } = member.of
    onFinding({ kind: 'overBudget', operator, controller: '', key: '', at: clock.now(), budget, used, allowed })
  }

  const relieve = (member: Member, budget: OverBudget['budget']): void => {
    if (member.over.delete(budget) && member.over.size === 0) member.of.lane.resume('budget')
  }

  const judgeMemory = (member: Member, informers: readonly InformerReport[]): void => {
    const { memoryBytes: allowed } = member.budget
    const used = bytesOf(informers, member.of.consumer)
    if (allowed !== undefined && used > allowed) exceed(member, 'memory', used, allowed)
    else relieve(member, 'memory')
  }

  const judgeRequests = (member: Member): void => {
    const { requestsPerMinute: allowed } = member.budget
    const now = clock.now()
    const used = requestsIn(member.window, now)
    member.relief?.cancel()
    member.relief = undefined
    if (allowed !== undefined && used > allowed) exceed(member, 'requests', used, allowed)
    const most = allowed === undefined ? Infinity : Math.floor(allowed * enough)
    if (used <= most) relieve(member, 'requests')
    if (!member.over.has('requests')) return
    const at = fewerAt(member.window, most, now)
    member.relief = clock.after(Math.max(at - now, 1), () => judgeRequests(member))
  }

  const look = (): void => {
    // One report of a cache serves all operators that share it.
    const reports = new Map<object, readonly InformerReport[]>()
    for (const member of members) {
      if (member.budget.memoryBytes === undefined) continue
      const { cache } = member.of
      const informers = reports.get(cache) ?? cache.report()
      reports.set(cache, informers)
      judgeMemory(member, informers)
    }
  }

  /** The timer runs only while an operator has a memory budget. */
  const watch = (): void => {
    const isNeeded = [...members].some(({ budget }) => budget.memoryBytes !== undefined)
    if (!isNeeded) {
      timer?.cancel()
      timer = undefined
    }
    if (!isNeeded || timer) return
    timer = clock.after(lookMs, () => {
      timer = undefined
      look()
      watch()
    })
  }

  return {
    look,
    join(of) {
      const member: Member = { of, budget: of.budget, window: noRequests, over: new Set(), relief: undefined }
      members.add(member)
      watch()
      return {
        request() {
          if (member.budget.requestsPerMinute === undefined) return
          member.window = noteRequest(member.window, clock.now())
          // A paused operator is checked when its time to resume comes.
          if (!member.over.has('requests')) judgeRequests(member)
        },
        change(budget) {
          member.budget = budget
          if (budget.memoryBytes === undefined) relieve(member, 'memory')
          else judgeMemory(member, of.cache.report())
          judgeRequests(member)
          watch()
        },
        leave() {
          members.delete(member)
          member.relief?.cancel()
          watch()
        },
      }
    },
  }
}

function bytesOf(informers: readonly InformerReport[], consumer: string): number {
  const shares = informers.flatMap(({ consumers }) => consumers).filter((share) => share.consumer === consumer)
  return shares.reduce((sum, { bytes }) => sum + bytes, 0)
}
