import fc from 'fast-check'
import { expect, it } from 'vitest'

it('properties use the same cases in each run', () => {
  const drawn = (): readonly number[] => fc.sample(fc.integer(), 20)
  expect(drawn()).toEqual(drawn())
})
