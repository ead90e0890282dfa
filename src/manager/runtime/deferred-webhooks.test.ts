import { describe, expect, it } from 'vitest'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { type DeferredWebhooks, deferredWebhooks } from './deferred-webhooks.ts'

function play(): { readonly late: DeferredWebhooks; readonly told: string[]; isBroken: boolean } {
  const told: string[] = []
  const scene = {
    told,
    isBroken: false,
    late: deferredWebhooks(() => {
      told.push('start')
      if (scene.isBroken) return Promise.reject(new Error('the port is taken'))
      return Promise.resolve({
        set: (operator) => void told.push(`set ${operator}`),
        settled: (operator) => Promise.resolve(void told.push(`settled ${operator}`)),
        delete: (operator) => Promise.resolve(void told.push(`delete ${operator}`)),
        close: () => Promise.resolve(void told.push('close')),
        address: { url: 'https://in.process' },
      } satisfies Webhooks)
    }),
  }
  return scene
}

describe('deferred webhooks', () => {
  it('are started once, by the first waiter, with all declarations so far', async () => {
    const { late, told } = play()
    late.set('a', {})
    late.set('b', {})
    await late.delete('b')
    expect(told).toEqual([])
    await Promise.all([late.settled('a'), late.settled('a')])
    expect(told).toEqual(['start', 'set a', 'settled a', 'settled a'])
    await late.close()
    expect(told.at(-1)).toBe('close')
  })

  it('are retried by the next waiter, with the same declarations', async () => {
    const scene = play()
    const { late, told } = scene
    scene.isBroken = true
    late.set('a', {})
    await expect(Promise.all([late.settled('a'), late.settled('a')])).rejects.toThrow('the port is taken')
    scene.isBroken = false
    await late.settled('a')
    expect(told).toEqual(['start', 'start', 'set a', 'settled a'])
    await late.close()
  })

  it('are not started after their end', async () => {
    const { late, told } = play()
    late.set('a', {})
    await late.close()
    await expect(late.settled('a')).rejects.toMatchObject({ name: 'TransportClosed' })
    expect(told).toEqual([])
  })
})
