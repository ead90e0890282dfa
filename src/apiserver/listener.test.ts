import { request as requestHttp1 } from 'node:https'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps } from '../../test/embedded.ts'
import { systemClock } from '../clock/system-clock.ts'
import { readText } from '../client/body.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/create-client.ts'
import { httpTransport } from '../client/http/http-transport.ts'
import { parseJson } from '../kube/json.ts'
import { createApiServer } from './api-server.ts'
import { type Listener, startListener } from './listener.ts'

const token = 'a-token-for-this-test'

async function started(): Promise<Listener> {
  const listener = await startListener(createApiServer({ clock: systemClock }), { clock: systemClock, token })
  onTestFinished(() => listener.close())
  return listener
}

function clientOf({ url, ca }: Listener, authorization: string | undefined = `Bearer ${token}`): Client {
  const credentials = {
    headers: (): Promise<Record<string, string>> => Promise.resolve(authorization === '' ? {} : { authorization }),
    certificate: () => Promise.resolve(undefined),
    refused: () => false,
  }
  const connection = { name: 'embedded', server: url, tls: { ca }, credentials, namespace: 'default' }
  const client = createClient({ transport: httpTransport(connection, { clock: systemClock, env: {} }) })
  onTestFinished(() => client.close())
  return client
}

describe('a listener', () => {
  it('serves clients, watches included, until it is closed', async () => {
    const listener = await started()
    const client = clientOf(listener)
    const events = client.watch(configMaps)[Symbol.asyncIterator]()
    const first = events.next()
    await client.create(configMaps, configMap('a', { text: 'ü'.repeat(100_000) }))
    expect(await first).toMatchObject({ done: false, value: { type: 'ADDED', object: { metadata: { name: 'a' } } } })
    // An end, not an error: the client goes on from the last version elsewhere.
    const [last] = await Promise.all([events.next(), listener.close()])
    expect(last.done).toBe(true)
  })

  it('answers nobody without the token', async () => {
    const listener = await started()
    for (const authorization of ['', `Bearer ${token}x`, `Basic ${token}`, 'Bearer']) {
      const { transport } = clientOf(listener, authorization)
      const { status, body } = await transport.send({ method: 'GET', path: '/version', headers: {} })
      expect(status).toBe(401)
      expect(parseJson(await readText(body))).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 })
    }
  })

  it('refuses what is too large', async () => {
    const client = clientOf(await started())
    const large = client.create(configMaps, configMap('a', { x: 'x'.repeat(3 * 1024 * 1024) }))
    await expect(large).rejects.toMatchObject({ name: 'RequestTooLarge' })
  })

  it('speaks HTTP/1.1 too, and knows no other methods than those of the API', async () => {
    const { url, ca } = await started()
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` }
      const request = requestHttp1(`${url}/version`, { ca, headers, method: 'OPTIONS' }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.once('error', reject).end()
    })
    expect(status).toBe(405)
  })

  it('binds to loopback or not at all', async () => {
    const server = createApiServer({ clock: systemClock })
    for (const host of ['0.0.0.0', '::', 'example.com', '10.0.0.1']) {
      await expect(startListener(server, { clock: systemClock, token, host })).rejects.toThrow(
        'loopback addresses only',
      )
    }
  })

  it('says that a port is taken', async () => {
    const port = Number(new URL((await started()).url).port)
    const second = startListener(createApiServer({ clock: systemClock }), { clock: systemClock, token, port })
    await expect(second).rejects.toThrow(`port ${port}: another program uses it`)
  })
})
