import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keepWatch, type Look, noteLook, type Watching } from './watch-thread.ts'

const silent = (before: Watching, sleptMs: number, wantedMs = 1000): Watching =>
  noteLook(before, { sign: before.sign, sleptMs, wantedMs })

describe('the watchdog thread', () => {
  it('measures the time without a heartbeat', () => {
    let watching: Watching = { sign: 1, silentMs: 0 }
    for (let look = 0; look < 8; look++) watching = silent(watching, 1003)
    expect(watching.silentMs).toBe(8000)
    expect(noteLook(watching, { sign: 2, sleptMs: 1000, wantedMs: 1000 })).toEqual({ sign: 2, silentMs: 0 })
  })

  it('restarts its measurement after it was not scheduled itself: a suspended machine is not an endless loop', () => {
    const almost = { sign: 1, silentMs: 9000 }
    expect(silent(almost, 3_600_000).silentMs).toBe(0)
    expect(silent(almost, 1000).silentMs).toBe(10_000)
  })

  it('never counts more than it slept, nor more than intended', () => {
    const look = fc.record({ sign: fc.nat(1), sleptMs: fc.nat(5000), wantedMs: fc.integer({ min: 1, max: 2000 }) })
    fc.assert(
      fc.property(fc.array(look), (looks: readonly Look[]) => {
        const { silentMs } = looks.reduce(noteLook, { sign: 0, silentMs: 0 })
        const slept = looks.reduce((sum, { sleptMs, wantedMs }) => sum + Math.min(sleptMs, wantedMs), 0)
        expect(silentMs).toBeLessThanOrEqual(slept)
      }),
    )
  })

  it('is self-contained: it uses only globals of every thread', () => {
    // What is imported or declared beside them would be missing there.
    const note = runInNewContext(`(${noteLook.toString()})`, {}) as typeof noteLook
    expect(note({ sign: 1, silentMs: 5 }, { sign: 1, sleptMs: 10, wantedMs: 10 }).silentMs).toBe(15)
    const names = new Set(keepWatch.toString().match(/(?<![.\w'])(?:cell|noteLook|readHeartbeats|noSlot)\b/g))
    expect([...names]).toEqual([])
  })
})
