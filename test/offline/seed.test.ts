import fc from 'fast-check'
import { expect, it } from 'vitest'

it('properties are tried with the same cases each time', () => {
  const drawn = (): readonly number[] => fc.sample(fc.integer(), 20)
  expect(drawn()).toEqual(drawn())
})
