import { describe, expect, it } from 'vitest'
import { type CelBudget, compileCel } from '../compile.ts'
import { dynType } from './type.ts'

const variables = { self: dynType }
const run = (expression: string, self: unknown, budget?: CelBudget): unknown =>
  compileCel(expression, { variables }).evaluate({ self }, budget)

const exceeded = 'operation cancelled: actual cost limit exceeded'
const digits = '9'.repeat(200_000)
const items = Array.from({ length: 5000 }, (_, index) => index)

describe('the steps of an evaluation', () => {
  it.each([
    ['double on a long string', 'self.items.all(x, double(self.text) > 0.0)'],
    [
      'int on a long string',
      "self.items.all(x, optional.of(x).hasValue() && size(self.text) > 0 && self.text.charAt(5) == '9')",
    ],
    ['a list inside the compared list', 'self.items.all(x, [self.items] == [self.items])'],
    ['a map inside the compared list', 'self.items.all(x, [self] == [self])'],
    ['sets of many elements', 'sets.equivalent(lists.range(20000), lists.range(20000))'],
    ['distinct elements of a long list', 'lists.range(20000).distinct().size() > 0'],
    [
      'nested loops without cost',
      'self.items.all(x, self.items.map(y, false, y).map(y, y).size() == 0 && self.items.map(y, false, y).size() == 0)',
    ],
    ['a string that grows by replacing', "self.text.replace('9', self.text).size() > 0"],
    ['a string that grows by joining', 'self.items.map(x, self.text).join(self.text).size() > 0'],
    ['a string that grows by formatting', `"${'%s'.repeat(60)}".format([${'self.text,'.repeat(60)}]).size() > 0`],
    ['an unlimited precision', '"%.999999999f".format([1.0]).size() > 0'],
    ['lists that double', `[self.items]${'.map(v, v + v)'.repeat(40)}.size() > 0`],
    ['flattened repetitions', `[${'self.items,'.repeat(2500)}].flatten().size() > 0`],
  ])('end %s', (_, expression) => {
    expect(() => run(expression, { text: digits, items })).toThrow(exceeded)
  })

  it('count for the budget where they exceed the cost', () => {
    const budget = { remaining: 10_000_000 }
    expect(run('[self.items] == [self.items]', { items }, budget)).toBe(true)
    expect(10_000_000 - budget.remaining).toBeGreaterThanOrEqual(200)
    const usual = { remaining: 10_000_000 }
    expect(run('self.items.all(x, x >= 0)', { items }, usual)).toBe(true)
    // Two for the range, and for each element: three for the loop, one for its name and one for the comparison.
    expect(10_000_000 - usual.remaining).toBe(3 + 5 * items.length)
  })

  it('of one evaluation do not count for the next', () => {
    for (let round = 0; round < 20; round++) expect(run('size(self.text + self.text) > 0', { text: digits })).toBe(true)
  })

  it('keep the type of concatenated lists', () => {
    expect(run('(self + [4] + [5, 6])[4] == 5 && (self + [4]).exists(x, x == 4)', [1, 2, 3])).toBe(true)
    expect(run('(self + self).map(x, x * 2) == [2, 4, 2, 4] && (self + self) == (self + self)', [1, 2])).toBe(true)
    expect(run('(self + [3]).transformMap(i, v, v) == {0: 1, 1: 2, 2: 3}', [1, 2])).toBe(true)
  })
})
