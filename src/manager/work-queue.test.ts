import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../clock/virtual-clock.ts'
import { createWorkQueue } from './work-queue.ts'

describe('a work queue', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ what: fc.constant('add' as const), key: fc.constantFrom('a', 'b', 'c', 'd') }),
      fc.record({
        what: fc.constant('later' as const),
        key: fc.constantFrom('a', 'b', 'c', 'd'),
        ms: fc.integer({ min: 0, max: 50 }),
      }),
      fc.record({ what: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 30 }) }),
    ),
    { maxLength: 40 },
  )

  it('never has two at work on one key, never more than it may, and loses nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 0, max: 20 }),
        async (script, concurrency, lasts) => {
          const clock = virtualClock()
          const working = new Set<string>()
          /** When a key was last begun. */
          const begun = new Map<string, number>()
          const wanted = new Map<string, number>()
          let order = 0
          const queue = createWorkQueue({
            clock,
            concurrency,
            async work(key) {
              expect(working.has(key)).toBe(false)
              working.add(key)
              expect(working.size).toBeLessThanOrEqual(concurrency)
              begun.set(key, ++order)
              if (lasts > 0) await clock.sleep(lasts)
              working.delete(key)
            },
          })
          for (const step of script) {
            if (step.what === 'advance') {
              await clock.advance(step.ms)
              continue
            }
            wanted.set(step.key, ++order)
            if (step.what === 'add') queue.add(step.key)
            else queue.addAfter(step.key, step.ms)
          }
          await clock.advance(2000)
          expect(queue.isIdle).toBe(true)
          // Each was begun after it was wanted last: whoever asks while it is being worked on is heard, too.
          for (const [key, at] of wanted) expect(begun.get(key) ?? 0).toBeGreaterThan(at)
        },
      ),
      { numRuns: 40 },
    )
  })

  it('works once on what is wanted many times, and at the earliest of the times', async () => {
    const clock = virtualClock()
    const started = clock.now()
    const times: number[] = []
    const queue = createWorkQueue({
      clock,
      concurrency: 1,
      work: async () => void times.push(clock.now() - started),
    })
    queue.addAfter('a', 500)
    queue.addAfter('a', 100)
    queue.addAfter('a', 900)
    await clock.advance(50)
    await clock.advance(2000)
    expect(times).toEqual([100])
    queue.addAfter('a', 500)
    queue.add('a')
    await clock.advance(2000)
    expect(times).toHaveLength(2)
  })

  it('forgets, and takes nothing once it is stopped, but finishes what is under way', async () => {
    const clock = virtualClock()
    const done: string[] = []
    const queue = createWorkQueue({
      clock,
      concurrency: 1,
      async work(key) {
        await clock.sleep(100)
        done.push(key)
      },
    })
    for (const key of ['a', 'b', 'c']) queue.add(key)
    queue.addAfter('d', 10)
    queue.forget('b')
    queue.forget('d')
    await clock.advance(250)
    expect(done).toEqual(['a', 'c'])
    queue.add('e')
    queue.add('f')
    let isStopped = false
    const stopping = queue.stop().then(() => (isStopped = true))
    queue.add('g')
    await clock.advance(50)
    expect(isStopped).toBe(false)
    await clock.advance(1000)
    await stopping
    expect(done).toEqual(['a', 'c', 'e'])
  })
})
