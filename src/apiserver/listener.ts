/**
 * The embedded server on a socket: HTTP/2 and HTTP/1.1 over TLS, for programs on this machine only. Whoever asks must
 * show the token; there is no other credential yet, so it binds to loopback or not at all.
 *
 * TLS even on loopback, because clients of Kubernetes send no credentials without it.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../clock/clock.ts'
import type { Method, TransportRequest, TransportResponse } from '../client/transport.ts'
import { MusterError } from '../kube/errors.ts'
import type { ApiServer } from './api-server.ts'
import { makeLoopbackCertificate } from './certificate.ts'
import { methodNotAllowed, Refusal, tooLarge, unauthorized } from './refusal.ts'
import { answer } from './representation.ts'
import { maxBodyBytes } from './request-body.ts'

export interface ListenerOptions {
  readonly clock: Clock
  /** The bearer token that every request must carry. */
  readonly token: string
  /** A loopback address. @default "127.0.0.1" */
  readonly host?: string | undefined
  /** 0 takes a free one. @default 0 */
  readonly port?: number | undefined
}

export interface Listener {
  /** `https://127.0.0.1:36123`. */
  readonly url: string
  /** What clients must trust, in PEM. */
  readonly ca: string
  /** Ends watches, lets running requests finish, and cuts what is left after a moment. */
  close(): Promise<void>
}

const methods: ReadonlySet<string> = new Set<Method>(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** How long a client may take to send a request: the slowest honest one is far quicker. */
const requestMs = 60_000

/** What running requests get before a close cuts them off. */
const graceMs = 1000

/** Nobody runs an embedded cluster for longer. */
const certificateMs = 365 * 24 * 3_600_000

export async function startListener(api: ApiServer, options: ListenerOptions): Promise<Listener> {
  const { clock, host = '127.0.0.1', port = 0 } = options
  if (!isLoopback(host)) {
    throw new MusterError('InvalidFlag', `host ${host}: the embedded server listens on loopback addresses only.`)
  }
  const { createSecureServer } = await import('node:http2')
  const { cert, key } = makeLoopbackCertificate(clock.now(), clock.now() + certificateMs)
  const isAllowed = tokenCheck(options.token)
  const server = createSecureServer({ cert, key, allowHTTP1: true })
  const connections = trackConnections(server)
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    connections.begin(response)
    // Whatever fails here is a connection that broke: there is nobody left to tell.
    serve(api, isAllowed, clock, request, response).catch(() => request.destroy())
  })
  await bind(server, host, port)

  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    connections.drain()
    api.endWatches()
    const timer = clock.after(graceMs, () => connections.cut())
    await closed
    timer.cancel()
  }
  const address = server.address() as AddressInfo
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `https://${shown}:${address.port}`, ca: cert, close: () => (closing ??= close()) }
}

async function bind(server: Http2SecureServer, host: string, port: number): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'another program uses it' : (error as Error).message
    throw new MusterError('InvalidFlag', `port ${port}: ${why}.`, { cause: error })
  }
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

interface Connections {
  begin(response: Http2ServerResponse): void
  /** Each connection goes when its last request is done. */
  drain(): void
  cut(): void
}

function trackConnections(server: Http2SecureServer): Connections {
  const sockets = new Set<Socket>()
  /** Encrypted ones that speak HTTP/1.1; an HTTP/2 session ends its own. */
  const http1 = new Set<TLSSocket>()
  const sessions = new Set<ServerHttp2Session>()
  let running = 0
  let isDraining = false

  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === 'h2') return
    http1.add(socket)
    socket.once('close', () => http1.delete(socket))
  })
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  // A peer that breaks off, or breaks the protocol, concerns its own connection only.
  server.on('sessionError', () => undefined)
  server.on('tlsClientError', () => undefined)

  const endIdle = (): void => {
    if (isDraining && running === 0) for (const socket of http1) socket.destroySoon()
  }
  return {
    begin(response) {
      running++
      response.once('close', () => {
        running--
        endIdle()
      })
    },
    drain() {
      isDraining = true
      for (const session of sessions) session.close()
      endIdle()
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Compares digests, so that neither the time taken nor the length tells anything of the token. */
function tokenCheck(token: string): (header: string | undefined) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  const expected = digest(token)
  return (header) => {
    const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1]
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

async function serve(
  api: ApiServer,
  isAllowed: (header: string | undefined) => boolean,
  clock: Clock,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new MusterError('ConnectionLost', 'the client went away.')))
  try {
    if (!isAllowed(request.headers.authorization)) throw unauthorized()
    const timer = clock.after(requestMs, () => request.destroy())
    const received = await readRequest(request, gone.signal).finally(() => timer.cancel())
    await send(await api.handle(received), response, gone.signal)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // The rest of the request is not read, so an HTTP/1.1 connection is of no more use.
    if (request.httpVersionMajor === 1) response.setHeader('connection', 'close')
    await send(await answer(error.status.code, error.status), response, gone.signal)
  }
}

async function readRequest(request: Http2ServerRequest, signal: AbortSignal): Promise<TransportRequest> {
  const { method, url, headers } = request
  if (!methods.has(method)) throw methodNotAllowed()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBodyBytes) throw tooLarge(maxBodyBytes)
    chunks.push(chunk)
  }
  const { authorization: _secret, ...others } = headers
  return {
    method: method as Method,
    path: url,
    headers: others as TransportRequest['headers'],
    ...(size > 0 && { body: Buffer.concat(chunks) }),
    signal,
  }
}

async function send(from: TransportResponse, to: Http2ServerResponse, signal: AbortSignal): Promise<void> {
  to.writeHead(from.status, from.headers)
  // A watch may have nothing to say for a long time; over HTTP/1.1 its client would not even hear that it is open.
  ;(to as unknown as { flushHeaders(): void }).flushHeaders()
  for await (const chunk of from.body) {
    if (!to.write(chunk)) await once(to, 'drain', { signal })
  }
  to.end()
}
