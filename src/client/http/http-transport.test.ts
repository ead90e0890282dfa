import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  anonymous,
  ca,
  closing,
  connectionTo,
  echoHandler,
  eventually,
  failure,
  get,
  listen,
  startHttp2,
  textOf,
  watchHandler,
} from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { ClientCertificate, Connection } from '../connection.ts'
import { httpTransport, type HttpTransportOptions } from './http-transport.ts'
import type { Transport } from '../../transport/transport.ts'

const open = (connection: Connection, options: Partial<HttpTransportOptions> = {}): Transport =>
  closing(httpTransport(connection, { clock: systemClock, ...options }))

describe('a request', () => {
  it('is sent to the path below the prefix of the server, with its headers and body', async () => {
    const server = await startHttp2((stream, headers) => {
      stream.respond({ ':status': 201, 'x-two': ['a', 'b'] })
      void textOf(stream as AsyncIterable<Uint8Array>).then((body) => stream.end(JSON.stringify({ ...headers, body })))
    })
    const answer = await open(connectionTo(`${server.url}/k8s/clusters/c-1/`), { userAgent: 'muster/1.0' }).send({
      method: 'POST',
      path: '/api/v1/pods?dryRun=All',
      headers: { 'content-type': 'application/json' },
      body: '{"ü":1}',
    })
    expect(answer.status).toBe(201)
    expect(answer.headers['x-two']).toBe('a, b')
    expect(JSON.parse(await textOf(answer.body))).toMatchObject({
      ':method': 'POST',
      ':path': '/k8s/clusters/c-1/api/v1/pods?dryRun=All',
      'content-type': 'application/json',
      'user-agent': 'muster/1.0',
      body: '{"ü":1}',
    })
  })

  it('carries credentials, and impersonation with one header for each group', async () => {
    const server = await startHttp2((stream, headers) => {
      stream.respond({ ':status': 200 })
      stream.end(JSON.stringify(headers))
    })
    const connection = connectionTo(server.url, {
      credentials: { ...anonymous, headers: () => Promise.resolve({ authorization: 'Bearer abc' }) },
      impersonate: { user: 'jane', groups: ['dev', 'ops'] },
    })
    const answer = await open(connection).send(
      get('/', { headers: { authorization: 'mine', 'impersonate-user': 'x' } }),
    )
    expect(JSON.parse(await textOf(answer.body))).toMatchObject({
      authorization: 'Bearer abc',
      'impersonate-user': 'jane',
      'impersonate-group': 'dev, ops',
    })
  })

  it('whose token contains a line break is not sent', async () => {
    const server = await startHttp2(echoHandler)
    const credentials = { ...anonymous, headers: () => Promise.resolve({ authorization: 'Bearer secret\n' }) }
    const error = await failure(open(connectionTo(server.url, { credentials })).send(get('/')))
    expect(error).toMatchObject({ name: 'BadRequest', message: expect.not.stringContaining('secret') })
    expect(server.seen.length).toBe(0)
  })

  it('fails with the error of its credentials', async () => {
    const server = await startHttp2(echoHandler)
    const credentials = { ...anonymous, headers: () => Promise.reject(new Error('the plugin failed')) }
    const error = await failure(open(connectionTo(server.url, { credentials })).send(get('/')))
    expect(error.message).toBe('the plugin failed')
  })

  it('can be aborted while its credentials are being fetched', async () => {
    const server = await startHttp2(echoHandler)
    const credentials = { ...anonymous, headers: () => new Promise<never>(() => {}) }
    const transport = open(connectionTo(server.url, { credentials }))
    const controller = new AbortController()
    const sent = failure(transport.send(get('/', { signal: controller.signal })))
    const other = failure(transport.send(get('/')))
    controller.abort(new Error('enough'))
    expect((await sent).message).toBe('enough')
    await transport.close()
    expect((await other).name).toBe('TransportClosed')
  })

  it('has its response decompressed', async () => {
    const text = JSON.stringify({ items: Array.from({ length: 10_000 }, (_, index) => index) })
    const server = await startHttp2((stream) => {
      stream.respond({ ':status': 200, 'content-encoding': 'gzip', 'content-type': 'application/json' })
      stream.end(gzipSync(text))
    })
    const transport = open(connectionTo(server.url))
    const answer = await transport.send(get('/', { headers: { 'accept-encoding': 'gzip' } }))
    expect(answer.headers).not.toHaveProperty('content-encoding')
    expect(answer.headers['content-type']).toBe('application/json')
    expect(await textOf(answer.body)).toBe(text)
    await eventually(() => transport.stats().streams === 0)
  })
})

