import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session, constants } from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { administrator } from '../access/identity.ts'
import { type ApiServer, createApiServer } from './api-server.ts'
import { type ServerListener, type ListenerOptions, startListener } from '../http/listener.ts'
import { maxBodyBytes } from '../codec/request-body.ts'

const token = 'a-token-for-this-test'
const authorization = `Bearer ${token}`
const configMaps = '/api/v1/namespaces/default/configmaps'

interface Started {
  readonly clock: VirtualClock
  readonly server: ApiServer
  readonly listener: ServerListener
  readonly port: number
}

async function started(options: Partial<ListenerOptions> = {}): Promise<Started> {
  const clock = virtualClock()
  const access = { tokens: new Map([[token, administrator]]) }
  const server = createApiServer({ clock, random: seededRandom(1), access, watchBuffer: 50 })
  const listener = await startListener(server, { clock, ...options })
  onTestFinished(async () => {
    const closed = listener.close()
    await clock.advance(2000)
    await closed
  })
  return { clock, server, listener, port: Number(new URL(listener.url).port) }
}

/** A raw connection on which any bytes can be sent. */
function rawTls({ listener, port }: Started): Connection {
  return connectionOf(connectTls({ host: '127.0.0.1', port, ca: listener.ca, ALPNProtocols: ['http/1.1'] }))
}

interface Connection {
  readonly socket: Socket
  readonly said: () => string
  /** Resolves when the received text contains this. */
  readonly hears: (text: string) => Promise<void>
  readonly closed: Promise<void>
}

