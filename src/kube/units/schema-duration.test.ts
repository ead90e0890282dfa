import { expect, it } from 'vitest'
import { parseSchemaDuration } from './schema-duration.ts'

it.each([
  ['1h30m', 5_400_000_000_000n],
  ['3 days', 259_200_000_000_000n],
  ['1 week, 2 hours', 612_000_000_000_000n],
  ['12 3 h', 10_800_000_000_000n],
  ['2\tMinutes', 120_000_000_000n],
  ['3-days', undefined],
  ['day', undefined],
  ['99999999999999999999 days', undefined],
])('parses %j', (text, nanoseconds) => {
  expect(parseSchemaDuration(text)).toBe(nanoseconds)
})
