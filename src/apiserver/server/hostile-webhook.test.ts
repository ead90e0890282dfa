import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ca, listen, serverPair } from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Json } from '../../kube/json.ts'
import { createApiServer } from './api-server.ts'
import { createStorage } from '../storage/storage.ts'
import { createWebhookCaller, WebhookError } from '../webhook/webhook-caller.ts'

const caBundle = Buffer.from(ca.cert).toString('base64')

async function hook(listener: RequestListener): Promise<string> {
  const server = createServer({ cert: serverPair.cert, key: serverPair.key }, listener)
  return `https://127.0.0.1:${await listen(server)}/`
}

async function asked(url: string, clock = systemClock): Promise<Json> {
  return await createWebhookCaller({ storage: createStorage(), clock })({ url, caBundle }, { a: 1 }, 5000)
}

describe('a webhook with arbitrary responses', () => {
  it.each<readonly [string, RequestListener, string]>([
    ['HTML', (_request, response) => void response.end('<html>'), 'the response is not valid JSON'],
    ['nothing', (_request, response) => void response.end(), 'the response is not valid JSON'],
    [
      'deeply nested JSON',
      (_request, response) => void response.end(`${'['.repeat(9000)}${']'.repeat(9000)}`),
      'nested too deep',
    ],
    [
      'a redirect',
      (_request, response) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end(),
      'the server responded with the status code 302',
    ],
    [
      'an incomplete body',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{"a":')
        response.socket!.destroySoon()
      },
      'Post "https://127.0.0.1',
    ],
    [
      'an endless body',
      (_request, response) => {
        const pour = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        }
        response.on('drain', pour)
        pour()
      },
      'the response is larger than 3145728 bytes',
    ],
    ['a closed connection', (_request, response) => void response.socket!.destroy(), 'EOF'],
  ])('is an error: %s', async (_name, listener, message) => {
    const answer = asked(await hook(listener))
    await expect(answer).rejects.toThrow(message)
    await expect(answer).rejects.toBeInstanceOf(WebhookError)
  })

  it('fails without TLS', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 200 OK\r\n\r\n{}')
    })
    await expect(asked(`https://127.0.0.1:${await listen(server)}/`)).rejects.toBeInstanceOf(WebhookError)
  })

  it('is cut off at its timeout, before and during its response', async () => {
    for (const begun of [false, true]) {
      const clock = virtualClock()
      const { promise: reached, resolve } = Promise.withResolvers<void>()
      const url = await hook((_request, response) => {
        if (begun) response.write('{')
        resolve()
      })
      const answer = asked(url, clock)
      const failure = answer.catch((error: unknown) => error)
      await reached
      // The first bytes may not have arrived yet.
      for (let turn = 0; turn < 5; turn++) await new Promise((next) => setImmediate(next))
      await clock.advance(5000)
      expect(await failure).toMatchObject({ message: expect.stringContaining('context deadline exceeded') as string })
    }
  })

  it('cannot nest an object deeper than a client could, by repeated copies', async () => {
    const copies = Array.from({ length: 505 }, () => ({ op: 'copy', from: '/data', path: '/data/x' }))
    const patch = Buffer.from(JSON.stringify([{ op: 'add', path: '/data', value: {} }, ...copies])).toString('base64')
    const server = createApiServer({
      clock: virtualClock(),
      webhooks: (_config, review) => {
        const { apiVersion, request } = review as { readonly apiVersion: string; readonly request: { uid: string } }
        const response = { uid: request.uid, allowed: true, patchType: 'JSONPatch', patch }
        return Promise.resolve({ apiVersion, kind: 'AdmissionReview', response })
      },
    })
    const post = async (path: string, body: object): Promise<string> => {
      const answer = await server.handle({ method: 'POST', path, headers: {}, body: JSON.stringify(body) })
      let text = ''
      for await (const chunk of answer.body) text += Buffer.from(chunk).toString()
      return `${answer.status} ${text}`
    }
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }
    const webhook = { name: 'a.b.c', clientConfig: { url: 'https://127.0.0.1:1/' }, rules: [rule] }
    const made = await post('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {
      metadata: { name: 'm' },
      webhooks: [{ ...webhook, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
    })
    expect(made).toMatch(/^201 /)
    const refused = await post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } })
    expect(refused).toMatch(/^500 .*a\.b\.c: the patch makes an object that is nested too deep/)
  })

  it('is not called with an invalid address or CA bundle', async () => {
    const call = createWebhookCaller({
      storage: createStorage(),
      clock: systemClock,
      hosts: new Map([['s.n.svc', '127.0.0.1:1']]),
    })
    for (const config of [
      { service: { namespace: 'n', name: 's', path: '/a\r\nHost: evil' } },
      { service: { namespace: 'n', name: 's', port: 99_999_999 } },
      { url: 'https://127.0.0.1:1/', caBundle: Buffer.from('no certificate').toString('base64') },
      { url: 'https://[' },
      {},
    ]) {
      await expect(call(config, {}, 1000)).rejects.toBeInstanceOf(WebhookError)
    }
  })
})
