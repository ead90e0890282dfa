import { describe, expect, it } from 'vitest'
import { costCause, noRuleCosts, occurrencesBelow, totalCostCauses } from './rule-cost.ts'

const factorOf = (message: string | undefined): string | undefined => /factor of (.*) \(try/.exec(message ?? '')?.[1]

describe('the cost of rules', () => {
  it.each<readonly [number, string | undefined]>([
    [10_000_000, undefined],
    [10_000_001, '1.000000x'],
    [10_078_125, '1.007812x'],
    [14_999_999, '1.500000x'],
    [15_000_000, '1.5x'],
    [22_500_000, '2.2x'],
    [27_500_000, '2.8x'],
    [1_000_000_000, '100.0x'],
    [1_000_000_001, 'more than 100x'],
    [2 ** 64, 'more than 100x'],
  ])('of %d is printed as by the real server', (cost, factor) => {
    expect(factorOf(costCause('rule', 'estimated rule cost', cost, noRuleCosts())?.message)).toBe(factor)
  })

  it('may exceed the total limit though no single rule does, and the four most expensive rules are named', () => {
    const costs = noRuleCosts()
    for (let index = 0; index < 11; index++) {
      expect(costCause(`rule-${index}`, 'estimated rule cost', 9_990_000 - index * 100, costs)).toBeUndefined()
    }
    expect(totalCostCauses('schema', costs).map(({ field }) => field)).toEqual([
      'rule-0',
      'rule-1',
      'rule-2',
      'rule-3',
      'schema',
    ])
  })

  it('names no rule with a share below one percent', () => {
    const costs = noRuleCosts()
    for (let index = 0; index < 101; index++) costCause(`rule-${index}`, 'estimated rule cost', 999_999, costs)
    expect(totalCostCauses('schema', costs).map(({ field }) => field)).toEqual(['schema'])
  })
})

describe('values of a sub-schema', () => {
  it('occur as often as all enclosing lists and maps allow', () => {
    expect(occurrencesBelow({ type: 'array', maxItems: 7 }, 3)).toBe(21)
    expect(occurrencesBelow({ type: 'object', additionalProperties: true, maxProperties: 5 }, 3)).toBe(15)
    expect(occurrencesBelow({ type: 'object', properties: {}, maxProperties: 5 }, 3)).toBe(3)
  })

  it('occur without a limit if one of those has none', () => {
    expect(occurrencesBelow({ type: 'array' }, 3)).toBeUndefined()
    expect(occurrencesBelow({ type: 'array', maxItems: 7 }, undefined)).toBeUndefined()
  })
})
