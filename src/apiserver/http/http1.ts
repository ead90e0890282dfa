/** HTTP/1.1 on connections that a listener has accepted: for clients that know, or want, nothing newer. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../../clock/clock.ts'
import type { Answering } from '../server/api-server.ts'
import type { BodyBudget } from './body-budget.ts'
import { type ServerExchange, requestMs, serveExchange } from './exchange.ts'
import { peerOf, type Protocol } from './connection.ts'

/** What a connection is doing: how many requests are under way, and how long the next head may take. */
interface Connection {
  running: number
  waiting: Timer | undefined
}

/** As Go's server: of an unread body so much is discarded to keep the connection. */
const discardedBytes = 256 * 1024

export function speakHttp1(api: Answering, clock: Clock, bodies: BodyBudget): Protocol {
  // It listens to nothing by itself: connections are handed to it.
  const server = createServer()
  const connections = new Map<TLSSocket, Connection>()
  let isDraining = false

  const rest = (socket: TLSSocket, connection: Connection): void => {
    if (isDraining) socket.destroySoon()
    else connection.waiting = clock.after(requestMs, () => socket.destroy())
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const socket = request.socket as TLSSocket
    const connection = connections.get(socket)!
    connection.waiting?.cancel()
    connection.running++
    response.once('close', () => {
      if (--connection.running === 0) rest(socket, connection)
    })
    serveExchange(exchangeOf(request, response), { api, clock, bodies, peer: peerOf(socket) }).catch(() =>
      request.destroy(),
    )
  })

  return {
    accept(socket) {
      const connection: Connection = { running: 0, waiting: undefined }
      connections.set(socket, connection)
      socket.once('close', () => {
        connection.waiting?.cancel()
        connections.delete(socket)
      })
      rest(socket, connection)
      server.emit('connection', socket)
    },
    drain() {
      isDraining = true
      for (const [socket, { running }] of connections) if (running === 0) socket.destroySoon()
    },
  }
}

function exchangeOf(request: IncomingMessage, response: ServerResponse): ServerExchange {
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers as ServerExchange['headers'],
    rawHeaders: request.rawHeaders,
    incoming: hasBody(request) ? request : undefined,
    outgoing: response,
    begin(status, headers) {
      response.writeHead(status, headers)
      // A watch may have nothing to say for a long time; its client would not even hear that it is open.
      response.flushHeaders()
    },
    answer(status, headers, body) {
      response.writeHead(status, { ...headers, 'content-length': body.byteLength })
      response.end(body)
    },
    readNoMore() {
      // Node discards the rest. Of much, or of no known length, it is cheaper to begin with a new connection.
      const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
      if (!(length <= discardedBytes)) response.setHeader('connection', 'close')
    },
  }
}

/** Node discards by itself what no exchange reads. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
