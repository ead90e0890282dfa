/**
 * All connections to one server with one client certificate: HTTP/2 where the server supports it, otherwise HTTP/1.1, and
 * WebSockets. A renewed certificate gets a new lane.
 */
import type { Socket } from 'node:net'
import type { ClientCertificate, Connection } from '../connection.ts'
import { type DialOptions, dialer } from './dial.ts'
import type { ClientExchange } from './exchange.ts'
import { type Http1, http1 } from './http1.ts'
import { http2Pool } from './http2-pool.ts'
import type { KeepAlive } from './http2-session.ts'
import type { MessageStream, TransportResponse, TransportStats } from '../../transport/transport.ts'

export interface RequestLane {
  readonly certificateId: string | undefined
  send(exchange: ClientExchange): Promise<TransportResponse>
  /** A message stream, or the server's response if it refuses to open one. */
  connect(exchange: ClientExchange, protocols: readonly string[]): Promise<MessageStream | TransportResponse>
  stats(): TransportStats
  /** Serves waiting requests, then closes each connection after its last stream. */
  drain(): void
  close(error: unknown): void
}

interface LaneOptions extends DialOptions {
  readonly keepAlive: KeepAlive
}

export function openLane(
  connection: Connection,
  certificate: ClientCertificate | undefined,
  options: LaneOptions,
): RequestLane {
  const { clock, keepAlive } = options
  const { server, place, dial, plainProxy } = dialer(connection, certificate, options)
  const closing = new AbortController()
  const webSockets = new Set<Socket>()
  let older: Http1 | undefined

  const withHttp1 = (): Http1 =>
    (older ??= http1({ server, place, plainProxy, dial: (signal) => dial(['http/1.1'], signal) }))

  const pool =
    server.protocol === 'https:'
      ? http2Pool({
          server,
          place,
          clock,
          keepAlive,
          dial: (signal) => dial(['h2', 'http/1.1'], signal),
          fallback: withHttp1,
        })
      : undefined

  return {
    certificateId: certificate?.id,
    send: (exchange) => (pool ?? withHttp1()).send(exchange),
    async connect(exchange, protocols) {
      const dialing = dial(['http/1.1'], closing.signal)
      try {
        const socket = await exchange.ending.race(dialing)
        webSockets.add(socket)
        socket.once('close', () => webSockets.delete(socket))
        const { openWebSocket } = await import('./websocket.ts')
        return await openWebSocket(exchange, { socket, server, place, protocols, clock, keepAlive })
      } catch (error) {
        // The connection may still be established, and must be closed then.
        dialing.then(
          (socket) => socket.destroy(),
          () => undefined,
        )
        throw error
      }
    },
    stats() {
      const parts = [pool?.stats(), older?.stats()]
      return {
        connections: parts.reduce((sum, part) => sum + (part?.connections ?? 0), webSockets.size),
        streams: parts.reduce((sum, part) => sum + (part?.streams ?? 0), webSockets.size),
      }
    },
    drain() {
      pool?.drain()
      older?.drain()
    },
    close(error) {
      closing.abort(error)
      pool?.close(error)
      older?.close(error)
      for (const socket of webSockets) socket.destroy()
    },
  }
}
