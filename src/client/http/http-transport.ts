/**
 * The transport over the network. It adds credentials to each request, renews them once after a 401, and guarantees that every
 * request ends: by a response, an error, a time-out, the caller's signal or the close of the transport.
 *
 * It follows the source of its connection (`current-connection.ts`): where that has changed, a request that the server before
 * certainly did not carry out is sent again.
 */
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'
import { apiError, whereabouts } from '../api-error.ts'
import { leave } from '../body.ts'
import type { ClientCertificate, Connection } from '../connection.ts'
import { currentConnection, isUnserved } from './current-connection.ts'
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
  /** Environment variables for proxies (HTTPS_PROXY and others). @default the environment of this process */
  readonly env?: Environment | undefined
  /** The source of the connection has changed: later requests use this one. */
  readonly onMoved?: ((connection: Connection) => void) | undefined
}

interface Identified {
  readonly used: Connection
  readonly identity: Readonly<Record<string, string>>
  readonly certificate: ClientCertificate | undefined
}

/** Sends a request on a lane, with its credentials. */
type Carry<T> = (lane: RequestLane, exchange: ClientExchange) => Promise<T>

/** The response, and the credentials of its request. */
interface Round<T> {
  readonly result: T
  readonly identity: Readonly<Record<string, string>>
  readonly used: Connection
}

const unauthorized = 401
/** Time-out of the response head, for requests without one. */
const defaultHeadTimeoutMs = 30_000
const connectTimeoutMs = 10_000
const defaultKeepAlive: KeepAlive = { pingAfterMs: 30_000, answerWithinMs: 15_000, idleMs: 60_000 }

export function httpTransport(given: Connection, options: HttpTransportOptions): Transport {
  const { clock, userAgent = 'muster' } = options
  const laneOptions = { clock, connectTimeoutMs, keepAlive: defaultKeepAlive, env: options.env ?? process.env }
  const ownHeaders = { 'user-agent': userAgent }
  const live = new Set<Ending>()
  const retired = new Set<RequestLane>()
  let current: RequestLane | undefined
  let closed: MusterError | undefined

  const retire = (): void => {
    // Client certificates change every few hours: old lanes are dropped then.
    for (const lane of retired) if (lane.stats().connections === 0) retired.delete(lane)
    if (!current) return
    current.drain()
    retired.add(current)
    current = undefined
  }
  const source = currentConnection(given, {
    clock,
    onMoved(next) {
      retire()
      options.onMoved?.(next)
    },
  })

  const laneFor = (certificate: ClientCertificate | undefined): RequestLane => {
    if (current && current.certificateId === certificate?.id) return current
    retire()
    current = openLane(source.get(), certificate, laneOptions)
    return current
  }

  /** The credentials of the connection, which may have moved while they were fetched. */
  const identify = async (signal: AbortSignal | undefined): Promise<Identified> => {
    for (;;) {
      const used = source.get()
      const { credentials } = used
      const [identity, certificate] = await Promise.all([credentials.headers(signal), credentials.certificate(signal)])
      if (used === source.get()) return { used, identity, certificate }
    }
  }

  /** One attempt: get credentials, choose the lane, send. */
  const round = async <T>(request: TransportRequest, carry: Carry<T>): Promise<Round<T>> => {
    if (closed) throw closed
    const { method, path, headers, body, signal } = request
    const ending = new Ending(signal, live)
    try {
      const { used, identity, certificate } = await ending.race(identify(signal))
      // No await from here to the connection: the stage that holds the request is notified of its end.
      ending.throwIfEnded()
      ending.expectHead(clock, request.headTimeoutMs ?? defaultHeadTimeoutMs, whereabouts(request))
      const result = await carry(laneFor(certificate), {
        method,
        path: wirePath(trimEnd(URL.parse(used.server)?.pathname ?? '', '/') + path),
        headers: wireHeaders(ownHeaders, headers, identity, impersonationHeaders(used.impersonate)),
        body: typeof body === 'string' ? Buffer.from(body) : body,
        ending,
      })
      return { result, identity, used }
    } catch (error) {
      ending.release()
      throw error
    }
  }

  /** A second attempt where the first found no server, and one with renewed credentials after a 401. */
  const rounds = async <T extends TransportResponse | MessageStream>(
    request: TransportRequest,
    carry: Carry<T>,
  ): Promise<T> => {
    const before = source.get()
    const { result, identity, used } = await round(request, carry).catch(async (error: unknown) => {
      // A request that was sent is not repeated here. The next one profits from what the source says now.
      const isSilent = isMusterError(error, clientErrors.RequestTimeout)
      if (!(isSilent || isUnserved(error)) || closed) throw error
      if (!(await source.hasMoved(before)) || isSilent) throw error
      return await round(request, carry)
    })
    if (!('status' in result) || result.status !== unauthorized) return result
    if (!used.credentials.refused(identity) && !(await source.hasMoved(used))) return result
    leave(result.body)
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
    epoch: () => source.epoch(),
    close() {
      closed ??= new MusterError(clientErrors.TransportClosed, `${given.name}: the client is closed.`)
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
