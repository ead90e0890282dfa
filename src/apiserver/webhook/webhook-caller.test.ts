import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ca, listen, serverPair } from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { createStorage } from '../storage/storage.ts'
import { createWebhookCaller } from './webhook-caller.ts'

const caBundle = Buffer.from(ca.cert).toString('base64')

async function hook(listener: RequestListener): Promise<number> {
  const server = createServer({ cert: serverPair.cert, key: serverPair.key }, listener)
  const port = await listen(server)
  expect((server.address() as AddressInfo).port).toBe(port)
  return port
}

describe('calling a webhook', () => {
  it('posts JSON with the timeout, and reads the response', async () => {
    let asked: readonly (string | undefined)[] = []
    const port = await hook((request, response) => {
      asked = [request.method, request.url, request.headers['content-type']]
      response.end('{"said":9007199254740993}')
    })
    const call = createWebhookCaller({ storage: createStorage(), clock: systemClock })
    expect(await call({ url: `https://127.0.0.1:${port}/x`, caBundle }, { a: 1 }, 5000)).toEqual({
      said: 9007199254740993n,
    })
    expect(asked).toEqual(['POST', '/x?timeout=5s', 'application/json'])
  })

  it('resolves a service by its endpoints, or by configured hosts', async () => {
    const port = await hook((_request, response) => void response.end('{}'))
    const storage = createStorage()
    const put = (table: string, more: object): void =>
      void storage.put(table, { apiVersion: 'v1', kind: 'X', metadata: { name: 's', namespace: 'n' }, ...more })
    const service = { namespace: 'n', name: 's', path: '/p' }
    const call = createWebhookCaller({ storage, clock: systemClock })
    await expect(call({ service, caBundle }, {}, 5000)).rejects.toThrow('service "s" not found')
    put('services', { spec: { ports: [{ name: 'https', port: 443 }] } })
    await expect(call({ service, caBundle }, {}, 5000)).rejects.toThrow('no endpoints available for service "s"')
    put('endpoints', { subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port }] }] })
    // The address is reached; only the name in the certificate differs.
    await expect(call({ service, caBundle }, {}, 5000)).rejects.toThrow(
      'x509: certificate is valid for localhost, not s.n.svc',
    )
    const mapped = createWebhookCaller({
      storage,
      clock: systemClock,
      hosts: new Map([['s.n.svc', `localhost:${port}`]]),
    })
    await expect(mapped({ service, caBundle }, {}, 5000)).rejects.toThrow(
      'x509: certificate is valid for localhost, not s.n.svc',
    )
  })

  it('trusts only certificates of the CA bundle', async () => {
    const port = await hook((_request, response) => void response.end('{}'))
    const call = createWebhookCaller({ storage: createStorage(), clock: systemClock })
    await expect(call({ url: `https://127.0.0.1:${port}/` }, {}, 5000)).rejects.toThrow('x509')
  })

  it.each<readonly [string, RequestListener, string]>([
    ['a response that is not JSON', (_request, response) => void response.end('<html>'), 'not valid JSON'],
    [
      'a response of more than three megabytes',
      (_request, response) => void response.end('x'.repeat(4_000_000)),
      'larger than',
    ],
    ['an error status', (_request, response) => void response.writeHead(503).end(), 'unable to handle the request'],
    ['a missing response', () => undefined, 'context deadline exceeded'],
  ])('rejects %s', async (_what, listener, words) => {
    const port = await hook(listener)
    const call = createWebhookCaller({ storage: createStorage(), clock: systemClock })
    await expect(
      call({ url: `https://127.0.0.1:${port}/`, caBundle }, {}, words.startsWith('context') ? 50 : 5000),
    ).rejects.toThrow(words)
  })

  it('reports the address of a refused connection', async () => {
    const call = createWebhookCaller({ storage: createStorage(), clock: systemClock })
    await expect(call({ url: 'https://127.0.0.1:1/', caBundle }, {}, 5000)).rejects.toThrow(
      'Post "https://127.0.0.1:1/?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
    )
  })
})
