import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { keepSmall } from './memory-at-rest.ts'

function stage() {
  const clock = virtualClock()
  const state = { isIdle: false, heap: 200e6, collected: 0 }
  const small = keepSmall({
    clock,
    isIdle: () => state.isIdle,
    heapBytes: () => state.heap,
    collect() {
      state.collected++
      state.heap = 90e6
    },
    lookMs: 1000,
    leastBytes: 32e6,
  })
  return { clock, state, small }
}

describe('memory at rest', () => {
  it('is collected after two idle samples in a row, and never while keys wait or run', async () => {
    const { clock, state, small } = stage()
    await clock.advance(10_000)
    expect(state.collected).toBe(0)
    state.isIdle = true
    await clock.advance(1000)
    expect(state.collected).toBe(0)
    await clock.advance(1000)
    expect(state.collected).toBe(1)
    small.close()
  })

  it('is left alone until it has grown considerably', async () => {
    const { clock, state, small } = stage()
    state.isIdle = true
    await clock.advance(3000)
    state.heap = 121e6
    await clock.advance(60_000)
    expect(state.collected).toBe(1)
    state.heap = 122e6
    await clock.advance(1000)
    expect(state.collected).toBe(2)
    small.close()
  })

  it('is not collected after the end', async () => {
    const { clock, state, small } = stage()
    state.isIdle = true
    small.close()
    await clock.advance(60_000)
    expect(state.collected).toBe(0)
  })

  it('can be collected for real: unreferenced memory is freed', async () => {
    const clock = virtualClock()
    const freed = Promise.withResolvers<void>()
    const registry = new FinalizationRegistry(() => freed.resolve())
    registry.register({ garbage: true }, undefined)
    const small = keepSmall({ clock, isIdle: () => true, lookMs: 1000 })
    await clock.advance(2000)
    await expect(freed.promise).resolves.toBeUndefined()
    small.close()
  })
})
