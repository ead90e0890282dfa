/**
 * HTTP/2 on accepted connections. It uses Node's stream API: the compatibility layer that makes streams look like
 * HTTP/1.1 would cost more than the handler of a get.
 */
import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Clock, Timer } from '../../clock/clock.ts'
import type { ServedApi } from '../server/api-server.ts'
import type { BodyBudget } from './body-budget.ts'
import { peerOf, type Protocol } from './connection.ts'
import { type ServerExchange, serveExchange } from './exchange.ts'

/** As in kube-apiserver: concurrent requests per connection, and how long a connection may be idle. */
const maxConcurrentStreams = 1000
const idleMs = 90_000

/**
 * Memory of one connection, in megabytes. Beyond it new requests are rejected, so it must exceed what all the watches
 * of a busy client can leave unread: many clients use a single connection.
 */
const maxSessionMemory = 256

export function serveHttp2(api: ServedApi, clock: Clock, bodies: BodyBudget): Protocol {
  const sessions = new Set<ServerHttp2Session>()
  return {
    accept(socket) {
      const session = performServerHandshake(socket, { settings: { maxConcurrentStreams }, maxSessionMemory })
      sessions.add(session)
      let running = 0
      let idle: Timer | undefined
      const rest = (): void => {
        idle = clock.after(idleMs, () => {
          session.close()
          // A client that sent half of its headers cannot keep the connection open.
          socket.destroySoon()
        })
      }
      rest()
      session.once('close', () => {
        idle?.cancel()
        sessions.delete(session)
      })
      // A disconnect or a protocol error only affects its own connection.
      session.on('error', () => undefined)
      session.on('stream', (stream, headers, _flags, rawHeaders) => {
        stream.on('error', () => undefined)
        idle?.cancel()
        running++
        stream.once('close', () => {
          if (--running === 0 && !session.destroyed) rest()
        })
        // Like kube-apiserver, nghttp2 validates the path for these two schemes only.
        if (!/^https?$/.test(headers[':scheme'] ?? '')) return stream.close(constants.NGHTTP2_PROTOCOL_ERROR)
        if (headers.expect === '100-continue') stream.additionalHeaders({ ':status': 100 })
        const exchange = exchangeOf(stream, headers, rawHeaders)
        serveExchange(exchange, { api, clock, bodies, peer: peerOf(socket) }).catch(() => stream.destroy())
      })
    },
    drain() {
      for (const session of sessions) session.close()
    },
  }
}

function exchangeOf(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
): ServerExchange {
  return {
    method: headers[':method'] ?? '',
    path: headers[':path'] ?? '',
    headers: headers as ServerExchange['headers'],
    rawHeaders,
    incoming: stream.endAfterHeaders ? undefined : stream,
    outgoing: stream,
    begin: (status, head) => stream.respond({ ':status': status, ...head }),
    answer(status, head, body) {
      stream.respond({ ':status': status, ...head, 'content-length': body.byteLength })
      // The response to HEAD has no body: its stream has already ended.
      if (!stream.writableEnded) stream.end(body)
    },
    discardBody() {
      stream.resume()
      stream.once('finish', () => stream.close())
    },
  }
}
