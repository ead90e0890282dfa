/**
 * HTTP/2 on connections that a listener has accepted. Streams are served as they are: the layer that makes them look like
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
import type { Answering } from '../server/api-server.ts'
import type { BodyBudget } from './body-budget.ts'
import { peerOf, type Protocol } from './connection.ts'
import { type ServerExchange, serveExchange } from './exchange.ts'

/** As real servers: requests that a client may have under way on one connection, and how long it may have none. */
const maxConcurrentStreams = 1000
const idleMs = 90_000

/**
 * Megabytes that one connection may hold. Beyond it new requests are refused, so it must be more than all the watches of
 * a busy client can leave unread: many clients have a single connection.
 */
const maxSessionMemory = 256

export function speakHttp2(api: Answering, clock: Clock, bodies: BodyBudget): Protocol {
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
          // Who holds back half a head does not keep the connection by it.
          socket.destroySoon()
        })
      }
      rest()
      session.once('close', () => {
        idle?.cancel()
        sessions.delete(session)
      })
      // A peer that breaks off, or breaks the protocol, concerns its own connection only.
      session.on('error', () => undefined)
      session.on('stream', (stream, headers, _flags, rawHeaders) => {
        stream.on('error', () => undefined)
        idle?.cancel()
        running++
        stream.once('close', () => {
          if (--running === 0 && !session.destroyed) rest()
        })
        // Which path a request has is checked for these two schemes alone, below and by the real server.
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
      // There is no body to an answer to HEAD: its stream has ended by itself.
      if (!stream.writableEnded) stream.end(body)
    },
    readNoMore() {
      stream.resume()
      stream.once('finish', () => stream.close())
    },
  }
}
