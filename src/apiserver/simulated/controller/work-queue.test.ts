import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type VirtualClock, virtualClock } from '../../../clock/virtual-clock.ts'
import { createWorkQueue, type WorkQueue, type WorkQueueOptions } from './work-queue.ts'

interface Trial {
  readonly clock: VirtualClock
  readonly queue: WorkQueue
  readonly failures: readonly string[]
}

function queueOf(reconcile: WorkQueueOptions['reconcile'], workers?: number): Trial {
  const clock = virtualClock(0)
  const failures: string[] = []
  const queue = createWorkQueue({
    clock,
    workers,
    reconcile,
    failed: (key) => void failures.push(`${key} ${clock.now()}`),
  })
  return { clock, queue, failures }
}

describe('work queue', () => {
  it('processes a key once that was added many times', async () => {
    const seen: string[] = []
    const { clock, queue } = queueOf((key) => Promise.resolve(void seen.push(key)))
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
    await clock.settle()
    expect(seen).toEqual(['a', 'b'])
  })

  it('never processes a key concurrently, and processes it again if it was added meanwhile', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(3), fc.nat(5)), { maxLength: 30 }), async (changes) => {
        const versions = new Map<string, number>()
        const seen = new Map<string, number>()
        const running = new Set<string>()
        const { clock, queue } = queueOf(async (key) => {
          expect(running.has(key)).toBe(false)
          running.add(key)
          const version = versions.get(key)!
          await clock.sleep(2)
          seen.set(key, version)
          running.delete(key)
          return undefined
        }, 2)
        for (const [key, pause] of changes) {
          versions.set(String(key), (versions.get(String(key)) ?? 0) + 1)
          queue.add(String(key), pause % 2 === 0 ? 0 : 1)
          await clock.advance(pause)
        }
        await clock.advance(1000)
        expect(seen).toEqual(versions)
      }),
      { numRuns: 30 },
    )
  })

  it('requeues after the requested delay, or earlier if the key is added', async () => {
    const seen: number[] = []
    const { clock, queue } = queueOf(() =>
      Promise.resolve((seen.push(clock.now()), seen.length < 3 ? 1000 : undefined)),
    )
    queue.add('a')
    await clock.advance(1500)
    queue.add('a')
    await clock.advance(10_000)
    expect(seen).toEqual([0, 1000, 1500])
  })

  it('retries failures with a growing back-off until they succeed', async () => {
    let tries = 0
    const { clock, queue, failures } = queueOf(() =>
      ++tries < 4 ? Promise.reject(new Error('no')) : Promise.resolve(undefined),
    )
    queue.add('a')
    await clock.advance(1000)
    expect(failures).toEqual(['a 0', 'a 5', 'a 15'])
    expect(tries).toBe(4)
  })

  it('does nothing after it is stopped', async () => {
    let looks = 0
    const { clock, queue } = queueOf(() => Promise.resolve((looks++, 10)))
    queue.add('a')
    await clock.advance(25)
    queue.stop()
    queue.add('b')
    await clock.advance(1000)
    expect(looks).toBe(3)
  })
})
