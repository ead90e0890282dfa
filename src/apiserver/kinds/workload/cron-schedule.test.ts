import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scheduleProblem, zoneProblem } from './cron-schedule.ts'

const within = (lowest: number, highest: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom('*', '?'),
    fc.integer({ min: lowest, max: highest }).map(String),
    fc
      .tuple(
        fc.integer({ min: lowest, max: highest }),
        fc.integer({ min: lowest, max: highest }),
        fc.integer({ min: 1, max: 9 }),
      )
      .map(([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}/${step}`),
  )

describe('a schedule', () => {
  it('is valid with any five fields within their bounds', () => {
    const fields = fc.tuple(within(0, 59), within(0, 23), within(1, 31), within(1, 12), within(0, 6))
    fc.assert(
      fc.property(fields, (five) => {
        expect(scheduleProblem(five.join(' '))).toBeUndefined()
      }),
    )
  })

  it('is valid or yields an error message, whatever the text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(['string', 'undefined']).toContain(typeof scheduleProblem(text))
        expect(['string', 'undefined']).toContain(typeof zoneProblem(text))
      }),
    )
  })
})
