import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws'
import {
  anonymous,
  closing,
  connectionTo,
  eventually,
  failure,
  get,
  listen,
  serverPair,
} from '../../../test/loopback.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Connection } from '../connection.ts'
import { httpTransport } from './http-transport.ts'
import type { MessageStream, Transport } from '../../transport/transport.ts'

const open = (url: string, more: Partial<Connection> = {}, clock = systemClock): Transport =>
  closing(httpTransport(connectionTo(url, more), { clock, env: {} }))

async function startWebSockets(
  onSocket: (socket: WebSocket, request: IncomingMessage) => void,
  options: { readonly refuse?: (request: IncomingMessage) => number | undefined } & Pick<
    ServerOptions,
    'handleProtocols' | 'autoPong'
  > = {},
): Promise<string> {
  const { refuse, ...more } = options
  const server = createSecureServer(serverPair)
  const sockets = new WebSocketServer({ noServer: true, ...more })
  server.on('upgrade', (request: IncomingMessage, duplex: Duplex, head: Buffer) => {
    duplex.on('error', () => {})
    const status = refuse?.(request)
    if (status !== undefined) {
      const text = `{"kind":"Status","apiVersion":"v1","message":"pods \\"x\\" is forbidden","reason":"Forbidden"}`
      duplex.end(
        `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${status === 403 ? text : ' '.repeat(text.length)}`,
      )
      return
    }
    sockets.handleUpgrade(request, duplex, head, (socket) => {
      socket.on('error', () => {})
      onSocket(socket, request)
    })
  })
  return `https://127.0.0.1:${await listen(server)}`
}

const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io']

const echo = (socket: WebSocket): void => void socket.on('message', (data) => socket.send(data))

async function next(stream: MessageStream): Promise<string> {
  const { value } = await stream.messages[Symbol.asyncIterator]().next()
  return Buffer.from(value as Uint8Array).toString()
}

describe('a message stream', () => {
  it('negotiates a sub-protocol and carries binary messages in both directions', async () => {
    const url = await startWebSockets(echo, { handleProtocols: () => 'v4.channel.k8s.io' })
    const transport = open(url)
    const stream = await transport.connect(get('/exec?command=ls'), protocols)
    expect(stream.protocol).toBe('v4.channel.k8s.io')
    expect(transport.stats()).toEqual({ connections: 1, streams: 1 })
    stream.send(Buffer.from('one'))
    stream.send(Buffer.from('two'))
    expect(await next(stream)).toBe('one')
    expect(await next(stream)).toBe('two')
    stream.close()
    await eventually(() => transport.stats().connections === 0)
  })

  it('is requested with credentials, impersonation, path and query', async () => {
    let asked: IncomingMessage | undefined
    const url = await startWebSockets((_, request) => void (asked = request))
    const transport = open(`${url}/prefix`, {
      credentials: { ...anonymous, headers: () => Promise.resolve({ authorization: 'Bearer abc' }) },
      impersonate: { user: 'jane', groups: ['a', 'b'] },
    })
    await transport.connect(get('/exec?command=echo&command=a%20b', { headers: { 'x-y': 'z' } }), protocols)
    await eventually(() => asked !== undefined)
    expect(asked?.url).toBe('/prefix/exec?command=echo&command=a%20b')
    expect(asked?.headers).toMatchObject({
      authorization: 'Bearer abc',
      'x-y': 'z',
      'sec-websocket-protocol': protocols.join(','),
      host: new URL(url).host,
    })
    expect(asked?.headersDistinct['impersonate-group']).toEqual(['a', 'b'])
  })

  it('works over plain HTTP', async () => {
    const server = createServer()
    const sockets = new WebSocketServer({ server })
    sockets.on('connection', echo)
    const stream = await open(`http://127.0.0.1:${await listen(server)}`).connect(get('/exec'), ['x'])
    stream.send(Buffer.from('one'))
    expect(await next(stream)).toBe('one')
  })

  it('loses nothing that was sent before there is a reader', async () => {
    const url = await startWebSockets((socket) => {
      for (let index = 0; index < 10; index++) socket.send(Buffer.from(String(index)))
      socket.close(1000)
    })
    const stream = await open(url).connect(get('/exec'), protocols)
    const read: string[] = []
    for await (const message of stream.messages) read.push(Buffer.from(message).toString())
    expect(read).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })

  it('applies back-pressure while its reader is slow', async () => {
    const total = 400
    let sent = 0
    const url = await startWebSockets((socket) => {
      const more = (): void => {
        if (sent++ < total) socket.send(Buffer.alloc(100_000), more)
        else socket.close(1000)
      }
      more()
    })
    const stream = await open(url).connect(get('/exec'), protocols)
    const reader = stream.messages[Symbol.asyncIterator]()
    await reader.next()
    for (let turn = 0; turn < 2_000; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
    expect(sent).toBeLessThan(total)
    let read = 1
    for (let message = await reader.next(); !message.done; message = await reader.next()) read++
    expect(read).toBe(total)
  })

  it.each([
    ['disconnected', (socket: WebSocket) => socket.terminate()],
    ['closed with an error', (socket: WebSocket) => socket.close(1011, 'the kubelet is gone')],
  ])('that is %s fails', async (_, end) => {
    let server: WebSocket | undefined
    const url = await startWebSockets((socket) => {
      server = socket
      socket.send(Buffer.from('one'))
    })
    const stream = await open(url).connect(get('/exec?command=secret'), protocols)
    expect(await next(stream)).toBe('one')
    end(server!)
    const error = await failure(next(stream))
    expect(error.name).toBe('ConnectionLost')
    expect(error.message).toMatch(/^GET \/exec: test \(127\.0\.0\.1:\d+\): /)
    expect(() => stream.send(Buffer.from('late'))).toThrow('the stream is closed')
  })

  it('ends on abort, with its reason', async () => {
    const transport = open(await startWebSockets(() => {}))
    const controller = new AbortController()
    const stream = await transport.connect(get('/exec', { signal: controller.signal }), protocols)
    const reading = failure(next(stream))
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await reading).toBe(reason)
    await eventually(() => transport.stats().connections === 0)
  })

  it('ends with the transport', async () => {
    const transport = open(await startWebSockets(() => {}))
    const reading = failure(next(await transport.connect(get('/exec'), protocols)))
    await transport.close()
    expect((await reading).name).toBe('TransportClosed')
    await eventually(() => transport.stats().connections === 0)
  })

  it('ends when its reader stops', async () => {
    let code: number | undefined
    const url = await startWebSockets((socket) => {
      socket.on('close', (given) => void (code = given))
      socket.send(Buffer.from('one'))
    })
    const stream = await open(url).connect(get('/exec'), protocols)
    for await (const message of stream.messages) {
      expect(message.length).toBe(3)
      break
    }
    await eventually(() => code !== undefined)
    expect(code).toBe(1000)
  })

  it('ends when the server becomes silent', async () => {
    const clock = virtualClock()
    let pinged = false
    const url = await startWebSockets((socket) => void socket.on('ping', () => void (pinged = true)), {
      autoPong: false,
    })
    const reading = failure(next(await open(url, {}, clock).connect(get('/exec'), protocols)))
    await clock.advance(30_000)
    await eventually(() => pinged)
    await clock.advance(15_000)
    expect(await reading).toMatchObject({
      name: 'ConnectionLost',
      message: expect.stringContaining('stopped responding'),
    })
  })

  it('disconnects from a server that does not send a close frame', async () => {
    const clock = virtualClock()
    const server = createSecureServer(serverPair)
    server.on('upgrade', (request: IncomingMessage, duplex: Duplex) => {
      duplex.on('error', () => {})
      void answerUpgrade(request, duplex)
    })
    const transport = open(`https://127.0.0.1:${await listen(server)}`, {}, clock)
    const stream = await transport.connect(get('/exec'), ['x'])
    stream.close()
    expect(transport.stats().connections).toBe(1)
    await clock.advance(5_000)
    await eventually(() => transport.stats().connections === 0)
  })
})

