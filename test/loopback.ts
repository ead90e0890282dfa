/**
 * Servers on loopback for tests of the transport: real sockets, real TLS, and any misbehaviour that a test needs. All
 * of them end with the test that started them.
 */
import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  createSecureServer,
} from 'node:http2'
import type { AddressInfo, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Connection, Credentials } from '../src/client/connection.ts'
import type { Transport, TransportRequest } from '../src/transport/transport.ts'
import { type CertificateAuthority, type PemPair, makeCa } from './certificates.ts'

export const ca: CertificateAuthority = makeCa()

export const serverPair: PemPair = ca.issue({
  commonName: 'api-server',
  dnsNames: ['localhost'],
  ips: ['127.0.0.1'],
  server: true,
})

/** Listens on a free port; the end of the test closes it and all connections. Returns the port. */
export async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

export interface Http2Server {
  readonly url: string
  /** The open ones, oldest first. */
  readonly sessions: Set<ServerHttp2Session>
  /** Every session so far. */
  readonly seen: ServerHttp2Session[]
}

export type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

export async function startHttp2(onStream: OnStream, options: SecureServerOptions = {}): Promise<Http2Server> {
  const server = createSecureServer({ ...serverPair, ...options })
  const sessions = new Set<ServerHttp2Session>()
  const seen: ServerHttp2Session[] = []
  server.on('sessionError', () => {})
  server.on('session', (session) => {
    sessions.add(session)
    seen.push(session)
    session.once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    onStream(stream, headers)
  })
  return { url: `https://127.0.0.1:${await listen(server)}`, sessions, seen }
}

/** Responds to every request with a head and a first line, and keeps the stream open: a watch. */
export const watchHandler: OnStream = (stream) => {
  stream.respond({ ':status': 200 })
  stream.write('first\n')
}

/** Responds to every request with its path. */
export const echoHandler: OnStream = (stream, headers) => {
  stream.respond({ ':status': 200, 'content-type': 'text/plain' })
  stream.end(headers[':path'])
}

export const anonymous: Credentials = {
  headers: () => Promise.resolve({}),
  certificate: () => Promise.resolve(undefined),
  refused: () => false,
}

export function connectionTo(server: string, more: Partial<Connection> = {}): Connection {
  return { name: 'test', server, tls: { ca: ca.cert }, credentials: anonymous, namespace: 'default', ...more }
}

/** Closes the transport when the test ends. */
export function closing(transport: Transport): Transport {
  onTestFinished(() => transport.close())
  return transport
}

export function get(path = '/', more: Partial<TransportRequest> = {}): TransportRequest {
  return { method: 'GET', path, headers: {}, ...more }
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Runs the event loop until `condition` holds; otherwise the test times out. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** The error of a rejected promise. */
export async function failure(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
    throw new TypeError('rejected with something that is no error', { cause: error })
  }
  throw new Error('expected a failure, but it went well')
}
