import { describe, expect, it } from 'vitest'
import { seededRandom } from '../clock/random.ts'
import { backoffMs } from './backoff.ts'

const options = { firstMs: 100, maxMs: 5000 }

describe('backoff', () => {
  it('grows to its maximum, and never gives up', () => {
    const random = seededRandom(1)
    expect(backoffMs(1, options, random)).toBeLessThan(150)
    for (let failures = 1; failures < 2000; failures++) {
      const wait = backoffMs(failures, options, random)
      expect(wait).toBeLessThanOrEqual(7500)
      expect(wait).toBeGreaterThanOrEqual(failures > 10 ? 2500 : 50)
    }
  })

  it('is never shorter than the server asks', () => {
    expect(backoffMs(1, options, seededRandom(1), 60_000)).toBe(60_000)
  })
})
