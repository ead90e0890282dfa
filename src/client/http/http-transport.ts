/**
 * The transport over the network. It adds credentials to each request, renews them once after a 401, and guarantees that every
 * request ends: by a response, an error, a time-out, the caller's signal or the close of the transport.
 */
import type { Clock } from '../../clock/clock.ts'
import { MusterError } from '../../kube/errors.ts'
import { trimEnd } from '../../kube/trim-end.ts'
import { apiError, whereabouts } from '../api-error.ts'
import { leave } from '../body.ts'
import type { ClientCertificate, Connection } from '../connection.ts'
import { Ending } from './ending.ts'
import { type ClientExchange, wireHeaders, wirePath } from './exchange.ts'
import type { KeepAlive } from './http2-session.ts'
import { impersonationHeaders } from '../credentials/impersonation.ts'
import { type RequestLane, openLane } from './lane.ts'
import type { Environment } from './proxy.ts'
import type { MessageStream, Transport, TransportRequest, TransportResponse } from '../../transport/transport.ts'

export interface HttpTransportOptions {
  readonly clock: Clock
  /** @default "muster" */
  readonly userAgent?: string | undefined
  /** Time-out of the response head, for requests without one. @default 30_000 */
  readonly headTimeoutMs?: number | undefined
  /** Time-out of connecting. @default 10_000 */
  readonly connectTimeoutMs?: number | undefined
  readonly keepAlive?: Partial<KeepAlive> | undefined
  /** Environment variables for proxies (HTTPS_PROXY and others). @default the environment of this process */
  readonly env?: Environment | undefined
}

/** Sends a request on a lane, with its credentials. */
type Carry<T> = (lane: RequestLane, exchange: ClientExchange) => Promise<T>

/** The response, and the credentials of its request. */
interface Round<T> {
  readonly result: T
  readonly identity: Readonly<Record<string, string>>
}

const unauthorized = 401

export function httpTransport(connection: Connection, options: HttpTransportOptions): Transport {
  const { clock, userAgent = 'muster', headTimeoutMs = 30_000, connectTimeoutMs = 10_000 } = options
  const keepAlive: KeepAlive = { pingAfterMs: 30_000, answerWithinMs: 15_000, idleMs: 60_000, ...options.keepAlive }
  const laneOptions = { clock, connectTimeoutMs, keepAlive, env: options.env ?? process.env }
  const { credentials } = connection
  const prefix = trimEnd(URL.parse(connection.server)?.pathname ?? '', '/')
  const ownHeaders = { 'user-agent': userAgent }
  const impersonation = impersonationHeaders(connection.impersonate)
  const live = new Set<Ending>()
  const retired = new Set<RequestLane>()
  let current: RequestLane | undefined
  let closed: MusterError | undefined

  const laneFor = (certificate: ClientCertificate | undefined): RequestLane => {
    if (current && current.certificateId === certificate?.id) return current
    // Client certificates change every few hours: old lanes are dropped then.
    for (const lane of retired) if (lane.stats().connections === 0) retired.delete(lane)
    if (current) {
      current.drain()
      retired.add(current)
    }
    current = openLane(connection, certificate, laneOptions)
    return current
  }

  /** One attempt: get credentials, choose the lane, send. */
  const round = async <T>(request: TransportRequest, carry: Carry<T>): Promise<Round<T>> => {
    if (closed) throw closed
    const { method, path, headers, body, signal } = request
    const ending = new Ending(signal, live)
    try {
      const [identity, certificate] = await ending.race(
        Promise.all([credentials.headers(signal), credentials.certificate(signal)]),
      )
      // No await from here to the connection: the stage that holds the request is notified of its end.
      ending.throwIfEnded()
      ending.expectHead(clock, request.headTimeoutMs ?? headTimeoutMs, whereabouts(request))
      const result = await carry(laneFor(certificate), {
        method,
        path: wirePath(prefix + path),
        headers: wireHeaders(ownHeaders, headers, identity, impersonation),
        body: typeof body === 'string' ? Buffer.from(body) : body,
        ending,
      })
      return { result, identity }
    } catch (error) {
      ending.release()
      throw error
    }
  }

  /** A second attempt with renewed credentials after a 401. */
  const rounds = async <T extends TransportResponse | MessageStream>(
    request: TransportRequest,
    carry: Carry<T>,
  ): Promise<T> => {
    const { result: first, identity } = await round(request, carry)
    if (!('status' in first) || first.status !== unauthorized || !credentials.refused(identity)) return first
    leave(first.body)
    const { result: second } = await round(request, carry)
    return second
  }

  return {
    async send(request) {
      const response = await rounds(request, carryOver)
      return response.headers['content-encoding'] === 'gzip' ? await unzipped(response, whereabouts(request)) : response
    },
    async connect(request, protocols) {
      const stream = await rounds(request, (lane, exchange) => lane.connect(exchange, protocols))
      if ('messages' in stream) return stream
      throw await apiError(request, stream, clock.now())
    },
    stats() {
      let [connections, streams] = [0, 0]
      for (const lane of current ? [current, ...retired] : retired) {
        const open = lane.stats()
        connections += open.connections
        streams += open.streams
      }
      return { connections, streams }
    },
    close() {
      closed ??= new MusterError('TransportClosed', `${connection.name}: the client is closed.`)
      for (const ending of live) ending.end(closed)
      for (const lane of current ? [current, ...retired] : retired) lane.close(closed)
      return Promise.resolve()
    },
  }
}

function carryOver(lane: RequestLane, exchange: ClientExchange): Promise<TransportResponse> {
  return lane.send(exchange)
}

async function unzipped(response: TransportResponse, what: string): Promise<TransportResponse> {
  const { gunzip } = await import('./gunzip.ts')
  const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = response.headers
  return { ...response, headers, body: gunzip(response.body, what) }
}
