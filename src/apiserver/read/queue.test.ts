import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyQueue } from './queue.ts'

describe('a queue', () => {
  it('returns each item once, in order', () => {
    // A positive number is items to push, a negative one items to take: enough to cross the compaction threshold.
    const moves = fc.array(fc.integer({ min: -3000, max: 3000 }), { maxLength: 20 })
    fc.assert(
      fc.property(moves, (counts) => {
        const queue = emptyQueue<number>()
        let [pushed, taken] = [0, 0]
        for (const count of counts) {
          for (let left = count; left > 0; left--) expect(queue.push(pushed++)).toBe(pushed - taken)
          for (let left = count; left < 0; left++) expect(queue.take()).toBe(taken < pushed ? taken++ : undefined)
          expect(queue.length).toBe(pushed - taken)
        }
      }),
      { numRuns: 20 },
    )
  })
})
