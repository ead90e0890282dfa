import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { relayOutput } from './output.ts'

describe('what a guest prints', () => {
  it.each([
    ['in small pieces', 'x\n', 40_000, 256],
    ['in large ones', 'x'.repeat(10_000), 100, 7],
  ])('without an end, %s, is passed on only so fast', async (_how, piece, times, most) => {
    const clock = virtualClock()
    const stream = new PassThrough()
    const heard: string[] = []
    relayOutput(stream, clock, (text) => void heard.push(text))
    for (let index = 0; index < times; index++) stream.write(piece)
    await setImmediate()
    await setImmediate()
    expect(heard.length).toBeLessThanOrEqual(most)
    expect(heard.join('').length).toBeLessThanOrEqual(64 * 1024)
    const before = heard.length
    await clock.advance(1000)
    await setImmediate()
    expect(heard.length).toBeGreaterThan(before)
    expect(heard.length).toBeLessThanOrEqual(2 * most)
    stream.destroy()
  })

  it('is passed on as it is, where it is little', async () => {
    const stream = new PassThrough()
    const heard: string[] = []
    relayOutput(stream, virtualClock(), (text) => void heard.push(text))
    stream.end('grün\n')
    await setImmediate()
    expect(heard.join('')).toBe('grün\n')
  })
})
