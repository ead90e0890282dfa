import { beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../clock/clock.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { createHold, type Hold } from './hold.ts'

/** Timers of one clock, and a time that can be set. */
let timers: VirtualClock
let offset: number
let clock: Clock
let hold: Hold
let ends: number

beforeEach(() => {
  timers = virtualClock()
  offset = 0
  clock = { ...timers, now: () => timers.now() + offset }
  ends = 0
  hold = createHold({ clock, lengthMs: 10_000, onEnd: () => void ends++ })
})

const isHeld = (): boolean => hold.isHeld(clock.now())

describe('a hold', () => {
  it('lasts from the sending of the request that proves it', async () => {
    const attempt = hold.attempt()
    await timers.advance(4_000)
    expect(isHeld()).toBe(false)
    expect(hold.prove(attempt)).toBe(true)
    await timers.advance(5_999)
    expect(isHeld()).toBe(true)
    await timers.advance(1)
    expect([isHeld(), ends]).toEqual([false, 1])
  })

  it('is not proven by a request that took longer than it lasts', async () => {
    const attempt = hold.attempt()
    await timers.advance(10_000)
    expect(hold.prove(attempt)).toBe(false)
    expect(isHeld()).toBe(false)
  })

  it('is extended by each proof, and an earlier proof does not end it', async () => {
    for (let round = 0; round < 5; round++) {
      expect(hold.prove(hold.attempt())).toBe(true)
      await timers.advance(6_000)
    }
    expect([isHeld(), ends]).toEqual([true, 0])
  })

  it('ends by its timer when the clock was set back', async () => {
    hold.prove(hold.attempt())
    await timers.advance(5_000)
    offset = -4_000
    expect(isHeld()).toBe(true)
    await timers.advance(5_000)
    expect([isHeld(), ends]).toEqual([false, 1])
  })

  it('is not trusted while the clock is before its beginning', async () => {
    await timers.advance(1_000)
    hold.prove(hold.attempt())
    offset = -500
    expect(isHeld()).toBe(false)
    await timers.advance(500)
    expect(isHeld()).toBe(true)
  })

  it('ends by the clock when timers did not run', () => {
    const attempt = hold.attempt()
    hold.prove(attempt)
    offset = 10_000
    expect([isHeld(), ends]).toEqual([false, 0])
    expect(hold.prove(attempt)).toBe(false)
  })

  it('that was ended does not notify', async () => {
    hold.prove(hold.attempt())
    hold.end()
    await timers.advance(20_000)
    expect([isHeld(), ends]).toEqual([false, 0])
  })
})
