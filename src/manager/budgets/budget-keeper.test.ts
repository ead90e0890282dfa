import { describe, expect, it } from 'vitest'
import type { InformerReport } from '../../cache/shared-cache.ts'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { describeFinding, type OverBudget } from '../findings/finding.ts'
import { type BudgetOptions, defaultGates } from '../gates/gate-options.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import { createScheduler } from '../schedule/scheduler.ts'
import { type Budget, type BudgetKeeper, createBudgetKeeper } from './budget-keeper.ts'

interface Scene {
  readonly clock: VirtualClock
  readonly keeper: BudgetKeeper
  readonly lane: SchedulerLane
  readonly budget: Budget
  readonly runs: string[]
  readonly findings: OverBudget[]
  /** What is cached for it from now on. */
  readonly cached: (bytes: number) => void
  readonly looks: () => number
}

function open(options: BudgetOptions, perRun = 0): Scene {
  const clock = virtualClock()
  const findings: OverBudget[] = []
  const runs: string[] = []
  let bytes = 0
  let looks = 0
  const cache = {
    report: () => {
      looks++
      const consumers = [
        { consumer: 'a', objects: 1, bytes: bytes / 2 },
        { consumer: 'other', objects: 1, bytes: 1e9 },
      ]
      // Of two kinds.
      return [{ consumers }, { consumers }] as unknown as readonly InformerReport[]
    },
  }
  const keeper = createBudgetKeeper({ clock, onFinding: (finding) => void findings.push(finding) })
  const scheduler = createScheduler({ clock, concurrency: 1 })
  const lane = scheduler.openLane('a', defaultGates)
  lane.serve(async (key) => {
    runs.push(key)
    for (let index = 0; index < perRun; index++) budget.request()
  })
  const budget: Budget = keeper.join({ operator: 'a', consumer: 'a', cache, lane, budget: options })
  return { clock, keeper, lane, budget, runs, findings, cached: (given) => (bytes = given), looks: () => looks }
}

describe('a request budget', () => {
  it('holds an operator that has used it, with one finding, until a tenth is free', async () => {
    const { clock, lane, runs, findings } = open({ requestsPerMinute: 20 }, 3)
    for (let index = 0; index < 10; index++) lane.add(`k${index}`)
    await clock.advance(0)
    // The seventh run goes beyond it, and ends as it would have.
    expect(runs).toHaveLength(7)
    expect(lane.state()).toMatchObject({ waiting: 3, heldBy: 'budget', isPaused: false })
    expect(findings).toMatchObject([{ kind: 'overBudget', operator: 'a', budget: 'requests', used: 21, allowed: 20 }])
    expect(describeFinding(findings[0]!)).toBe('a: made 21 requests within a minute, and 20 are allowed. It waits.')
    await clock.advance(59_999)
    expect(runs).toHaveLength(7)
    await clock.advance(1)
    expect(runs).toHaveLength(10)
    expect(lane.state().heldBy).toBe('nothing')
    expect(findings).toHaveLength(1)
  })

  it('holds in every minute except for requests of a single run', async () => {
    const { clock, lane, runs } = open({ requestsPerMinute: 20 }, 3)
    const counts: number[] = []
    for (let second = 0; second < 300; second++) {
      lane.add(`k${second}`)
      await clock.advance(1000)
      counts.push(runs.length)
    }
    // To the second: what was done in the first of sixty may be forgotten in the last.
    for (let second = 59; second < 300; second++) {
      expect(3 * (counts[second]! - counts[second - 59]!)).toBeLessThanOrEqual(20 + 2)
    }
    expect(3 * runs.length).toBeGreaterThan(20 * 4)
  })

  it('that is raised or removed takes effect at once; one that is lowered holds the operator', async () => {
    const { clock, lane, runs, budget, findings } = open({ requestsPerMinute: 2 }, 3)
    lane.add('one')
    lane.add('two')
    await clock.advance(0)
    expect(runs).toEqual(['one'])
    budget.change({ requestsPerMinute: 100 })
    await clock.advance(0)
    expect(runs).toEqual(['one', 'two'])
    budget.change({ requestsPerMinute: 2 })
    lane.add('three')
    await clock.advance(0)
    expect(runs).toHaveLength(2)
    expect(findings).toHaveLength(2)
    budget.change({})
    await clock.advance(0)
    expect(runs).toHaveLength(3)
  })
})

describe('a memory budget', () => {
  it('holds an operator whose cached objects exceed it, until a sample is below', async () => {
    const { clock, keeper, lane, runs, findings, cached } = open({ memoryBytes: 10 * 2 ** 20 })
    cached(12 * 2 ** 20)
    keeper.look()
    lane.add('k')
    await clock.advance(9_000)
    expect(runs).toEqual([])
    expect(lane.state().heldBy).toBe('budget')
    expect(findings.map(describeFinding)).toEqual([
      'a: 12.0 MiB are cached for it, and 10.0 MiB are allowed. It is held until there is less, or more is allowed.',
    ])
    cached(10 * 2 ** 20)
    await clock.advance(1_000)
    expect(runs).toEqual(['k'])
  })

  it('is checked only where an operator has one', async () => {
    const { clock, budget, looks } = open({})
    await clock.advance(3600_000)
    expect(looks()).toBe(0)
    budget.change({ memoryBytes: 1 })
    await clock.advance(30_000)
    expect(looks()).toBe(4)
    budget.leave()
    await clock.advance(3600_000)
    expect(looks()).toBe(4)
  })
})

describe('two budgets', () => {
  it('must both be kept: an operator waits until neither is exceeded', async () => {
    const { clock, keeper, lane, runs, findings, cached } = open({ memoryBytes: 10, requestsPerMinute: 2 }, 3)
    lane.add('one')
    await clock.advance(0)
    cached(11)
    keeper.look()
    lane.add('two')
    expect(findings.map(({ budget }) => budget)).toEqual(['requests', 'memory'])
    await clock.advance(120_000)
    expect(runs).toEqual(['one'])
    cached(9)
    await clock.advance(10_000)
    expect(runs).toEqual(['one', 'two'])
  })
})
