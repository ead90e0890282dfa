import { describe, expect, it } from 'vitest'
import { virtualClock } from '../clock/virtual-clock.ts'
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { Deadline } from './deadline.ts'

const never = (): Promise<never> => new Promise(() => undefined)

describe('a deadline', () => {
  it('aborts work that takes too long, whether or not it observes the signal', async () => {
    const clock = virtualClock()
    const deadline = new Deadline({ clock, timeoutMs: 1_000, what: 'GET /x' })
    const work = deadline.race(never())
    work.catch(() => undefined)
    await clock.advance(999)
    expect(deadline.signal.aborted).toBe(false)
    await clock.advance(1)
    await expect(work).rejects.toMatchObject({
      name: 'RequestTimeout',
      message: 'GET /x: not done within 1000 ms.',
    })
  })

  it('passes on the result or error of the work', async () => {
    const deadline = new Deadline({ clock: virtualClock(), timeoutMs: 1_000, what: 'x' })
    expect(await deadline.race(Promise.resolve(7))).toBe(7)
    await expect(deadline.race(Promise.reject(new Error('own')))).rejects.toThrow('own')
  })

  it("turns the caller's abort into Aborted, with the caller's reason as cause", async () => {
    const abort = new AbortController()
    const deadline = new Deadline({ clock: virtualClock(), timeoutMs: 1_000, signal: abort.signal, what: 'GET /x' })
    const work = deadline.race(never())
    const reason = new Error('shutting down')
    abort.abort(reason)
    await expect(work).rejects.toMatchObject({ name: 'Aborted', cause: reason })
  })

  it("keeps a caller's own MusterError", async () => {
    const reason = new MusterError(clientErrors.TransportClosed, 'closed')
    const signal = AbortSignal.abort(reason)
    const deadline = new Deadline({ clock: virtualClock(), timeoutMs: 1_000, signal, what: 'x' })
    await expect(deadline.race(Promise.resolve(1))).rejects.toBe(reason)
  })

  it('reports the reason, not the resulting error of the work', async () => {
    const abort = new AbortController()
    const deadline = new Deadline({ clock: virtualClock(), timeoutMs: 1_000, signal: abort.signal, what: 'x' })
    const work = new Promise((_resolve, reject) => {
      deadline.signal.addEventListener('abort', () => reject(new TypeError('terminated')))
    })
    const raced = deadline.race(work)
    abort.abort()
    await expect(raced).rejects.toMatchObject({ name: 'Aborted' })
  })

  it('can stop its timer and keep its signal', async () => {
    const clock = virtualClock()
    const abort = new AbortController()
    const deadline = new Deadline({ clock, timeoutMs: 1_000, signal: abort.signal, what: 'x' })
    deadline.stopTiming()
    await clock.advance(10_000)
    expect(deadline.signal.aborted).toBe(false)
    abort.abort()
    expect(deadline.signal.aborted).toBe(true)
  })

  it('releases all resources', async () => {
    const clock = virtualClock()
    const abort = new AbortController()
    const deadline = new Deadline({ clock, timeoutMs: 1_000, signal: abort.signal, what: 'x' })
    deadline.release()
    await clock.advance(10_000)
    abort.abort()
    expect(deadline.signal.aborted).toBe(false)
  })
})
