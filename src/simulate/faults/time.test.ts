import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { simulatedTime } from './time.ts'

describe('simulated time', () => {
  it('fires timers in order of time, and those of one time in the order they were set', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 40 }), async (delays) => {
        const time = simulatedTime(0)
        const fired: (readonly [number, number])[] = []
        for (const [index, ms] of delays.entries()) time.after(ms, () => fired.push([time.now(), index]))
        await time.run(100)
        expect(fired).toEqual(
          delays.map((ms, index) => [ms, index] as const).toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
        )
        expect(time.now()).toBe(100)
      }),
    )
  })

  it('runs everything that a timer triggers before the next one fires, however long the chain', async () => {
    const time = simulatedTime(0)
    const seen: string[] = []
    time.after(1, () => {
      void (async () => {
        for (let step = 0; step < 1000; step++) await Promise.resolve()
        seen.push('first')
      })()
    })
    time.after(1, () => seen.push('second'))
    await time.run(10)
    expect(seen).toEqual(['first', 'second'])
  })

  it('does not advance far before pending turns of the event loop have run', async () => {
    const time = simulatedTime(0)
    const seen: number[] = []
    time.after(1, () => setImmediate(() => time.after(10, () => seen.push(time.now()))))
    time.after(5000, () => seen.push(time.now()))
    await time.run(10_000)
    expect(seen).toEqual([11, 5000])
  })

  it('reports the time of the next event, without cancelled ones', async () => {
    const time = simulatedTime(0)
    expect(time.nextAt()).toBe(Infinity)
    time.after(5, () => undefined).cancel()
    time.after(7, () => undefined)
    expect(time.nextAt()).toBe(7)
    await time.run(10)
    expect(time.nextAt()).toBe(Infinity)
  })

  it('does not wait for maintenance, but runs it', async () => {
    const time = simulatedTime(0)
    let kept = 0
    time.upkeep.after(5, () => kept++)
    expect(time.nextAt()).toBe(Infinity)
    time.after(9, () => undefined)
    expect(time.nextAt()).toBe(9)
    await time.run(7)
    expect(kept).toBe(1)
  })

  it('stands still while it is held', async () => {
    const time = simulatedTime(0)
    let heldUntil = -1
    time.after(5, () => {
      void time.hold(import('node:os')).then(() => (heldUntil = time.now()))
    })
    time.after(6, () => undefined)
    await time.run(10)
    expect(heldUntil).toBe(5)
  })

  it('does not fire cancelled timers, and ends early when done', async () => {
    const time = simulatedTime(0)
    let count = 0
    time.after(1, () => count++)
    time.after(2, () => count++).cancel()
    time.after(3, () => count++)
    expect(await time.run(10, () => count === 2)).toBe(true)
    expect(time.now()).toBe(3)
    expect(await time.run(10, () => count === 9)).toBe(false)
  })
})
