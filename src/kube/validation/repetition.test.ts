import fc from 'fast-check'
import { expect, it } from 'vitest'
import { repeatedValues, repetitions } from './repetition.ts'

it('finds the same duplicates as a comparison of all pairs', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 })), (values) => {
      const pairs = values.flatMap((value, index) => (values.indexOf(value) < index ? [index] : []))
      expect([...repeatedValues(values)]).toStrictEqual(pairs)
    }),
  )
  expect([...repetitions([{ a: 1 }, { a: 2 }, { a: 1 }], ({ a }) => a)]).toStrictEqual([2])
})
