import { describe, expect, it } from 'vitest'
import { seededRandom } from '../clock/random.ts'
import { backoff } from './backoff.ts'

describe('backoff', () => {
  it('grows to its cap, never beyond, and never gives up', () => {
    const waits = backoff({ firstMs: 100, maxMs: 5000 }, seededRandom(1))
    const taken = Array.from({ length: 2000 }, () => waits.next())
    expect(taken[0]).toBeLessThan(150)
    for (const wait of taken) expect(wait).toBeLessThanOrEqual(7500)
    for (const wait of taken.slice(10)) expect(wait).toBeGreaterThanOrEqual(2500)
  })

  it('starts over after a success and never undercuts the server', () => {
    const waits = backoff({ firstMs: 100, maxMs: 5000 }, seededRandom(1))
    for (let i = 0; i < 10; i++) waits.next()
    waits.reset()
    expect(waits.next()).toBeLessThan(150)
    expect(waits.next(60_000)).toBe(60_000)
  })
})