/** The handshake of RFC 6455, and not a word after it. */
async function answerUpgrade(request: IncomingMessage, duplex: Duplex): Promise<void> {
  const { createHash } = await import('node:crypto')
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  duplex.write(
    `HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: x\r\n\r\n`,
  )
  duplex.resume()
}

describe('a message stream that is not opened', () => {
  it('because the server rejects it: its Status is the error', async () => {
    const transport = open(await startWebSockets(echo, { refuse: () => 403 }))
    const error = await failure(transport.connect(get('/exec?command=secret'), protocols))
    expect(error.name).toBe('Forbidden')
    expect(error.message).toContain('pods "x" is forbidden')
    expect(error.message).not.toContain('secret')
    await eventually(() => transport.stats().connections === 0)
  })

  it('because of a 401 is requested once more with fresh credentials', async () => {
    let token = 'old'
    const url = await startWebSockets(echo, {
      refuse: (request) => (request.headers.authorization === 'Bearer new' ? undefined : 401),
    })
    const credentials = {
      ...anonymous,
      headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
      refused: () => {
        token = 'new'
        return true
      },
    }
    const transport = open(url, { credentials })
    const stream = await transport.connect(get('/exec'), protocols)
    expect(stream.protocol).toBe(protocols[0])
    await eventually(() => transport.stats().connections === 1)
  })

  it('because the server chooses no sub-protocol', async () => {
    const url = await startWebSockets(echo, { handleProtocols: () => false })
    expect((await failure(open(url).connect(get('/exec'), protocols))).name).toBe('ProtocolError')
  })

  it('because the port is closed', async () => {
    expect((await failure(open('https://127.0.0.1:1').connect(get('/exec'), protocols))).name).toBe('Unreachable')
  })

  it('because the server never responds', async () => {
    const clock = virtualClock()
    let asked = 0
    const server = createSecureServer(serverPair)
    server.on('upgrade', (_, duplex: Duplex) => {
      asked++
      duplex.on('error', () => {}).resume()
    })
    const transport = open(`https://127.0.0.1:${await listen(server)}`, {}, clock)
    const sent = failure(transport.connect(get('/exec'), protocols))
    await eventually(() => asked === 1)
    await clock.advance(30_000)
    expect((await sent).name).toBe('RequestTimeout')
    await eventually(() => transport.stats().connections === 0)
  })
})
