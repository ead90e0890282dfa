/**
 * HTTP/1.1, for servers and proxies without HTTP/2: one connection per stream, reused where possible. Their number is not
 * limited, because a watch holds its connection for its whole life.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { whereabouts } from '../api-error.ts'
import type { PlainProxy } from './dial.ts'
import { type ClientExchange, type ExchangeOutcome, plainHeaders, sendSafely, unsendable } from './exchange.ts'
import { Incoming } from './incoming.ts'
import { socketError } from './socket-error.ts'
import type { TransportResponse } from '../../transport/transport.ts'

interface Http1Options {
  readonly server: URL
  readonly place: string
  readonly dial: (signal: AbortSignal) => Promise<Socket>
  /** Replaces `dial` if requests go to an HTTP proxy. */
  readonly plainProxy: PlainProxy | undefined
}

export interface Http1 {
  send(exchange: ClientExchange): Promise<TransportResponse>
  /** An already open socket, used first. */
  adopt(socket: Socket): void
  stats(): { readonly connections: number; readonly streams: number }
  /** Closes each connection after its request. */
  drain(): void
  close(error: unknown): void
}

/** Idle connections to keep. */
const maxFreeSockets = 16

export function http1({ server, place, dial, plainProxy }: Http1Options): Http1 {
  const { Agent, request } = process.getBuiltinModule('node:http')
  const closing = new AbortController()
  const sockets = new Set<Socket>()
  const spare: Socket[] = []
  let streams = 0

  const count = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }
  const takeSpare = (): Socket | undefined => {
    for (let socket = spare.pop(); socket; socket = spare.pop()) if (!socket.destroyed) return socket
    return undefined
  }
  const agent = new Agent({ keepAlive: true, maxFreeSockets })
  agent.createConnection = (_, connected) => {
    const ready = takeSpare()
    if (ready) return ready
    const open = plainProxy?.dial ?? dial
    open(closing.signal).then(
      (socket) => connected?.(null, count(socket)),
      (error: Error) => connected?.(error, undefined as never),
    )
    return undefined
  }

  const open = (exchange: ClientExchange): ClientRequest => {
    const headers = {
      host: server.host,
      ...(exchange.body ? { 'content-length': exchange.body.byteLength } : {}),
      ...exchange.headers,
      ...plainProxy?.headers,
    }
    const path = plainProxy ? `${server.origin}${exchange.path}` : exchange.path
    try {
      return request({ agent, method: exchange.method, path, headers })
    } catch (error) {
      throw unsendable(exchange, error)
    }
  }

  const attempt = (exchange: ClientExchange): Promise<ExchangeOutcome> =>
    new Promise((resolve, reject) => {
      const sent = open(exchange)
      let failure: unknown
      let answered = false
      streams++

      exchange.ending.onEnd = (error) => {
        reject(error)
        sent.destroy()
      }
      sent.once('response', (message) => {
        answered = true
        exchange.ending.headArrived()
        resolve({
          status: message.statusCode ?? 0,
          headers: plainHeaders(message.headers),
          body: bodyOf(message, exchange, place),
        })
      })
      sent.on('error', (error) => void (failure = error))
      sent.once('close', () => {
        streams--
        if (answered) {
          exchange.ending.release()
          return
        }
        const error = socketError(failure, `${whereabouts(exchange)}: ${place}`, 'before the response arrived')
        resolve({ unanswered: 'lost', error })
      })
      sent.end(exchange.body)
    })

  return {
    async send(exchange) {
      const response = await sendSafely(exchange, attempt)
      return server.protocol === 'http:' && response.status === 400 ? await notPlain(response, place) : response
    },
    adopt: (socket) => void spare.push(count(socket)),
    stats: () => ({ connections: sockets.size, streams }),
    drain() {
      agent.maxFreeSockets = 0
      for (const free of Object.values(agent.freeSockets)) for (const socket of free ?? []) socket.destroy()
      for (const socket of spare) socket.destroy()
    },
    close(error) {
      closing.abort(error)
      agent.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function bodyOf(message: IncomingMessage, exchange: ClientExchange, place: string): Incoming {
  let failure: unknown
  const body = new Incoming(message, () => message.destroy())
  exchange.ending.onEnd = (error) => {
    body.abort(error)
    message.destroy()
  }
  message.on('error', (error) => void (failure = error))
  message.once('end', () => body.end())
  message.once('close', () => {
    const where = `${whereabouts(exchange)}: ${place}`
    if (!message.complete) body.fail(socketError(failure, where, 'before the response was complete'))
  })
  return body
}

/** Responses of TLS servers to plain HTTP, in text or HTML. */
const meantForTls = /HTTP request (?:to an HTTPS server|was sent to HTTPS port)/

async function notPlain(response: TransportResponse, place: string): Promise<TransportResponse> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body) chunks.push(chunk)
  if (meantForTls.test(Buffer.concat(chunks).toString('latin1', 0, 1_000))) {
    throw new MusterError(
      clientErrors.ProtocolError,
      `${place}: the server speaks TLS; write https:// instead of http://.`,
    )
  }
  return { ...response, body: bytes(chunks) }
}

async function* bytes(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}
