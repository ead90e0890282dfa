import { expect, it } from 'vitest'
import { formatAge } from './age.ts'

it.each([
  [-2, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [330, '5m30s'],
  [600, '10m'],
  [10_800, '3h'],
  [12_000, '3h20m'],
  [28_800, '8h'],
  [86_400 * 2, '2d'],
  [86_400 * 2 + 3600, '2d1h'],
  [86_400 * 30, '30d'],
  [86_400 * 730, '2y'],
  [86_400 * 731, '2y1d'],
  [86_400 * 365 * 9, '9y'],
])('%d seconds are an age of %s', (seconds, text) => {
  expect(formatAge(seconds * 1000)).toBe(text)
})
