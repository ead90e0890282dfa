import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Connection } from '../connection.ts'
import { anonymousCredentials } from '../credentials/credentials.ts'
import { currentConnection } from './current-connection.ts'

function connectionTo(server: string, reload?: Connection['reload'], ca = 'old'): Connection {
  return { name: 'c', server, tls: { ca }, credentials: anonymousCredentials, namespace: 'default', reload }
}

describe('the connection of a transport', () => {
  it('follows its source, which requests that fail together read once', async () => {
    let readings = 0
    const next = connectionTo('https://b')
    const first = connectionTo('https://a', () => Promise.resolve(++readings === 1 ? next : undefined))
    const moves: Connection[] = []
    const source = currentConnection(first, { clock: virtualClock(), onMoved: (to) => void moves.push(to) })
    expect(await Promise.all([source.hasMoved(first), source.hasMoved(first), source.hasMoved(first)])).toEqual([
      true,
      true,
      true,
    ])
    // The response of a slow request to the first server.
    expect(await source.hasMoved(first)).toBe(true)
    expect(readings).toBe(1)
    expect(source.get()).toBe(next)
    expect(source.epoch()).toBe(1)
    expect(moves).toEqual([next])
  })

  it('reads its source at most once a second', async () => {
    const clock = virtualClock()
    let readings = 0
    const first = connectionTo('https://a', () => Promise.resolve(void readings++))
    const source = currentConnection(first, { clock, onMoved: () => undefined })
    expect(await source.hasMoved(first)).toBe(false)
    expect(await source.hasMoved(first)).toBe(false)
    expect(readings).toBe(1)
    await clock.advance(1_000)
    await source.hasMoved(first)
    expect(readings).toBe(2)
  })

  it('stays while its source cannot be read', async () => {
    const first = connectionTo('https://a', () => Promise.reject(new Error('half written')))
    const source = currentConnection(first, { clock: virtualClock(), onMoved: () => undefined })
    expect(await source.hasMoved(first)).toBe(false)
    expect(source.get()).toBe(first)
  })

  it.each([
    ['another certificate authority', connectionTo('https://a', undefined, 'new'), 1],
    ['other credentials alone', connectionTo('https://a'), 0],
  ])('has another epoch by %s', async (_what, next, epoch) => {
    const first = connectionTo('https://a', () => Promise.resolve(next))
    const source = currentConnection(first, { clock: virtualClock(), onMoved: () => undefined })
    expect(await source.hasMoved(first)).toBe(true)
    expect(source.epoch()).toBe(epoch)
  })
})
