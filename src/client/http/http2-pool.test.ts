import { constants } from 'node:http2'
import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it } from 'vitest'
import {
  closing,
  connectionTo,
  echoHandler,
  eventually,
  failure,
  get,
  type Http2Server,
  type OnStream,
  startHttp2,
  textOf,
  watchHandler,
} from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { httpTransport } from './http-transport.ts'
import type { Transport, TransportResponse } from '../../transport/transport.ts'

const transportTo = (server: Http2Server, clock = systemClock): Transport =>
  closing(httpTransport(connectionTo(server.url), { clock }))

const limited = (maxConcurrentStreams: number) => ({ settings: { maxConcurrentStreams } })

const many = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

const leave = async (response: TransportResponse): Promise<unknown> =>
  await response.body[Symbol.asyncIterator]().return?.()

/** Watches stay open, everything else is answered with its path. */
const watchOrEcho: OnStream = (stream, headers) =>
  (headers[':path']?.startsWith('/watch') ? watchHandler : echoHandler)(stream, headers)

describe('the HTTP/2 pool', () => {
  it('puts 1,000 watches on 10 connections when the server allows 100 streams each', { timeout: 30_000 }, async () => {
    const server = await startHttp2(watchHandler, limited(100))
    const transport = transportTo(server)
    const watches = await many(1_000, (index) => transport.send(get(`/watch/${index}`)))
    expect(watches.every((watch) => watch.status === 200)).toBe(true)
    expect(transport.stats()).toEqual({ connections: 10, streams: 1_000 })
    expect(server.seen.length).toBe(10)
  })

  it('opens 3 connections for a burst of 300 requests, not 300', { timeout: 30_000 }, async () => {
    const open: ServerHttp2Stream[] = []
    // The server answers no request before all 300 have arrived.
    const server = await startHttp2((stream) => {
      open.push(stream)
      if (open.length === 300) for (const one of open) one.respond({ ':status': 200 }, { endStream: true })
    }, limited(100))
    const transport = transportTo(server)
    await many(300, (index) => transport.send(get(`/${index}`)))
    expect(server.seen.length).toBe(3)
  })

  it('respects a limit of 3 streams, and leaves no request in the queue', async () => {
    const open = new Map<unknown, number>()
    let most = 0
    const server = await startHttp2((stream, headers) => {
      const { session } = stream
      open.set(session, (open.get(session) ?? 0) + 1)
      most = Math.max(most, open.get(session)!)
      stream.once('close', () => open.set(session, open.get(session)! - 1))
      watchHandler(stream, headers)
    }, limited(3))
    const transport = transportTo(server)
    const watches = await many(20, (index) => transport.send(get(`/watch/${index}`)))
    expect(watches.length).toBe(20)
    expect(transport.stats()).toEqual({ connections: 7, streams: 20 })
    expect(most).toBe(3)
  })

  it('serves a request although 100 endless streams are open', async () => {
    const server = await startHttp2(watchOrEcho, limited(100))
    const transport = transportTo(server)
    await many(100, (index) => transport.send(get(`/watch/${index}`)))
    expect(transport.stats().connections).toBe(1)
    expect(await textOf((await transport.send(get('/one-more'))).body)).toBe('/one-more')
    expect(transport.stats().connections).toBe(2)
  })

  it('reuses the slot of an ended stream, without another connection', async () => {
    const server = await startHttp2(echoHandler, limited(1))
    const transport = transportTo(server)
    for (let index = 0; index < 20; index++) {
      expect(await textOf((await transport.send(get(`/${index}`))).body)).toBe(`/${index}`)
    }
    expect(server.seen.length).toBe(1)
  })

  it('fills the fullest connection first', async () => {
    const sessionOf = new Map<string, unknown>()
    const server = await startHttp2((stream, headers) => {
      sessionOf.set(headers[':path']!, stream.session)
      watchHandler(stream, headers)
    }, limited(4))
    const transport = transportTo(server)
    const paths = Array.from({ length: 8 }, (_, index) => `/watch/${index}`)
    const watches = await Promise.all(paths.map((path) => transport.send(get(path))))
    for (const fullest of server.seen) {
      // One place becomes free there, three on the other connection.
      const here = paths.filter((path) => sessionOf.get(path) === fullest)
      const elsewhere = paths.filter((path) => sessionOf.get(path) !== fullest)
      expect(here.length).toBe(4)
      const leaving = [here[0]!, ...elsewhere.slice(0, 3)]
      for (const path of leaving) await leave(watches[paths.indexOf(path)]!)
      await eventually(() => transport.stats().streams === 4)
      for (const path of leaving) watches[paths.indexOf(path)] = await transport.send(get(path))
      expect(sessionOf.get(leaving[0]!)).toBe(fullest)
      expect(transport.stats()).toEqual({ connections: 2, streams: 8 })
    }
  })

  it('closes idle connections, but keeps one', async () => {
    const clock = virtualClock()
    const server = await startHttp2(watchHandler, limited(1))
    const transport = transportTo(server, clock)
    const watches = await many(3, (index) => transport.send(get(`/watch/${index}`)))
    expect(transport.stats().connections).toBe(3)
    for (const watch of watches) await leave(watch)
    await eventually(() => transport.stats().streams === 0)
    await clock.advance(60_000)
    await eventually(() => transport.stats().connections === 1)
    await eventually(() => server.sessions.size === 1)
    expect((await transport.send(get('/watch/again'))).status).toBe(200)
    expect(server.seen.length).toBe(3)
  })

  it('keeps using a connection with long-lived streams', async () => {
    const clock = virtualClock()
    const server = await startHttp2(watchHandler, limited(2))
    const transport = transportTo(server, clock)
    const watches = await many(4, (index) => transport.send(get(`/watch/${index}`)))
    const first = server.seen[0]
    expect(transport.stats().connections).toBe(2)
    await leave(watches[0]!)
    await eventually(() => transport.stats().streams === 3)
    await clock.advance(60_000)
    expect((await transport.send(get('/watch/again'))).status).toBe(200)
    expect(transport.stats()).toEqual({ connections: 2, streams: 4 })
    expect(first?.destroyed).toBe(false)
    expect(server.seen.length).toBe(2)
  })

  it('fails all waiters of a connection that cannot be opened', async () => {
    const server = await startHttp2(echoHandler)
    const nowhere = closing(httpTransport(connectionTo(server.url.replace(/:\d+$/, ':1')), { clock: systemClock }))
    const errors = await many(5, () => failure(nowhere.send(get('/'))))
    expect(errors.map((error) => error.name)).toEqual(Array.from({ length: 5 }, () => 'Unreachable'))
    expect(errors[0]!.message).toContain('127.0.0.1:1')
  })

  it('opens no second connection to a server that allows no streams', async () => {
    const clock = virtualClock()
    const server = await startHttp2(echoHandler, limited(0))
    const transport = transportTo(server, clock)
    const sent = failure(transport.send(get('/')))
    await eventually(() => server.seen.length > 0 && transport.stats().connections > 0)
    await clock.advance(30_000)
    expect((await sent).name).toBe('RequestTimeout')
    expect(server.seen.length).toBe(1)
  })
})

