import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { Ending } from './ending.ts'

describe('Ending', () => {
  it('does not start with an aborted signal', () => {
    const live = new Set<Ending>()
    const reason = new Error('too late')
    expect(() => new Ending(AbortSignal.abort(reason), live)).toThrow(reason)
    expect(live.size).toBe(0)
  })

  it('notifies the current stage, once, with the reason of the signal', () => {
    const controller = new AbortController()
    const ending = new Ending(controller.signal, new Set())
    const told: unknown[] = []
    ending.onEnd = (error) => void told.push(error)
    const reason = new Error('enough')
    controller.abort(reason)
    ending.end(new Error('a later reason'))
    expect(told).toEqual([reason])
    expect(() => ending.throwIfEnded()).toThrow(reason)
  })

  it('limits the time until the response head, and nothing after it', async () => {
    const clock = virtualClock()
    const [slow, quick] = [new Ending(undefined, new Set()), new Ending(undefined, new Set())]
    const told: unknown[] = []
    for (const ending of [slow, quick]) {
      ending.onEnd = (error) => void told.push(error)
      ending.expectHead(clock, 30_000, 'GET /x')
    }
    await clock.advance(29_999)
    quick.headArrived()
    expect(told).toEqual([])
    await clock.advance(60_000)
    expect(told).toMatchObject([{ name: 'RequestTimeout', message: 'GET /x: no answer within 30 s.' }])
  })

  it('stops waiting for work when it ends first', async () => {
    const ending = new Ending(undefined, new Set())
    const waiting = ending.race(new Promise(() => {}))
    const reason = new Error('closed')
    ending.end(reason)
    await expect(waiting).rejects.toBe(reason)
    await expect(ending.race(Promise.resolve('late'))).rejects.toBe(reason)
  })

  it('passes on the result of the work', async () => {
    const ending = new Ending(undefined, new Set())
    await expect(ending.race(Promise.resolve(7))).resolves.toBe(7)
    await expect(ending.race(Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  it('holds no references once released', async () => {
    const clock = virtualClock()
    const live = new Set<Ending>()
    const controller = new AbortController()
    const ending = new Ending(controller.signal, live)
    ending.onEnd = () => expect.unreachable('it was released')
    ending.expectHead(clock, 1_000, 'GET /x')
    ending.release()
    expect(live.size).toBe(0)
    controller.abort()
    await clock.advance(2_000)
    ending.throwIfEnded()
  })
})
