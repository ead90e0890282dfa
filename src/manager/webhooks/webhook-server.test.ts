import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import { textOf } from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineWebhook } from '../../operator/kind/webhook.ts'
import { createWebhookHost } from './webhook-host.ts'
import { startWebhookServer, type WebhookServer, type WebhookServerOptions } from './webhook-server.ts'

const authorities = [makeCa({ commonName: 'one' }), makeCa({ commonName: 'two' })] as const
const certificates = authorities.map((ca) => ca.issue({ commonName: 'w', ips: ['127.0.0.1'], server: true }))

const review = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u1',
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    operation: 'CREATE',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } },
  },
})
const path = '/operators/op/validate/configmaps?timeout=10s'

interface Running extends WebhookServer {
  readonly clock: VirtualClock
  /** The author's answer to the next review waits for this. */
  readonly gate: { wait: Promise<void> }
}

async function running(limits: WebhookServerOptions['limits'] = {}): Promise<Running> {
  const clock = virtualClock()
  const gate = { wait: Promise.resolve() }
  const host = createWebhookHost({ clock: systemClock })
  host.set('op', { webhooks: [defineWebhook({ for: ConfigMap, validate: () => gate.wait })] })
  const server = await startWebhookServer({
    host,
    clock,
    listen: { host: '127.0.0.1', port: 0 },
    certificate: certificates[0]!,
    limits,
  })
  onTestFinished(() => server.close())
  return { ...server, clock, gate }
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** One request on a connection of its own. */
async function post(
  port: number,
  { body = review, to = path, ca = authorities[0].cert, method = 'POST', type = 'application/json' } = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const headers = { 'content-type': type }
  const outgoing = requestHttps(
    { host: '127.0.0.1', port, path: to, method, ca, agent: false, headers },
    (response) => {
      textOf(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject)
    },
  )
  outgoing.on('error', reject)
  outgoing.end(body)
  return await promise
}

async function session(port: number, ca: string): Promise<ClientHttp2Session> {
  const opened = connectHttp2(`https://127.0.0.1:${port}`, { ca })
  opened.on('error', () => undefined)
  onTestFinished(() => opened.destroy())
  await once(opened, 'connect')
  return opened
}

async function postOn(client: ClientHttp2Session): Promise<Answer> {
  const stream = client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/json' })
  stream.end(review)
  const [headers] = (await once(stream, 'response')) as [{ readonly ':status': number }]
  return { status: headers[':status'], text: await textOf(stream) }
}

const allowed = { status: 200, text: expect.stringContaining('"allowed":true') as string }

describe('the webhook server', () => {
  it('answers over HTTP/1.1 and HTTP/2, concurrently on one connection', async () => {
    const { port } = await running()
    expect(await post(port)).toEqual(allowed)
    const client = await session(port, authorities[0].cert)
    const answers = await Promise.all(Array.from({ length: 100 }, () => postOn(client)))
    expect(answers).toEqual(answers.map(() => allowed))
  })

  it('uses a new certificate from the next handshake on, and keeps open connections', async () => {
    const server = await running()
    const early = await session(server.port, authorities[0].cert)
    const { promise, resolve } = Promise.withResolvers<void>()
    server.gate.wait = promise
    const waiting = postOn(early)
    server.use(certificates[1]!)
    server.gate.wait = Promise.resolve()
    // A client that trusts only the new authority connects, by either protocol.
    expect(await post(server.port, { ca: authorities[1].cert })).toEqual(allowed)
    expect(await postOn(await session(server.port, authorities[1].cert))).toEqual(allowed)
    await expect(post(server.port)).rejects.toThrow('unable to verify')
    resolve()
    expect(await waiting).toEqual(allowed)
    expect(await postOn(early)).toEqual(allowed)
  })

  it.each<readonly [number, string, Parameters<typeof post>[1]]>([
    [400, 'no JSON', { body: '{"password": "hunter2"' }],
    [400, 'no review', { body: '{"kind":"Secret","data":"hunter2"}' }],
    [400, 'a review without end', { body: '['.repeat(100_000) + ']'.repeat(100_000) }],
    [404, 'a path of no operator', { to: '/operators/x/validate/y' }],
    [405, 'another method', { method: 'PUT' }],
    [413, 'a body that is too large', { body: `"${'x'.repeat(9 * 1024 * 1024)}"` }],
    [415, 'another format', { type: 'application/yaml' }],
  ])('refuses with %d what is %s, and quotes nothing of it', async (status, _what, asked) => {
    const { port } = await running()
    const answer = await post(port, asked).catch((error: NodeJS.ErrnoException) => error.code)
    // What is cut off in the middle of its body may not hear why.
    const isCutOff = status === 413 && (answer === 'EPIPE' || answer === 'ECONNRESET')
    expect(isCutOff || (answer as Answer).status === status).toBe(true)
    expect(JSON.stringify(answer)).not.toContain('hunter2')
    expect(await post(port)).toEqual(allowed)
  })

  it('limits a request to half a minute, and an idle connection to two', async () => {
    const { port, clock } = await running()
    const slow = connectTls({ host: '127.0.0.1', port, ca: authorities[0].cert, ALPNProtocols: ['http/1.1'] })
    onTestFinished(() => void slow.destroy())
    slow.on('error', () => undefined)
    await once(slow, 'secureConnect')
    slow.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`)
    const silent = await session(port, authorities[0].cert)
    await postOn(silent)
    const gone = [once(slow, 'close'), once(silent, 'close')]
    // Sockets take their own time to tell: the clock goes on until they have.
    do await clock.advance(30_000)
    while (!slow.closed)
    do await clock.advance(120_000)
    while (!silent.closed)
    await Promise.all(gone)
    expect(await post(port)).toEqual(allowed)
  })

  it('closes a connection with an incomplete head, and rejects connections beyond its limit', async () => {
    const { port } = await running({ headMs: 50, connections: 2 })
    const open = (): { readonly socket: TLSSocket; readonly closed: Promise<void> } => {
      const socket = connectTls({ host: '127.0.0.1', port, ca: authorities[0].cert, ALPNProtocols: ['http/1.1'] })
      onTestFinished(() => void socket.destroy())
      const closed = new Promise<void>((resolve) => void socket.on('close', () => resolve()))
      socket.on('error', () => undefined).resume()
      return { socket, closed }
    }
    const held = [open(), open()]
    for (const { socket } of held) {
      socket.once('secureConnect', () => void socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n`))
    }
    await Promise.all(held.map(async ({ socket }) => await once(socket, 'secureConnect')))
    await open().closed
    await Promise.all(held.map(({ closed }) => closed))
    expect(await post(port)).toEqual(allowed)
  })

  it('finishes requests in progress when it closes, and accepts no new ones', async () => {
    const server = await running()
    const { promise, resolve } = Promise.withResolvers<void>()
    server.gate.wait = promise
    const client = await session(server.port, authorities[0].cert)
    const waiting = postOn(client)
    await new Promise<void>((turn) => client.ping(() => turn()))
    const closed = server.close()
    resolve()
    expect(await waiting).toEqual(allowed)
    await closed
    // The system says so in one way or the other.
    await expect(post(server.port)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/)
  })
})
