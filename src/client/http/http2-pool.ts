/**
 * The HTTP/2 connections to one server: as many as its streams need.
 *
 * A stream goes to the fullest connection with room, so that a thousand watches use ten connections and the eleventh becomes
 * idle. Requests without room wait, and connections are opened for all of them together: a burst of three hundred opens
 * three. A connection that receives GOAWAY leaves the pool at once; its streams continue to their end.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../clock/clock.ts'
import { type ClientExchange, type ExchangeOutcome, sendSafely } from './exchange.ts'
import type { Http1 } from './http1.ts'
import { type Http2Session, type KeepAlive, http2Session } from './http2-session.ts'
import { socketError } from './socket-error.ts'
import type { TransportResponse } from '../../transport/transport.ts'

interface Http2PoolOptions {
  readonly server: URL
  readonly place: string
  readonly clock: Clock
  readonly keepAlive: KeepAlive
  /** Opens a socket; the server may have chosen another protocol. */
  readonly dial: (signal: AbortSignal) => Promise<Socket>
  /** Takes over permanently if it has. */
  readonly fallback: () => Http1
}

interface Http2Pool {
  send(exchange: ClientExchange): Promise<TransportResponse>
  stats(): { readonly connections: number; readonly streams: number }
  /** Serves waiting requests, then closes each connection after its last stream. */
  drain(): void
  close(error: unknown): void
}

/** The assumed stream limit before SETTINGS arrive: that of current API servers. */
const assumedLimit = 100

/** Streams opened before SETTINGS arrive, few enough for any server. More would wait in an endless queue of Node. */
const earlyStreams = 8

interface Waiting {
  readonly exchange: ClientExchange
  /** It was already sent and refused. */
  readonly again: boolean
  readonly resolve: (outcome: Promise<ExchangeOutcome>) => void
  readonly reject: (error: unknown) => void
}

export function http2Pool(options: Http2PoolOptions): Http2Pool {
  const { clock, keepAlive, place, server } = options
  /** All open connections; those in `usable` accept further streams. */
  const sessions = new Set<Http2Session>()
  const usable = new Set<Http2Session>()
  const waiting: Waiting[] = []
  const closing = new AbortController()
  let opening = 0
  let limit = assumedLimit
  let older: Http1 | undefined
  let draining = false

  const fullest = (): Http2Session | undefined => {
    let best: Http2Session | undefined
    for (const session of usable) {
      if (session.room > 0 && (!best || session.streams > best.streams)) best = session
    }
    return best
  }

  /** Assigns waiting requests to connections, and opens connections for the rest. */
  const serve = (): void => {
    for (let session = fullest(); session; session = fullest()) {
      const waiter = waiting.shift()
      if (!waiter) break
      start(waiter, session)
    }
    // A connection without SETTINGS yet will take its share in a moment. One that allows no streams counts, too: opening further
    // connections to such a server would never end.
    let coming = opening * limit
    for (const session of usable) if (!session.limit) coming += limit - session.streams
    for (; coming < waiting.length; coming += limit) open()
    if (draining && waiting.length === 0) for (const session of usable) session.drain()
  }

  const start = ({ exchange, resolve, reject }: Waiting, on: Http2Session | Http1): void => {
    try {
      resolve(on.send(exchange))
    } catch (error) {
      reject(error)
    }
  }

  const open = (): void => {
    opening++
    options
      .dial(closing.signal)
      .finally(() => opening--)
      .then(admit)
      .catch((error: unknown) => {
        // Requests for which another connection is being opened keep waiting.
        for (const waiter of waiting.splice(opening * limit)) waiter.reject(error)
      })
  }

  const admit = (socket: Socket): void => {
    if (closing.signal.aborted) socket.destroy()
    if (socket.destroyed) throw socketError(undefined, place, 'as soon as it was open')
    if ((socket as TLSSocket).alpnProtocol !== 'h2') {
      older ??= options.fallback()
      older.adopt(socket)
      for (const waiter of waiting.splice(0)) start(waiter, older)
      return
    }
    const session = http2Session({
      socket,
      server,
      place,
      clock,
      keepAlive,
      earlyStreams: Math.min(earlyStreams, limit),
      listener: {
        onRoom() {
          limit = Math.max(Math.min(session.limit ?? limit, 2 ** 31), 1)
          serve()
        },
        onLeave() {
          usable.delete(session)
          serve()
        },
        onIdle: () => {
          if (usable.size > 1) session.drain()
        },
        onClosed: () => void sessions.delete(session),
      },
    })
    sessions.add(session)
    usable.add(session)
    serve()
  }

  const attempt = (exchange: ClientExchange, again: boolean): Promise<ExchangeOutcome> =>
    new Promise((resolve, reject) => {
      if (older) {
        resolve(older.send(exchange))
        return
      }
      const me = { exchange, again, resolve, reject }
      exchange.ending.onEnd = (error) => {
        const turn = waiting.indexOf(me)
        if (turn >= 0) waiting.splice(turn, 1)
        reject(error)
      }
      // A request that was refused elsewhere goes to the front of the queue.
      const newcomers = again ? waiting.findIndex((one) => !one.again) : -1
      waiting.splice(newcomers >= 0 ? newcomers : waiting.length, 0, me)
      serve()
    })

  return {
    send: (exchange) => sendSafely(exchange, attempt),
    stats() {
      let streams = 0
      for (const session of sessions) streams += session.streams
      return { connections: sessions.size, streams }
    },
    drain() {
      draining = true
      serve()
    },
    close(error) {
      closing.abort(error)
      for (const waiter of waiting.splice(0)) waiter.reject(error)
      for (const session of sessions) session.destroy(error)
    },
  }
}