describe('GOAWAY', () => {
  it('removes the connection from the pool at once; its watches continue to their end', async () => {
    const streams: ServerHttp2Stream[] = []
    const server = await startHttp2((stream, headers) => {
      if (headers[':path']?.startsWith('/watch')) streams.push(stream)
      watchOrEcho(stream, headers)
    })
    const transport = transportTo(server)
    const watches = await many(20, (index) => transport.send(get(`/watch/${index}`)))
    server.seen[0]!.goaway(constants.NGHTTP2_NO_ERROR)
    for (let index = 0; index < 50; index++) {
      expect(await textOf((await transport.send(get(`/${index}`))).body)).toBe(`/${index}`)
    }
    expect(transport.stats()).toEqual({ connections: 2, streams: 20 })
    for (const stream of streams) stream.end('last\n')
    const texts = await Promise.all(watches.map((watch) => textOf(watch.body)))
    expect(texts.every((text) => text === 'first\nlast\n')).toBe(true)
    await eventually(() => transport.stats().connections === 1)
  })

  it('loses no request and no watch under permanent GOAWAY', { timeout: 30_000 }, async () => {
    let requests = 0
    const told = new Set<unknown>()
    const server = await startHttp2((stream, headers) => {
      watchOrEcho(stream, headers)
      // Once a connection: a second one that counts further streams in would be an error.
      if (++requests % 29 !== 0 || told.has(stream.session)) return
      told.add(stream.session)
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR)
    }, limited(100))
    const transport = transportTo(server)
    const watches = await many(20, (index) => transport.send(get(`/watch/${index}`)))
    let left = 600
    const answers: string[] = []
    await many(16, async () => {
      while (left-- > 0) answers.push(await textOf((await transport.send(get('/pod'))).body))
    })
    expect(answers.length).toBe(600)
    expect(new Set(answers)).toEqual(new Set(['/pod']))
    const lines = await Promise.all(watches.map((watch) => watch.body[Symbol.asyncIterator]().next()))
    expect(lines.every((line) => !line.done)).toBe(true)
    expect(transport.stats().streams).toBe(20)
    expect(told.size).toBeGreaterThan(5)
  })

  it('does not starve a request that is rejected repeatedly', { timeout: 30_000 }, async () => {
    let requests = 0
    const told = new Set<unknown>()
    const server = await startHttp2((stream, headers) => {
      echoHandler(stream, headers)
      if (++requests % 7 !== 0 || told.has(stream.session)) return
      told.add(stream.session)
      stream.session?.goaway(constants.NGHTTP2_NO_ERROR)
    }, limited(100))
    const transport = transportTo(server)
    let left = 400
    const failures: unknown[] = []
    await many(16, async () => {
      while (left-- > 0)
        await transport.send(get('/pod')).then(
          (answer) => textOf(answer.body),
          (error) => failures.push(error),
        )
    })
    expect(failures).toEqual([])
  })

  it('repeats requests that the server has not seen, whatever the method', async () => {
    const bodies: string[] = []
    const server = await startHttp2((stream, headers) => {
      if (headers[':method'] === 'GET') echoHandler(stream, headers)
      else if (stream.session === server.seen[0]) {
        // Stream 3 came, but the last one that counts is 1; and the connection ends with an error.
        stream.session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 1)
      } else {
        void textOf(stream as AsyncIterable<Uint8Array>).then((text) => bodies.push(text))
        stream.respond({ ':status': 201 }, { endStream: true })
      }
    })
    const transport = transportTo(server)
    await textOf((await transport.send(get('/'))).body)
    const answer = await transport.send({ method: 'POST', path: '/pods', headers: {}, body: '{"kind":"Pod"}' })
    expect(answer.status).toBe(201)
    expect(server.seen.length).toBe(2)
    await eventually(() => bodies.length > 0)
    expect(bodies).toEqual(['{"kind":"Pod"}'])
  })

  it('repeats rejected requests (REFUSED_STREAM), whatever the method', async () => {
    let refusals = 2
    const server = await startHttp2((stream, headers) => {
      if (refusals-- > 0) stream.close(constants.NGHTTP2_REFUSED_STREAM)
      else echoHandler(stream, headers)
    })
    const answer = await transportTo(server).send({ method: 'DELETE', path: '/pod', headers: {} })
    expect(await textOf(answer.body)).toBe('/pod')
  })

  it('can still abort a repeated request, and its timeout still applies', async () => {
    const clock = virtualClock()
    const asked = new Map<string, number>()
    const server = await startHttp2((stream, headers) => {
      const path = headers[':path']!
      asked.set(path, (asked.get(path) ?? 0) + 1)
      if (asked.get(path) === 1) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    })
    const transport = transportTo(server, clock)
    const controller = new AbortController()
    const aborted = failure(transport.send(get('/aborted', { signal: controller.signal })))
    const timed = failure(transport.send(get('/timed')))
    await eventually(() => asked.get('/aborted') === 2 && asked.get('/timed') === 2)
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await aborted).toBe(reason)
    await clock.advance(30_000)
    expect((await timed).name).toBe('RequestTimeout')
    await eventually(() => transport.stats().streams === 0)
  })

  it('stops repeating when a server rejects everything', async () => {
    let asked = 0
    const server = await startHttp2((stream) => {
      asked++
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
    })
    expect((await failure(transportTo(server).send(get('/')))).name).toBe('ConnectionLost')
    expect(asked).toBe(20)
  })

  it('does not repeat a write with an unknown outcome', async () => {
    let asked = 0
    const server = await startHttp2((stream) => {
      asked++
      stream.session?.destroy()
    })
    const error = await failure(transportTo(server).send({ method: 'POST', path: '/pods?x=y', headers: {}, body: 'x' }))
    expect(error.name).toBe('ConnectionLost')
    expect(error.message).toContain('POST /pods: test (127.0.0.1:')
    expect(asked).toBe(1)
  })

  it('repeats a GET with an unknown outcome', async () => {
    let asked = 0
    const server = await startHttp2((stream, headers) => {
      if (++asked === 1) stream.session?.destroy()
      else echoHandler(stream, headers)
    })
    expect(await textOf((await transportTo(server).send(get('/pod'))).body)).toBe('/pod')
    expect(asked).toBe(2)
  })
})
