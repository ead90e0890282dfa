import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fewerAt, noRequests, noteRequest, requestsIn, type RequestWindow } from './request-window.ts'

const times = (): fc.Arbitrary<readonly number[]> =>
  fc.array(fc.nat(200_000), { maxLength: 80 }).map((list) => list.toSorted((a, b) => a - b))

const windowOf = (at: readonly number[]): RequestWindow =>
  at.reduce((window, now) => noteRequest(window, now), noRequests)

describe('a request window', () => {
  it('covers the last minute, to the second, in at most sixty counters', () => {
    fc.assert(
      fc.property(times(), fc.nat(60_000), (at, wait) => {
        const window = windowOf(at)
        const now = (at.at(-1) ?? 0) + wait
        const inSecond = (time: number): number => time - (time % 1000)
        expect(requestsIn(window, now)).toBe(at.filter((time) => now - inSecond(time) < 60_000).length)
        expect(window.length).toBeLessThanOrEqual(60)
      }),
    )
  })

  it('knows exactly when the count is low enough', () => {
    fc.assert(
      fc.property(times(), fc.nat(20), (at, most) => {
        const window = windowOf(at)
        const now = at.at(-1) ?? 0
        const moment = fewerAt(window, most, now)
        expect(requestsIn(window, moment)).toBeLessThanOrEqual(most)
        expect(moment === now || requestsIn(window, moment - 1) > most).toBe(true)
      }),
    )
  })

  it('expires within a minute, even if the clock is set back', () => {
    const window = noteRequest(windowOf([1_000_000]), 500_000)
    expect(requestsIn(window, 500_000)).toBe(1)
  })
})
