import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { seededRandom } from '../../clock/random.ts'
import { sidecarClient, type SidecarClient } from '../../sidecar/client.ts'
import { type FakeSidecar, fakeSidecar } from './fake-sidecar.ts'

const clientOf = (sidecar: FakeSidecar, token = 'open sesame'): SidecarClient =>
  sidecarClient({
    url: 'http://db-0.db:8787',
    token,
    clock: virtualClock(),
    random: seededRandom(1),
    transport: async ({ method, url, headers, body }) =>
      await sidecar.http({ method, url, headers, ...(body !== undefined && { body }) }),
  })

describe('a fake sidecar', () => {
  it('speaks the protocol of the real one: the client of operators understands it', async () => {
    const sidecar = fakeSidecar({ token: 'open sesame', state: 'start' })
    const client = clientOf(sidecar)
    expect((await client.state()).state).toBe('start')
    const backup = { key: 'uid.1.running.servicing', name: 'backup', input: { target: 's3' } }
    await client.start(backup)
    await client.start(backup)
    expect(sidecar.actions).toEqual([{ ...backup, state: 'running' }])
    expect((await client.action(backup.key))?.state).toBe('running')
    sidecar.finish('failed', 'disk full')
    expect(await client.actions()).toMatchObject([{ key: backup.key, state: 'failed', message: 'disk full' }])
    expect(await client.action('other')).toBeUndefined()
  })

  it('refuses another token, and a second action at a time', async () => {
    const sidecar = fakeSidecar({ token: 'open sesame', state: 'running' })
    await expect(clientOf(sidecar, 'guess').state()).rejects.toMatchObject({ name: 'SidecarUnauthorized' })
    const { status } = await sidecar.http({
      method: 'POST',
      url: 'http://a/v1/actions',
      headers: { authorization: 'Bearer open sesame' },
      body: { key: 'a', name: 'backup' },
    })
    expect(status).toBe(202)
    const second = await sidecar.http({
      method: 'POST',
      url: 'http://a/v1/actions',
      headers: { authorization: 'Bearer open sesame' },
      body: { key: 'b', name: 'backup' },
    })
    expect(second.status).toBe(429)
    await clientOf(sidecar).cancel('a')
    expect(sidecar.actions).toMatchObject([{ key: 'a', state: 'failed' }])
    expect(() => sidecar.finish()).toThrow('no action is running')
  })
})
