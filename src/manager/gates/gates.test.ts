import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { affordableAt, type Allowance, earned, fullAllowance, spend } from './allowance.ts'
import { cooledAt } from './cool-down.ts'
import { type Collected, noteChange, quietAt } from './debounce.ts'
import { type RunCause, givesWay, moreUrgent, urgency } from './priority.ts'

const times = (): fc.Arbitrary<readonly number[]> =>
  fc.array(fc.nat(10_000), { minLength: 1, maxLength: 50 }).map((list) => list.toSorted((a, b) => a - b))

describe('debounce', () => {
  const options = { quietMs: 50, maxMs: 1000 }
  const collect = (at: readonly number[]): Collected =>
    at.reduce<Collected | undefined>((collected, now) => noteChange(collected, now), undefined)!

  it('waits for quiet', () => {
    expect(quietAt(collect([0, 30, 60]), options)).toBe(110)
  })

  it('never waits longer than maxMs after the first change, however busy the input, nor less than quiet after the last', () => {
    fc.assert(
      fc.property(times(), (at) => {
        const due = quietAt(collect(at), options)
        expect(due).toBeLessThanOrEqual(at[0]! + options.maxMs)
        expect(due >= at.at(-1)! + options.quietMs || due === at[0]! + options.maxMs).toBe(true)
      }),
    )
  })
})

describe('cool-down', () => {
  it('counts from the end of the last run, and does not delay the first', () => {
    expect(cooledAt(undefined, { leastMs: 100 })).toBe(-Infinity)
    expect(cooledAt(500, { leastMs: 100 })).toBe(600)
  })
})

describe('allowance', () => {
  const options = { perMinute: 60, burst: 10 }

  it('admits a burst, then one a second', () => {
    const spent = spend(fullAllowance(options, 0), 10, options, 0)
    expect(affordableAt(spent, options)).toBe(1000)
    expect(affordableAt(spend(fullAllowance(options, 0), 9, options, 0), options)).toBe(0)
  })

  it('limits the rate over time: no run starts before its tokens are available', () => {
    const runs = fc.array(fc.record({ wait: fc.nat(5000), changes: fc.nat(30) }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(runs, (list) => {
        let now = 0
        let allowance: Allowance = fullAllowance(options, now)
        let total = 0
        let last = 0
        for (const { wait, changes } of list) {
          now = Math.max(now + wait, Math.ceil(affordableAt(earned(allowance, options, now), options)))
          // What was begun before this run is within the rate; the last run may exceed it once.
          expect(total - last).toBeLessThanOrEqual(options.burst + (now * options.perMinute) / 60_000 + 1e-6)
          allowance = spend(allowance, changes, options, now)
          total += changes
          last = changes
        }
      }),
    )
  })

  it('never saves more than the burst, and survives a clock that is set back', () => {
    expect(earned({ left: 0, at: 0 }, options, 1e9).left).toBe(10)
    const before = earned({ left: 3, at: 1000 }, options, 0)
    expect(before).toEqual({ left: 3, at: 0 })
    expect(affordableAt(before, options)).toBe(0)
  })
})

describe('priority', () => {
  const options = { ageMs: 10_000 }
  const cause = fc.constantFrom<RunCause>('change', 'retry', 'resync')

  it('puts changes before retries before resyncs of the same time', () => {
    const order = (['resync', 'change', 'retry'] as const).toSorted(
      (a, b) => urgency(a, 0, options) - urgency(b, 0, options),
    )
    expect(order).toEqual(['change', 'retry', 'resync'])
    expect(moreUrgent('resync', 'retry')).toBe('retry')
  })

  it('lets a resync yield to other operators until it is as urgent as a retry, and nothing else', () => {
    expect((['change', 'retry', 'resync'] as const).map((one) => givesWay(one, 0, 9999, options))).toEqual([
      false,
      false,
      true,
    ])
    expect(givesWay('resync', 0, 10_000, options)).toBe(false)
  })

  it('never lets a key be overtaken by one that arrived later than two ageing periods', () => {
    fc.assert(
      fc.property(cause, cause, fc.nat(1e6), fc.nat(1e6), (one, other, since, later) => {
        fc.pre(later > since + 2 * options.ageMs)
        expect(urgency(one, since, options)).toBeLessThan(urgency(other, later, options))
      }),
    )
  })
})
