import { describe, expect, it } from 'vitest'
import { type FaultKind, type FaultPlan, formatPlan } from '../../src/simulate/faults/fault.ts'
import { someOfEachGroup } from '../fault-plans.ts'

const plans = (kind: FaultKind, count: number): readonly FaultPlan[] =>
  Array.from({ length: count }, (_, index) => ({ scenario: 'create', faults: [{ kind, at: index + 1 }] }))

describe('a sample of plans', () => {
  it('has plans of each group, however few there are', () => {
    const many = [...plans('edit', 5000), ...plans('lose', 900), ...plans('crash', 3)]
    const drawn = someOfEachGroup(many, 7, 1).map((plan) => formatPlan(plan).split('@')[0])
    const count = (kind: string): number => drawn.filter((one) => one === `create: ${kind}`).length
    expect([count('edit'), count('lose'), count('crash')]).toEqual([3, 2, 2])
  })

  it('is all of them where there are no more', () => {
    const few = [...plans('crash', 2), ...plans('lose', 1)]
    expect(someOfEachGroup(few, 7, 1)).toEqual(few)
    expect(someOfEachGroup([], 7, 1)).toEqual([])
  })
})
