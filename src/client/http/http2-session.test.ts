import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it } from 'vitest'
import {
  closing,
  connectionTo,
  echoHandler,
  eventually,
  failure,
  get,
  listen,
  serverPair,
  startHttp2,
  textOf,
  watchHandler,
} from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { httpTransport } from './http-transport.ts'
import type { Transport } from '../../transport/transport.ts'

const transportTo = (url: string, clock = systemClock): Transport =>
  closing(httpTransport(connectionTo(url), { clock }))

/** A server that completes the TLS handshake for HTTP/2 and then does as `onSocket` says: nothing, by itself. */
async function startMute(onSocket: (socket: Socket) => void = () => {}): Promise<string> {
  const server = createTlsServer({ ...serverPair, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {})
    onSocket(socket)
  })
  return `https://127.0.0.1:${await listen(server)}`
}

describe('an HTTP/2 connection whose server', () => {
  it('never responds: the request times out', async () => {
    const clock = virtualClock()
    const transport = transportTo(await startMute(), clock)
    const sent = failure(transport.send(get('/pods')))
    await eventually(() => transport.stats().streams === 1)
    await clock.advance(30_000)
    expect(await sent).toMatchObject({ name: 'RequestTimeout', message: 'GET /pods: no answer within 30 s.' })
    await eventually(() => transport.stats().streams === 0)
  })

  it('has not announced its stream limit: only a few are opened', async () => {
    const transport = transportTo(await startMute())
    const sent = Array.from({ length: 20 }, (_, index) => failure(transport.send(get(`/${index}`))))
    await eventually(() => transport.stats().connections === 1)
    expect(transport.stats()).toEqual({ connections: 1, streams: 8 })
    await transport.close()
    expect(new Set((await Promise.all(sent)).map((error) => error.name))).toEqual(new Set(['TransportClosed']))
  })

  it('disconnects: the request fails', async () => {
    const url = await startMute((socket) => void socket.once('data', () => socket.end()))
    expect((await failure(transportTo(url).send(get('/')))).name).toBe('ConnectionLost')
  })

  it('resets the connection: the request fails', async () => {
    const raw: Socket[] = []
    const server = createTlsServer({ ...serverPair, ALPNProtocols: ['h2'] }, (socket) => {
      socket.on('error', () => {})
      socket.once('data', () => raw[0]?.resetAndDestroy())
    })
    server.on('connection', (socket: Socket) => raw.push(socket))
    const transport = transportTo(`https://127.0.0.1:${await listen(server)}`)
    const error = await failure(transport.send({ method: 'PUT', path: '/x', headers: {}, body: 'x' }))
    expect(error).toMatchObject({ name: 'ConnectionLost', message: expect.stringContaining('ECONNRESET') })
  })

  it('does not speak HTTP/2 although negotiated: the error names the server', async () => {
    const url = await startMute((socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
    expect(await failure(transportTo(url).send(get('/')))).toMatchObject({
      name: 'ProtocolError',
      message: expect.stringMatching(/^GET \/: test \(127\.0\.0\.1:\d+\): the response is not valid HTTP\/2\.$/),
    })
  })

  it('dies in the middle of a body: the reader gets the received part, then an error, never a clean end', async () => {
    const server = await startHttp2((stream) => {
      stream.respond({ ':status': 200 })
      stream.write('half of ')
    })
    const answer = await transportTo(server.url).send(get('/list'))
    const reader = answer.body[Symbol.asyncIterator]()
    expect(Buffer.from((await reader.next()).value as Uint8Array).toString()).toBe('half of ')
    server.seen[0]!.socket.destroy()
    expect(await failure(reader.next())).toMatchObject({
      name: 'ConnectionLost',
      message: expect.stringContaining('before the response was complete'),
    })
  })

  it('closes its session in the middle of a body without an error: that is not a clean end either', async () => {
    const server = await startHttp2(watchHandler)
    const answer = await transportTo(server.url).send(get('/watch'))
    const reader = answer.body[Symbol.asyncIterator]()
    await reader.next()
    server.seen[0]!.destroy()
    expect((await failure(reader.next())).name).toBe('ConnectionLost')
  })

  it('resets one stream: the others continue', async () => {
    const streams: ServerHttp2Stream[] = []
    const server = await startHttp2((stream, headers) => {
      streams.push(stream)
      watchHandler(stream, headers)
    })
    const transport = transportTo(server.url)
    const [one, other] = await Promise.all([transport.send(get('/a')), transport.send(get('/b'))])
    const readers = [one, other].map((answer) => answer.body[Symbol.asyncIterator]())
    await Promise.all(readers.map((reader) => reader.next()))
    streams[0]!.destroy(new Error('an internal error'))
    expect((await failure(readers[0]!.next())).name).toBe('ConnectionLost')
    streams[1]!.write('second\n')
    expect(Buffer.from((await readers[1]!.next()).value as Uint8Array).toString()).toBe('second\n')
  })

  it('becomes silent: an unanswered ping ends all its streams', async () => {
    const clock = virtualClock()
    const server = await startHttp2(watchHandler)
    // A wire in between that can be cut without either end noticing.
    let cut = false
    const target = Number(new URL(server.url).port)
    const { connect } = await import('node:net')
    const wire = createTcpServer((near) => {
      const far = connect(target, '127.0.0.1')
      near.on('data', (chunk) => cut || far.write(chunk))
      far.on('data', (chunk) => cut || near.write(chunk))
      far.on('error', () => {})
      near.once('close', () => far.destroy())
    })
    const transport = transportTo(`https://127.0.0.1:${await listen(wire)}`, clock)
    const readers = await Promise.all(
      ['/a', '/b'].map(async (path) => (await transport.send(get(path))).body[Symbol.asyncIterator]()),
    )
    for (const reader of readers) await reader.next()
    const waiting = readers.map((reader) => failure(reader.next()))

    cut = true
    await clock.advance(30_000)
    await clock.advance(30_000)
    expect(transport.stats().streams).toBe(2)
    await clock.advance(15_000)
    const errors = await Promise.all(waiting)
    expect(errors.map((error) => error.name)).toEqual(['ConnectionLost', 'ConnectionLost'])
    expect(errors[0]!.message).toContain('stopped responding')
    await eventually(() => transport.stats().connections === 0)
  })

  it('answers pings: an idle watch stays open', async () => {
    const clock = virtualClock()
    const start = clock.now()
    let pings = 0
    const streams: ServerHttp2Stream[] = []
    const server = await startHttp2((stream, headers) => {
      streams.push(stream)
      watchHandler(stream, headers)
    })
    const transport = transportTo(server.url, clock)
    const reader = (await transport.send(get('/watch'))).body[Symbol.asyncIterator]()
    await reader.next()
    server.seen[0]!.on('ping', () => pings++)
    for (let round = 1; round <= 20; round++) {
      // Something was heard since the last look: the first silence is only noticed, the second is answered by a ping.
      await clock.advance(30_000)
      await clock.advance(30_000)
      await eventually(() => pings === round)
      // A line that is sent after the answer to the ping arrives after it.
      streams[0]!.write(`line ${round}\n`)
      expect(Buffer.from((await reader.next()).value as Uint8Array).toString()).toBe(`line ${round}\n`)
    }
    expect(clock.now() - start).toBe(20 * 60_000)
  })
})

describe('a stream', () => {
  it('is paused by a slow reader, without affecting others on the connection', async () => {
    const size = 20_000_000
    let written = 0
    const server = await startHttp2((stream, headers) => {
      if (headers[':path'] !== '/big') {
        echoHandler(stream, headers)
        return
      }
      stream.respond({ ':status': 200 })
      const more = (): void => {
        while (written < size) {
          written += 100_000
          if (!stream.write(Buffer.alloc(100_000))) {
            stream.once('drain', more)
            return
          }
        }
        stream.end()
      }
      more()
    })
    const transport = transportTo(server.url)
    const big = await transport.send(get('/big'))
    const reader = big.body[Symbol.asyncIterator]()
    let read = (await reader.next()).value?.length ?? 0
    for (let index = 0; index < 50; index++) {
      expect(await textOf((await transport.send(get(`/${index}`))).body)).toBe(`/${index}`)
    }
    // One window of a megabyte, and what buffers hold; by far not everything.
    expect(written).toBeLessThan(5_000_000)
    for (let next = await reader.next(); !next.done; next = await reader.next()) read += next.value.length
    expect(read).toBe(size)
    expect(server.seen.length).toBe(1)
  })

  it('is released when its reader stops early, and the server is notified', async () => {
    let code: number | undefined
    const server = await startHttp2((stream, headers) => {
      stream.once('close', () => void (code = stream.rstCode))
      watchHandler(stream, headers)
    })
    const transport = transportTo(server.url)
    for await (const chunk of (await transport.send(get('/watch'))).body) {
      expect(Buffer.from(chunk).toString()).toBe('first\n')
      break
    }
    await eventually(() => transport.stats().streams === 0 && code !== undefined)
    expect(code).toBe(constants.NGHTTP2_CANCEL)
    expect(transport.stats().connections).toBe(1)
  })

  it('is released by an abort, before the head and after it, with the reason of the signal', async () => {
    const server = await startHttp2((stream, headers) => {
      if (headers[':path'] === '/watch') watchHandler(stream, headers)
    })
    const transport = transportTo(server.url)
    const controller = new AbortController()
    const reason = new Error('enough')
    const watch = await transport.send(get('/watch', { signal: controller.signal }))
    const reading = failure(textOf(watch.body))
    const headless = failure(transport.send(get('/silent', { signal: controller.signal })))
    await eventually(() => transport.stats().streams === 2)
    controller.abort(reason)
    expect(await reading).toBe(reason)
    expect(await headless).toBe(reason)
    await eventually(() => transport.stats().streams === 0)
    expect(await failure(transport.send(get('/', { signal: controller.signal })))).toBe(reason)
  })

  it('with an empty body is released without a reader', async () => {
    const server = await startHttp2((stream) => stream.respond({ ':status': 204 }, { endStream: true }))
    const transport = transportTo(server.url)
    expect((await transport.send(get('/'))).status).toBe(204)
    await eventually(() => transport.stats().streams === 0)
  })

  it('without a response does not delay the others: only it times out', async () => {
    const clock = virtualClock()
    const server = await startHttp2((stream, headers) => {
      if (headers[':path'] !== '/silent') echoHandler(stream, headers)
    })
    const transport = transportTo(server.url, clock)
    const silent = failure(transport.send(get('/silent', { headTimeoutMs: 5_000 })))
    expect(await textOf((await transport.send(get('/quick'))).body)).toBe('/quick')
    await clock.advance(5_000)
    expect(await silent).toMatchObject({ name: 'RequestTimeout', message: 'GET /silent: no answer within 5 s.' })
    expect(await textOf((await transport.send(get('/later'))).body)).toBe('/later')
    expect(server.seen.length).toBe(1)
  })

  it('sends a large request body completely', async () => {
    const server = await startHttp2((stream) => {
      stream.respond({ ':status': 200 })
      void textOf(stream as AsyncIterable<Uint8Array>).then((text) => stream.end(String(text.length)))
    })
    const answer = await transportTo(server.url).send({
      method: 'PUT',
      path: '/x',
      headers: {},
      body: 'é'.repeat(1_000_000),
    })
    expect(await textOf(answer.body)).toBe('1000000')
  })
})
