import { describe, expect, it } from 'vitest'
import { jitter, seededRandom } from './random.ts'
import { systemClock } from './system-clock.ts'
import { virtualClock } from './virtual-clock.ts'

describe('virtual clock', () => {
  it('fires timers in order of time, at their time', async () => {
    const clock = virtualClock(0)
    const fired: (readonly [string, number])[] = []
    clock.after(20, () => fired.push(['late', clock.now()]))
    clock.after(10, () => fired.push(['early', clock.now()]))
    clock.after(10, () => fired.push(['second', clock.now()]))
    await clock.advance(30)
    expect(fired).toEqual([
      ['early', 10],
      ['second', 10],
      ['late', 20],
    ])
    expect(clock.now()).toBe(30)
  })

  it('fires timers set by timers, if they become due', async () => {
    const clock = virtualClock(0)
    let ticks = 0
    const tick = (): void => {
      ticks++
      clock.after(10, tick)
    }
    clock.after(10, tick)
    await clock.advance(100)
    expect(ticks).toBe(10)
  })

  it('does not fire a cancelled timer', async () => {
    const clock = virtualClock(0)
    let fired = false
    clock.after(5, () => (fired = true)).cancel()
    await clock.advance(10)
    expect(fired).toBe(false)
  })

  it('reports when the awaited condition never becomes true', async () => {
    await expect(virtualClock(0).until(() => false, 1000)).rejects.toThrow('still waiting')
  })
})

describe.each([
  ['virtual', () => virtualClock()],
  ['system', () => systemClock],
] as const)('sleep on the %s clock', (_name, make) => {
  it('ends with the signal’s reason when aborted', async () => {
    const stop = new AbortController()
    const sleeping = make().sleep(1_000_000, stop.signal)
    stop.abort(new Error('enough'))
    await expect(sleeping).rejects.toThrow('enough')
    await expect(make().sleep(1, stop.signal)).rejects.toThrow('enough')
  })
})

describe('random', () => {
  it('is deterministic for a seed', () => {
    const [a, b, c] = [seededRandom(7), seededRandom(7), seededRandom(8)]
    const take = (random: typeof a): readonly number[] => Array.from({ length: 5 }, () => random.next())
    const first = take(a)
    expect(take(b)).toEqual(first)
    expect(take(c)).not.toEqual(first)
  })

  it('jitters within the given fraction', () => {
    const random = seededRandom(1)
    for (let i = 0; i < 1000; i++) {
      const value = jitter(100, random, 0.2)
      expect(value).toBeGreaterThanOrEqual(80)
      expect(value).toBeLessThan(120)
    }
  })
})
