import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { keepYoung } from './young-garbage.ts'

function stage() {
  const clock = virtualClock()
  const state = { isIdle: true, young: 3e6, collected: 0 }
  const garbage = keepYoung({
    clock,
    isIdle: () => state.isIdle,
    youngBytes: () => state.young,
    collect() {
      state.collected++
      state.young = 0
    },
    afterMs: 5,
    leastBytes: 2e6,
  })
  return { clock, state, garbage }
}

describe('young garbage', () => {
  it('is collected a while after a run, once for concurrent runs', async () => {
    const { clock, state, garbage } = stage()
    for (let run = 0; run < 3; run++) garbage.ended()
    await clock.advance(4)
    expect(state.collected).toBe(0)
    await clock.advance(60_000)
    expect(state.collected).toBe(1)
  })

  it('is left alone while a reconcile is in progress', async () => {
    const { clock, state, garbage } = stage()
    state.isIdle = false
    garbage.ended()
    await clock.advance(60_000)
    expect(state.collected).toBe(0)
    state.isIdle = true
    garbage.ended()
    await clock.advance(5)
    expect(state.collected).toBe(1)
  })

  it('is left alone while it is small', async () => {
    const { clock, state, garbage } = stage()
    state.young = 1e6
    garbage.ended()
    await clock.advance(5)
    expect(state.collected).toBe(0)
  })

  it('is not collected after the end', async () => {
    const { clock, state, garbage } = stage()
    garbage.ended()
    garbage.close()
    await clock.advance(60_000)
    expect(state.collected).toBe(0)
  })

  it('can be collected for real: the young generation is almost empty then', async () => {
    const clock = virtualClock()
    const garbage = keepYoung({ clock, isIdle: () => true, leastBytes: 1 })
    const collect = async (): Promise<void> => {
      garbage.ended()
      await clock.advance(5)
    }
    // What is young and lives on is old after the second time.
    await collect()
    await collect()
    let made = 0
    while (youngBytes() < 4e6) made += Array.from({ length: 1000 }, (_, index) => ({ index })).length
    await collect()
    expect(made).toBeGreaterThan(0)
    expect(youngBytes()).toBeLessThan(2e6)
  })
})

function youngBytes(): number {
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  return spaces.find(({ space_name: name }) => name === 'new_space')!.space_used_size
}