describe('after a 401', () => {
  const guarded = (good: string) =>
    startHttp2((stream, headers) => {
      if (headers.authorization === good) echoHandler(stream, headers)
      else {
        stream.respond({ ':status': 401 })
        stream.end('no')
      }
    })

  it('the request is repeated once when the credentials could be renewed', async () => {
    const server = await guarded('Bearer new')
    let token = 'old'
    const credentials = {
      ...anonymous,
      headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
      refused: () => {
        token = 'new'
        return true
      },
    }
    const transport = open(connectionTo(server.url, { credentials }))
    const answer = await transport.send(get('/pods'))
    expect(answer.status).toBe(200)
    expect(await textOf(answer.body)).toBe('/pods')
    await eventually(() => transport.stats().streams === 0)
  })

  it('the 401 is returned when there is nothing to renew, or renewal did not help', async () => {
    const server = await guarded('Bearer other')
    let asked = 0
    for (const renewable of [false, true]) {
      const credentials = {
        ...anonymous,
        refused: () => {
          asked++
          return renewable
        },
      }
      const answer = await open(connectionTo(server.url, { credentials })).send(get('/'))
      expect(answer.status).toBe(401)
      expect(await textOf(answer.body)).toBe('no')
    }
    expect(asked).toBe(2)
  })
})

describe('a client certificate', () => {
  const issue = (name: string): ClientCertificate => ({ id: name, ...ca.issue({ commonName: name }) })

  it('is sent to the server; when it is renewed, new requests use the new one and open watches continue', async () => {
    const server = await startHttp2(
      (stream, headers) => {
        if (headers[':path'] === '/watch') {
          watchHandler(stream, headers)
          return
        }
        const socket = stream.session?.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }
        stream.respond({ ':status': 200 })
        stream.end(socket.getPeerCertificate().subject.CN)
      },
      { requestCert: true, ca: ca.cert },
    )
    let certificate = issue('first')
    const credentials = { ...anonymous, certificate: () => Promise.resolve(certificate) }
    const transport = open(connectionTo(server.url, { credentials }))
    const watch = (await transport.send(get('/watch'))).body[Symbol.asyncIterator]()
    expect(await textOf((await transport.send(get('/who'))).body)).toBe('first')
    expect(transport.stats().connections).toBe(1)

    certificate = issue('second')
    expect(await textOf((await transport.send(get('/who'))).body)).toBe('second')
    expect(transport.stats()).toMatchObject({ connections: 2 })
    expect(Buffer.from((await watch.next()).value as Uint8Array).toString()).toBe('first\n')

    await watch.return?.()
    await eventually(() => server.sessions.size === 1)
    await eventually(() => transport.stats().connections === 1)
    expect(await textOf((await transport.send(get('/who'))).body)).toBe('second')
  })
})

describe('close', () => {
  it('ends streams, waiting requests and connections; later requests fail', async () => {
    const server = await startHttp2((stream, headers) => {
      if (headers[':path'] === '/watch') watchHandler(stream, headers)
    })
    const transport = open(connectionTo(server.url))
    const watch = await transport.send(get('/watch'))
    const reading = failure(textOf(watch.body))
    const waiting = failure(transport.send(get('/silent')))
    await transport.close()
    expect((await reading).name).toBe('TransportClosed')
    expect((await waiting).name).toBe('TransportClosed')
    expect(await failure(transport.send(get('/')))).toMatchObject({
      name: 'TransportClosed',
      message: 'test: the client is closed.',
    })
    await eventually(() => server.sessions.size === 0)
    await eventually(() => transport.stats().connections === 0)
  })

  it('ends a connection attempt', async () => {
    let accepted = 0
    const silent = createServer(() => accepted++)
    const transport = open(connectionTo(`https://127.0.0.1:${await listen(silent)}`))
    const waiting = failure(transport.send(get('/')))
    await eventually(() => accepted === 1)
    await transport.close()
    expect((await waiting).name).toBe('TransportClosed')
  })
})

describe('the timeout', () => {
  it('applies to a server that accepts and never responds, also in the TLS handshake', async () => {
    const clock = virtualClock()
    let accepted = 0
    const port = await listen(createServer(() => accepted++))
    const transport = open(connectionTo(`https://127.0.0.1:${port}`), { clock })
    const sent = failure(transport.send(get('/')))
    await eventually(() => accepted === 1)
    await clock.advance(10_000)
    expect(await sent).toMatchObject({
      name: 'RequestTimeout',
      message: `test (127.0.0.1:${port}): no connection within 10 s.`,
    })
  })
})

describe('a server address', () => {
  it.each(['ftp://127.0.0.1', 'nonsense', ''])('that is not an HTTP URL (%j) is rejected', async (server) => {
    const error = await failure(open(connectionTo(server)).send(get('/')))
    expect(error.name).toBe('KubeconfigMalformed')
  })
})
