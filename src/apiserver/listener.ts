/**
 * The embedded server on a socket: HTTP/2 and HTTP/1.1 over TLS, for programs on this machine only.
 *
 * TLS even on loopback, because clients of Kubernetes send no credentials without it. The listener has a certificate
 * authority of its own, made anew at every start: it vouches for the server to clients, and for clients to the server.
 */
import { once } from 'node:events'
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import type { Clock } from '../clock/clock.ts'
import type { Method, TransportRequest, TransportResponse } from '../client/transport.ts'
import { MusterError } from '../kube/errors.ts'
import type { ApiServer } from './api-server.ts'
import type { Peer } from './access/authenticate.ts'
import { type Certificate, createCertificateAuthority, type Subject } from './access/certificate-authority.ts'
import { methodNotAllowed, Refusal, tooLarge } from './refusal.ts'
import { answer } from './representation.ts'
import { maxBodyBytes } from './request-body.ts'

export interface ListenerOptions {
  readonly clock: Clock
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
  /** A certificate by which this listener knows a client: the common name is the user, organizations are groups. */
  clientCertificate(subject: Subject): Certificate
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

/** Clocks of one machine agree, but suspended ones wake up confused. */
const hourMs = 3_600_000

export async function startListener(api: ApiServer, options: ListenerOptions): Promise<Listener> {
  const { clock, host = '127.0.0.1', port = 0 } = options
  if (!isLoopback(host)) {
    throw new MusterError('InvalidFlag', `host ${host}: the embedded server listens on loopback addresses only.`)
  }
  const { createSecureServer } = await import('node:http2')
  const validity = { from: clock.now() - hourMs, until: clock.now() + certificateMs }
  const authority = createCertificateAuthority({ commonName: 'muster', ...validity })
  const { cert, key } = authority.issue({ commonName: 'muster', ...validity, purpose: 'server', ...loopbackNames })
  // Who shows no certificate, or somebody else's, may still have a token: the handshake is not the place to refuse.
  const tls = { cert, key, ca: authority.cert, requestCert: true, rejectUnauthorized: false }
  const server = createSecureServer({ ...tls, allowHTTP1: true })
  const connections = trackConnections(server)
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    connections.begin(response)
    // Whatever fails here is a connection that broke: there is nobody left to tell.
    serve(api, clock, request, response).catch(() => request.destroy())
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
  return {
    url: `https://${shown}:${address.port}`,
    ca: authority.cert,
    clientCertificate: (subject) => authority.issue({ ...subject, ...validity, purpose: 'client' }),
    close: () => (closing ??= close()),
  }
}

const loopbackNames = { dnsNames: ['localhost'], ips: ['127.0.0.1', '::1'] } as const

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

const peers = new WeakMap<object, Peer>()

/** What the handshake told of the client: the same for all requests of a connection. */
function peerOf({ stream, socket }: Http2ServerRequest): Peer {
  // Requests of HTTP/1.1 have no stream, whatever their type says.
  const session = (stream as typeof stream | undefined)?.session
  const known = peers.get(session ?? socket)
  if (known) return known
  const found = { certificate: certificateOf((session?.socket ?? socket) as TLSSocket) }
  peers.set(session ?? socket, found)
  return found
}

function certificateOf(socket: TLSSocket): Peer['certificate'] {
  const { subject, fingerprint256 } = socket.getPeerCertificate() as Partial<PeerCertificate>
  if (!subject || !fingerprint256) return undefined
  if (!socket.authorized) return 'unverified'
  const { CN = '', O: organizations = [] } = subject as Readonly<Record<string, string | string[]>>
  return {
    commonName: [CN].flat().at(-1) ?? '',
    organizations: [organizations].flat(),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  }
}

async function serve(
  api: ApiServer,
  clock: Clock,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new MusterError('ConnectionLost', 'the client went away.')))
  try {
    const timer = clock.after(requestMs, () => request.destroy())
    const received = await readRequest(request, gone.signal).finally(() => timer.cancel())
    await send(await api.handle(received, peerOf(request)), response, gone.signal)
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
  return {
    method: method as Method,
    path: url,
    headers: { ...(headers as TransportRequest['headers']), ...repeated(request.rawHeaders) },
    ...(size > 0 && { body: Buffer.concat(chunks) }),
    signal,
  }
}

/** Groups and extras come one a line; joined into one they could not be told apart. */
function repeated(rawHeaders: readonly string[]): TransportRequest['headers'] {
  const found: Record<string, string[]> = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase()
    if (name.startsWith('impersonate-')) (found[name] ??= []).push(rawHeaders[at + 1]!)
  }
  return found
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
