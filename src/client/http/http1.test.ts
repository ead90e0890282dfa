import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  anonymous,
  ca,
  closing,
  connectionTo,
  eventually,
  failure,
  get,
  listen,
  serverPair,
  textOf,
} from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { ClientCertificate, Connection } from '../connection.ts'
import { httpTransport } from './http-transport.ts'
import type { Transport } from '../../transport/transport.ts'

const open = (url: string, more: Partial<Connection> = {}, clock = systemClock): Transport =>
  closing(httpTransport(connectionTo(url, more), { clock, env: {} }))

async function startPlain(onRequest: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(onRequest))}`
}

/** TLS, but nothing newer than HTTP/1.1. */
async function startSecure(onRequest: RequestListener): Promise<string> {
  const server = createSecureServer(
    { ...serverPair, requestCert: true, rejectUnauthorized: false, ca: ca.cert },
    onRequest,
  )
  return `https://127.0.0.1:${await listen(server)}`
}

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  response.setHeader('x-version', request.httpVersion)
  response.end(request.url)
}

const watchOrEcho = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.url?.startsWith('/watch')) response.write('first\n')
  else echo(request, response)
}

describe.each([
  ['plain', startPlain],
  ['TLS without HTTP/2', startSecure],
])('HTTP/1.1 over %s', (_, start) => {
  it('carries method, path, headers and body', async () => {
    const url = await start((request, response) => {
      const { method, url: path, headers } = request
      void textOf(request as AsyncIterable<Uint8Array>).then((body) =>
        response.writeHead(201, { 'x-two': ['a', 'b'] }).end(JSON.stringify({ method, path, headers, body })),
      )
    })
    const answer = await open(`${url}/prefix`).send({
      method: 'PATCH',
      path: '/pods/x',
      headers: { 'content-type': 'application/json' },
      body: '{"ü":1}',
    })
    expect(answer.status).toBe(201)
    expect(answer.headers['x-two']).toBe('a, b')
    expect(JSON.parse(await textOf(answer.body))).toMatchObject({
      method: 'PATCH',
      path: '/prefix/pods/x',
      headers: { 'content-type': 'application/json', 'content-length': '8', host: new URL(url).host },
      body: '{"ü":1}',
    })
  })

  it('reuses one connection, and opens another beside a watch', async () => {
    const transport = open(await start(watchOrEcho))
    for (let index = 0; index < 5; index++) {
      const answer = await transport.send(get(`/${index}`))
      expect(answer.headers['x-version']).toBe('1.1')
      expect(await textOf(answer.body)).toBe(`/${index}`)
      await eventually(() => transport.stats().streams === 0)
    }
    expect(transport.stats()).toEqual({ connections: 1, streams: 0 })
    await transport.send(get('/watch'))
    expect(await textOf((await transport.send(get('/beside'))).body)).toBe('/beside')
    expect(transport.stats().connections).toBe(2)
  })

  it('opens as many connections as there are watches', async () => {
    const transport = open(await start(watchOrEcho))
    const watches = await Promise.all(
      Array.from({ length: 60 }, (_each, index) => transport.send(get(`/watch/${index}`))),
    )
    expect(transport.stats()).toEqual({ connections: 60, streams: 60 })
    for (const watch of watches) await watch.body[Symbol.asyncIterator]().return?.()
    await eventually(() => transport.stats().streams === 0)
  })

  it('releases a stream on abort, before the head and after it', async () => {
    const transport = open(
      await start((request, response) => {
        if (request.url === '/watch') response.write('first\n')
      }),
    )
    const controller = new AbortController()
    const reason = new Error('enough')
    const watch = await transport.send(get('/watch', { signal: controller.signal }))
    const reading = failure(textOf(watch.body))
    const headless = failure(transport.send(get('/silent', { signal: controller.signal })))
    await eventually(() => transport.stats().connections === 2)
    controller.abort(reason)
    expect(await reading).toBe(reason)
    expect(await headless).toBe(reason)
    await eventually(() => transport.stats().connections === 0)
  })

  it('reports a server that dies in the middle of a body', async () => {
    let server: Socket | undefined
    const url = await start((request, response) => {
      server = request.socket
      response.writeHead(200, { 'content-length': 100 })
      response.write('half of ')
    })
    const reader = (await open(url).send(get('/'))).body[Symbol.asyncIterator]()
    expect(Buffer.from((await reader.next()).value as Uint8Array).toString()).toBe('half of ')
    server?.destroy()
    expect((await failure(reader.next())).name).toBe('ConnectionLost')
  })

  it('repeats a GET without a response, but no write', async () => {
    let asked = 0
    const url = await start((request, response) => {
      if (++asked % 2 === 1) request.socket.destroy()
      else echo(request, response)
    })
    const transport = open(url)
    expect(await textOf((await transport.send(get('/x'))).body)).toBe('/x')
    expect(asked).toBe(2)
    const error = await failure(transport.send({ method: 'POST', path: '/x?secret=1', headers: {}, body: 'x' }))
    expect(error).toMatchObject({ name: 'ConnectionLost', message: expect.stringMatching(/^POST \/x: test/) })
    expect(asked).toBe(3)
  })

  it('has a timeout until the response head', async () => {
    const clock = virtualClock()
    let asked = 0
    const transport = open(await start(() => asked++), {}, clock)
    const sent = failure(transport.send(get('/silent')))
    await eventually(() => asked === 1)
    await clock.advance(30_000)
    expect((await sent).name).toBe('RequestTimeout')
    await eventually(() => transport.stats().connections === 0)
  })

  it('ends all streams on close', async () => {
    const transport = open(
      await start((request, response) => {
        if (request.url === '/watch') response.write('first\n')
      }),
    )
    const watch = await transport.send(get('/watch'))
    const reading = failure(textOf(watch.body))
    const waiting = failure(transport.send(get('/silent')))
    await transport.close()
    expect((await reading).name).toBe('TransportClosed')
    expect((await waiting).name).toBe('TransportClosed')
    await eventually(() => transport.stats().connections === 0)
  })

  it('pauses the stream of a slow reader', async () => {
    const size = 30_000_000
    let written = 0
    const url = await start((_request, response) => {
      const more = (): void => {
        while (written < size) {
          written += 100_000
          if (!response.write(Buffer.alloc(100_000))) {
            response.once('drain', more)
            return
          }
        }
        response.end()
      }
      more()
    })
    const transport = open(url)
    const reader = (await transport.send(get('/big'))).body[Symbol.asyncIterator]()
    let read = (await reader.next()).value?.length ?? 0
    // Nothing is read for a long while of turns of the event loop; the buffers of the system take some megabytes.
    for (let turn = 0; turn < 2_000; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
    expect(written).toBeLessThan(20_000_000)
    for (let next = await reader.next(); !next.done; next = await reader.next()) read += next.value.length
    expect(read).toBe(size)
  })
})

describe('HTTP/1.1', () => {
  it('uses the renewed certificate, and closes the connections of the old one', async () => {
    const url = await startSecure((request, response) => {
      const socket = request.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }
      response.end(socket.getPeerCertificate().subject.CN)
    })
    const issue = (name: string): ClientCertificate => ({ id: name, ...ca.issue({ commonName: name }) })
    let certificate = issue('first')
    const transport = open(url, { credentials: { ...anonymous, certificate: () => Promise.resolve(certificate) } })
    expect(await textOf((await transport.send(get('/'))).body)).toBe('first')
    await eventually(() => transport.stats().streams === 0)
    certificate = issue('second')
    expect(await textOf((await transport.send(get('/'))).body)).toBe('second')
    await eventually(() => transport.stats().connections === 1)
  })

  it('explains when the server speaks TLS, and passes on any other 400', async () => {
    let text = 'Client sent an HTTP request to an HTTPS server.\n'
    const url = await startPlain((_request, response) => response.writeHead(400).end(text))
    const transport = open(url)
    const error = await failure(transport.send(get('/')))
    expect(error.name).toBe('ProtocolError')
    expect(error.message).toContain('write https:// instead of http://')
    text = 'some other complaint'
    const answer = await transport.send(get('/'))
    expect(answer.status).toBe(400)
    expect(await textOf(answer.body)).toBe('some other complaint')
  })

  it('reports a response that is not HTTP', async () => {
    const port = await listen(
      createTcpServer((socket) => void socket.once('data', () => socket.end('\x15\x03\x03\0\x02'))),
    )
    const error = await failure(open(`http://127.0.0.1:${port}`).send(get('/')))
    expect(error.name).toBe('ProtocolError')
    expect(error.message).toContain('write https:// instead of http://')
  })

  it('reports a closed port', async () => {
    expect(await failure(open('http://127.0.0.1:1').send(get('/')))).toMatchObject({
      name: 'Unreachable',
      message: 'test (127.0.0.1:1): nothing listens there (connection refused).',
    })
  })
})