function connectionOf(socket: Socket): Connection {
  let said = ''
  const waiting: { readonly text: string; readonly resolve: () => void }[] = []
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  socket.on('data', (chunk: Buffer) => {
    said += chunk.toString('latin1')
    for (const { text, resolve } of waiting) if (said.includes(text)) resolve()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => close())
  onTestFinished(() => void socket.destroy())
  const hears = async (text: string): Promise<void> => {
    if (said.includes(text)) return
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push({ text, resolve })
    await promise
  }
  return { socket, said: () => said, hears, closed }
}

/**
 * Time passes until the server has had enough; each step gives the sockets a turn. How much of it passes meanwhile says
 * nothing: virtual hours are quicker than a busy machine's sockets. A server that never has enough ends the test.
 */
async function waitOut(clock: VirtualClock, closed: Promise<void>, meanwhile?: () => void): Promise<void> {
  const state = { isClosed: false }
  void closed.then(() => (state.isClosed = true))
  while (!state.isClosed) {
    await clock.advance(1000)
    meanwhile?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Whether the server still works. */
async function isHealthy({ listener, server }: Started): Promise<boolean> {
  const session = connectHttp2(listener.url, { ca: listener.ca })
  try {
    const answer = await ask(session, { ':path': '/readyz', authorization })
    const { status } = await server.handle({ method: 'GET', path: '/readyz', headers: { authorization } })
    return answer.status === 200 && status === 200
  } finally {
    session.close()
  }
}

async function ask(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const stream = session.request({ ':method': 'GET', ...headers })
  stream.end(body)
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [head] = (await once(stream, 'response')) as [Readonly<Record<string, unknown>>]
  if (!stream.readableEnded) await once(stream, 'end')
  return { status: Number(head[':status']), text: Buffer.concat(chunks).toString() }
}

function http2({ listener }: Started): ClientHttp2Session {
  const session = connectHttp2(listener.url, { ca: listener.ca })
  session.on('error', () => undefined)
  onTestFinished(() => session.destroy())
  return session
}

const head = (method: string, path: string, ...lines: readonly string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: ${authorization}`, ...lines, '', ''].join('\r\n')

describe('a slow client', () => {
  it('is cut off if it does not start TLS', async () => {
    const one = await started()
    const { socket, closed } = connectionOf(connectTcp(one.port, '127.0.0.1'))
    await once(socket, 'connect')
    await new Promise((resolve) => setImmediate(resolve))
    await waitOut(one.clock, closed)
    expect(await isHealthy(one)).toBe(true)
  })

  it('is cut off in the middle of the headers, however slowly it sends', async () => {
    const one = await started()
    const { socket, closed } = rawTls(one)
    await once(socket, 'secureConnect')
    socket.write('GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    await waitOut(one.clock, closed, () => void socket.write('a'))
    expect(await isHealthy(one)).toBe(true)
  })

  it('is cut off in the middle of a body, and nothing is stored', async () => {
    const one = await started()
    const { socket, closed } = rawTls(one)
    await once(socket, 'secureConnect')
    socket.write(head('POST', configMaps, 'Content-Type: application/json', 'Content-Length: 1000'))
    socket.write('{"metadata":{"name":"half"}')
    await waitOut(one.clock, closed)
    const { status } = await one.server.handle({
      method: 'GET',
      path: `${configMaps}/half`,
      headers: { authorization },
    })
    expect(status).toBe(404)
  })

  it('is cut off in the middle of a body over HTTP/2, and only that request', async () => {
    const one = await started()
    const session = http2(one)
    const stream = session.request({
      ':method': 'POST',
      ':path': configMaps,
      authorization,
      'content-type': 'application/json',
    })
    stream.on('error', () => undefined)
    stream.write('{"metadata":')
    await ask(session, { ':path': '/version', authorization })
    await waitOut(
      one.clock,
      once(stream, 'close').then(() => undefined),
    )
    expect((await ask(session, { ':path': '/version', authorization })).status).toBe(200)
  })

  it('is disconnected when idle, over either protocol', async () => {
    const one = await started()
    const session = http2(one)
    await ask(session, { ':path': '/version', authorization })
    await waitOut(
      one.clock,
      once(session, 'close').then(() => undefined),
    )
    expect(session.destroyed).toBe(true)
    const { socket, hears, closed } = rawTls(one)
    socket.write(head('GET', '/version'))
    await hears('gitVersion')
    await waitOut(one.clock, closed)
    expect(await isHealthy(one)).toBe(true)
  })
})

describe('a client that reads nothing', () => {
  it('loses its watch, without affecting others', async () => {
    const one = await started()
    const { socket, closed } = rawTls(one)
    await once(socket, 'secureConnect')
    socket.pause()
    socket.write(head('GET', `${configMaps}?watch=true`))
    const session = http2(one)
    const big = 'x'.repeat(500_000)
    for (let count = 0; count < 60; count++) {
      const body = JSON.stringify({ metadata: { name: `big-${count}` }, data: { big } })
      const answer = await ask(session, { ':method': 'POST', ':path': configMaps, authorization }, body)
      expect(answer.status).toBe(201)
    }
    await one.clock.advance(120_000)
    // When it reads again the watch has ended: there is nothing more to wait for.
    socket.resume()
    await closed
    expect(await isHealthy(one)).toBe(true)
  })
})

describe('a client that does not speak HTTP', () => {
  it.each([
    ['text instead of TLS', 'GET / HTTP/1.1\r\n\r\n'],
    ['random bytes instead of TLS', Buffer.from(Array.from({ length: 500 }, (_, at) => (at * 167) & 255))],
    ['a truncated handshake', Buffer.from('16030100c8010000c40303', 'hex')],
  ])('%s: the connection is closed', async (_name, bytes) => {
    const one = await started()
    const { socket, closed } = connectionOf(connectTcp(one.port, '127.0.0.1'))
    socket.end(bytes)
    await closed
    expect(await isHealthy(one)).toBe(true)
  })

  it.each([
    ['noise', '\u{0}\u{1}\u{2}\r\n\r\n'],
    ['an endless head', `GET /${'a'.repeat(200_000)} HTTP/1.1\r\n\r\n`],
    ['too many headers', `GET / HTTP/1.1\r\n${'X: y\r\n'.repeat(20_000)}\r\n`],
    ['both length headers', head('POST', configMaps, 'Content-Length: 5', 'Transfer-Encoding: chunked')],
    ['two length headers', head('POST', configMaps, 'Content-Length: 5', 'Content-Length: 6')],
    ['an invalid length', head('POST', configMaps, 'Content-Length: -1')],
    ['an obfuscated encoding', head('POST', configMaps, 'Transfer-Encoding: xchunked')],
    ['a folded header', head('GET', '/version', 'X: a', ' b: c')],
    ['a space before the colon', head('GET', '/version', 'Content-Length : 5')],
    ['a chunk without a size', `${head('POST', configMaps, 'Transfer-Encoding: chunked')}zz\r\n`],
    ['another protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a tunnel', head('CONNECT', 'example.com:443')],
  ])('%s: an error or a disconnect, and never two responses', async (_name, text) => {
    const one = await started()
    const { socket, said, closed } = rawTls(one)
    await once(socket, 'secureConnect')
    // It is followed by a request that must not be served as another client's (request smuggling).
    socket.write(text)
    socket.write(head('DELETE', '/api/v1/namespaces/smuggled'))
    await waitOut(one.clock, closed)
    expect(said().match(/HTTP\/1\.1 \d+/g)?.length ?? 0).toBeLessThanOrEqual(1)
    expect(said()).not.toContain('HTTP/1.1 2')
    expect(said()).not.toContain('smuggled')
    expect(await isHealthy(one)).toBe(true)
  })
})

describe('a client with an invalid request target', () => {
  it.each(['*/api/v1/secrets', 'x/api/v1/secrets', 'api/v1/secrets'])(
    '%s: is rejected over HTTP/1.1',
    async (target) => {
      const one = await started()
      const { socket, hears, said } = rawTls(one)
      socket.write(head('GET', target))
      await hears('400 Bad Request')
      expect(said()).not.toContain('SecretList')
    },
  )

  it.each([
    ['x/api/v1/secrets', 'foo'],
    ['*/api/v1/secrets', 'foo'],
    ['/api/v1/secrets', 'foo'],
    ['x/api/v1/secrets', 'https'],
  ])('%s of the scheme %s: is cut off over HTTP/2, as by kube-apiserver', async (target, scheme) => {
    const one = await started()
    const stream = http2(one).request({ ':method': 'GET', ':path': target, ':scheme': scheme, authorization })
    stream.on('error', () => undefined)
    await new Promise((resolve) => stream.once('close', resolve))
    expect(stream.rstCode).toBe(constants.NGHTTP2_PROTOCOL_ERROR)
    expect(await isHealthy(one)).toBe(true)
  })
})

describe('an unauthenticated client', () => {
  it('is rejected before its body is read, and the connection stays usable', async () => {
    const one = await started()
    const { socket, hears, said } = rawTls(one)
    await once(socket, 'secureConnect')
    const stranger = head('POST', configMaps, 'Content-Length: 100000').replace(token, 'none')
    socket.write(stranger)
    // Not a byte of the body has been sent.
    await hears('HTTP/1.1 401')
    socket.write(`${' '.repeat(100_000)}${head('GET', '/version')}`)
    await hears('gitVersion')
    expect(said().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
  })

  it('is rejected before its body is read over HTTP/2, too', async () => {
    const one = await started()
    const session = http2(one)
    const stream = session.request({ ':method': 'POST', ':path': configMaps })
    stream.on('error', () => undefined)
    stream.write('{"metadata":')
    const [answered] = (await once(stream, 'response')) as [Readonly<Record<string, unknown>>]
    expect(answered[':status']).toBe(401)
    stream.destroy()
    expect((await ask(session, { ':path': '/version', authorization })).status).toBe(200)
  })
})

describe('clients that send many large bodies', () => {
  it('get 429 when the budget is used up, and others are served', async () => {
    const one = await started({ maxBodiesBytes: 100_000 })
    const session = http2(one)
    const post = { ':method': 'POST', ':path': configMaps, authorization, 'content-type': 'application/json' }
    const { promise: refused, resolve: refuse } = Promise.withResolvers<Readonly<Record<string, unknown>>>()
    const sent = Array.from({ length: 5 }, () => {
      const stream = session.request(post)
      const { promise: status, resolve } = Promise.withResolvers<number>()
      stream.on('error', () => undefined)
      stream.once('response', (answered) => {
        resolve(Number(answered[':status']))
        refuse(answered)
      })
      stream.resume()
      stream.write(' '.repeat(30_000))
      return { stream, status }
    })
    // The fourth, or the one whose last bytes arrived fourth.
    expect(await refused).toMatchObject({ ':status': 429, 'retry-after': '1' })
    expect((await ask(session, { ':path': '/version', authorization })).status).toBe(200)
    for (const { stream } of sent) stream.end('{')
    const statuses = await Promise.all(sent.map(({ status }) => status))
    expect(new Set(statuses)).toEqual(new Set([400, 429]))
    // The budget has been returned.
    expect((await ask(session, post, `{"metadata":{"name":"later"}}${' '.repeat(90_000)}`)).status).toBe(201)
  })
})

describe('a client with many requests', () => {
  it('gets the responses to a hundred pipelined requests in order', async () => {
    const one = await started()
    const { socket, hears, said } = rawTls(one)
    socket.write(Array.from({ length: 100 }, (_, at) => head('GET', `${configMaps}/none-${at}`)).join(''))
    await hears('none-99\\" not found')
    const order = [...said().matchAll(/"message":"configmaps \\"none-(\d+)\\" not found"/g)].map(([, at]) => Number(at))
    expect(order).toEqual(Array.from({ length: 100 }, (_, at) => at))
  })

  it('gets 413 for an endless body', async () => {
    const one = await started()
    const { socket, hears, closed } = rawTls(one)
    await once(socket, 'secureConnect')
    socket.write(head('POST', configMaps, 'Content-Type: application/json', 'Transfer-Encoding: chunked'))
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const pour = (): void => {
      while (!socket.destroyed && socket.writable && socket.write(chunk));
    }
    socket.on('drain', pour)
    pour()
    await hears(`Request entity too large: limit is ${maxBodyBytes}`)
    await waitOut(one.clock, closed)
    expect(await isHealthy(one)).toBe(true)
  })

  it('may open and reset streams rapidly', async () => {
    const one = await started()
    const session = http2(one)
    await once(session, 'connect')
    for (let count = 0; count < 2000 && !session.destroyed; count++) {
      const stream = session.request({ ':method': 'GET', ':path': `${configMaps}?watch=true`, authorization })
      stream.on('error', () => undefined)
      stream.close(constants.NGHTTP2_CANCEL)
    }
    await new Promise((resolve) => setImmediate(resolve))
    expect(await isHealthy(one)).toBe(true)
  })

  it('may have a thousand concurrent streams, and no more', async () => {
    const one = await started()
    const session = http2(one)
    await once(session, 'remoteSettings')
    expect(session.remoteSettings.maxConcurrentStreams).toBe(1000)
    const answers = await Promise.all(
      Array.from({ length: 1500 }, () => ask(session, { ':path': `${configMaps}/none`, authorization })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]))
  })

  it('gets warnings in any script', async () => {
    const one = await started()
    const { socket, hears, said } = rawTls(one)
    const body = Buffer.from(JSON.stringify({ metadata: { name: 'w' }, 'da€ta\n"x"': 1 }))
    socket.write(head('POST', configMaps, 'Content-Type: application/json', `Content-Length: ${body.length}`))
    socket.write(body)
    await hears('"name":"w"')
    const text = Buffer.from(said(), 'latin1').toString()
    expect(text).toContain(String.raw`299 - "unknown field \"da€ta\\n\\\"x\\\"\""`)
  })
})
