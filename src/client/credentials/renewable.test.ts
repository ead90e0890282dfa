import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import { type Fetched, renewable, type Renewable } from './renewable.ts'

/** A source whose answers are numbered; it fails while told so. */
function source(
  clock: VirtualClock,
  life: { renewMs: number; expireMs: number } = { renewMs: 60_000, expireMs: 90_000 },
): { readonly state: { fetches: number; failing: boolean }; readonly value: Renewable<number> } {
  const state = { fetches: 0, failing: false }
  const fetch = async (): Promise<Fetched<number>> => {
    state.fetches++
    await clock.sleep(100)
    if (state.failing) throw new Error(`fetch ${state.fetches} failed`)
    return { value: state.fetches, renewAt: clock.now() + life.renewMs, expiresAt: clock.now() + life.expireMs }
  }
  return { state, value: renewable(fetch, clock) }
}

async function take<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  await clock.advance(100)
  return await promise
}

describe('renewable', () => {
  it('fetches once for concurrent callers', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock)
    const answers = await take(clock, Promise.all(Array.from({ length: 50 }, () => value.get())))
    expect(new Set(answers)).toEqual(new Set([1]))
    expect(state.fetches).toBe(1)
  })

  it('keeps the value until it is due for renewal', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock)
    await take(clock, value.get())
    await clock.advance(59_999)
    expect(await value.get()).toBe(1)
    await clock.advance(1)
    expect(await take(clock, value.get())).toBe(2)
    expect(state.fetches).toBe(2)
  })

  it('uses the old value when renewal fails, until it expires', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock)
    await take(clock, value.get())
    state.failing = true
    await clock.advance(60_000)
    expect(await take(clock, value.get())).toBe(1)
    await clock.advance(30_000)
    await expect(take(clock, value.get())).rejects.toThrow('failed')
    state.failing = false
    await clock.advance(1_000)
    expect(await take(clock, value.get())).toBeGreaterThan(1)
  })

  it('does not retry at once after a failure', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock)
    state.failing = true
    await expect(take(clock, value.get())).rejects.toThrow('fetch 1')
    await expect(value.get()).rejects.toThrow('fetch 1')
    expect(state.fetches).toBe(1)
    await clock.advance(1_000)
    await expect(take(clock, value.get())).rejects.toThrow('fetch 2')
  })

  it('does not loop when every fetched value has already expired', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock, { renewMs: -1, expireMs: -1 })
    await take(clock, value.get())
    for (let call = 0; call < 10; call++) expect(await value.get()).toBe(1)
    expect(state.fetches).toBe(1)
  })

  it('discards a rejected value once, not again for late rejections of it', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock)
    const first = await take(clock, value.get())
    expect(value.refuse((held) => held === first)).toBe(true)
    const second = await take(clock, value.get())
    expect(second).toBe(2)
    expect(value.refuse((held) => held === first)).toBe(true)
    expect(await value.get()).toBe(second)
    expect(state.fetches).toBe(2)
  })

  it('stops for a while when the renewed value is rejected too', async () => {
    const clock = virtualClock()
    const { state, value } = source(clock)
    await take(clock, value.get())
    expect(value.refuse(() => true)).toBe(true)
    await take(clock, value.get())
    expect(value.refuse(() => true)).toBe(false)
    expect(await value.get()).toBe(2)
    await clock.advance(10_000)
    expect(value.refuse(() => true)).toBe(true)
    await take(clock, value.get())
    expect(state.fetches).toBe(3)
  })

  it('releases an aborted caller, and continues for the others', async () => {
    const clock = virtualClock()
    const { value } = source(clock)
    const leaving = new AbortController()
    const left = value.get(leaving.signal)
    const stayed = value.get()
    leaving.abort(new Error('no longer needed'))
    await expect(left).rejects.toThrow('no longer needed')
    expect(await take(clock, stayed)).toBe(1)
    await expect(value.get(leaving.signal)).rejects.toThrow('no longer needed')
  })
})
