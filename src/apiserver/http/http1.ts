/** HTTP/1.1 on accepted connections, for clients that do not negotiate HTTP/2. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../../clock/clock.ts'
import type { ServedApi } from '../server/api-server.ts'
import type { BodyBudget } from './body-budget.ts'
import { type ServerExchange, requestMs, serveExchange } from './exchange.ts'
import { peerOf, type Protocol } from './connection.ts'

/** The number of running requests of a connection, and the timeout for the next request. */
interface Connection {
  running: number
  waiting: Timer | undefined
}

/** As in Go's server: an unread body up to this size is discarded to keep the connection. */
const discardedBytes = 256 * 1024

export function serveHttp1(api: ServedApi, clock: Clock, bodies: BodyBudget): Protocol {
  // It does not listen: connections are passed to it.
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
      // A watch may send no event for a long time; its client must learn that it is open.
      response.flushHeaders()
    },
    answer(status, headers, body) {
      response.writeHead(status, { ...headers, 'content-length': body.byteLength })
      response.end(body)
    },
    discardBody() {
      // Node discards the rest. If that is large, or of unknown length, a new connection is cheaper.
      const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
      if (!(length <= discardedBytes)) response.setHeader('connection', 'close')
    },
  }
}

/** A request without a body needs no reader: Node discards it by itself. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
