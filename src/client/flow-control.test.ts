import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Timer } from '../clock/clock.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { createFlowControl, type FlowControl, fullBucket, readyAt, refill, takeToken } from './flow-control.ts'

describe('a bucket', () => {
  const limits = fc.record({ qps: fc.integer({ min: 1, max: 100 }), burst: fc.integer({ min: 1, max: 50 }) })

  it('admits at most the burst and the tokens gained since, however requests arrive', () => {
    fc.assert(
      fc.property(limits, fc.array(fc.nat(2_000), { minLength: 1, maxLength: 60 }), (rate, gaps) => {
        let bucket = fullBucket(rate, 0)
        let now = 0
        for (const [index, gap] of gaps.entries()) {
          now = readyAt(bucket, rate, now + gap)
          bucket = takeToken(bucket, rate, now)
          expect(index + 1).toBeLessThanOrEqual(rate.burst + (now / 1000) * rate.qps + 1e-3)
        }
      }),
    )
  })

  it('never delays a request while it has a token, and never longer than one token takes', () => {
    fc.assert(
      fc.property(limits, fc.nat(10_000), fc.nat(60), (rate, now, taken) => {
        let bucket = fullBucket(rate, 0)
        for (let count = 0; count < Math.min(taken, rate.burst); count++) bucket = takeToken(bucket, rate, 0)
        const wait = readyAt(bucket, rate, now) - now
        expect(wait).toBeLessThanOrEqual(refill(bucket, rate, now).tokens >= 1 ? 0 : 1000 / rate.qps + 1e-6)
      }),
    )
  })

  it('loses nothing when the clock steps back', () => {
    const rate = { qps: 1, burst: 5 }
    expect(refill({ tokens: 2, at: 1_000 }, rate, 0)).toEqual({ tokens: 2, at: 0 })
  })
})

describe('flow control', () => {
  const enter = (flow: FlowControl, log: string[], name: string, signal?: AbortSignal): void => {
    flow.take(signal).then(
      () => log.push(name),
      (error: unknown) => log.push(`${name}: ${(error as Error).message}`),
    )
  }

  it('serves in order of arrival and counts the waiting', async () => {
    const clock = virtualClock()
    const flow = createFlowControl({ qps: 2, burst: 2 }, clock)
    const log: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) enter(flow, log, name)
    await clock.settle()
    expect(log).toEqual(['a', 'b'])
    expect(flow.snapshot()).toMatchObject({ waiting: 3, taken: 2, waited: 0 })
    await clock.advance(499)
    expect(log).toHaveLength(2)
    await clock.advance(1)
    expect(log).toEqual(['a', 'b', 'c'])
    await clock.advance(1_000)
    expect(log).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(flow.snapshot()).toEqual({ waiting: 0, taken: 5, waited: 3, waitedMs: 3_000, longestWaitMs: 1_500 })
  })

  it('admits requests in order', async () => {
    const clock = virtualClock()
    const flow = createFlowControl({ qps: 1, burst: 1 }, clock)
    const log: string[] = []
    enter(flow, log, 'a')
    enter(flow, log, 'b')
    await clock.advance(1_000)
    enter(flow, log, 'c')
    await clock.settle()
    expect(log).toEqual(['a', 'b'])
    await clock.advance(1_000)
    expect(log).toEqual(['a', 'b', 'c'])
  })

  it('admits requests in order while its timer is late', async () => {
    let now = 0
    const timers: (() => void)[] = []
    const after = (_ms: number, fire: () => void): Timer => {
      timers.push(fire)
      return { cancel: () => undefined }
    }
    const flow = createFlowControl({ qps: 1, burst: 1 }, { ...virtualClock(), now: () => now, after })
    const log: string[] = []
    enter(flow, log, 'a')
    enter(flow, log, 'b')
    now = 1_000
    enter(flow, log, 'c')
    timers.shift()?.()
    await virtualClock().settle()
    expect(log).toEqual(['a', 'b'])
  })

  it('releases an aborted waiter at once, and the following ones advance', async () => {
    const clock = virtualClock()
    const flow = createFlowControl({ qps: 1, burst: 1 }, clock)
    const log: string[] = []
    const abort = new AbortController()
    enter(flow, log, 'a')
    enter(flow, log, 'b', abort.signal)
    enter(flow, log, 'c')
    abort.abort(new Error('gone'))
    await clock.settle()
    expect(log).toEqual(['a', 'b: gone'])
    await clock.advance(1_000)
    expect(log).toEqual(['a', 'b: gone', 'c'])
    await expect(flow.take(abort.signal)).rejects.toThrow('gone')
    expect(flow.snapshot()).toMatchObject({ waiting: 0, taken: 2 })
  })

  it('rejects limits that would never admit a request', () => {
    expect(() => createFlowControl({ qps: 0, burst: 1 }, virtualClock())).toThrow('qps')
    expect(() => createFlowControl({ qps: 1, burst: 0 }, virtualClock())).toThrow('burst')
    expect(() => createFlowControl({ qps: Number.NaN, burst: 1 }, virtualClock())).toThrow('qps')
  })
})
