/**
 * One HTTP/2 connection: counts its streams, knows the limit of the server, detects a dead server, and reports for each
 * request without a response whether the server can have processed it.
 *
 * Node silently queues streams beyond the server's limit, forever if the others are watches. So no stream may be opened while
 * {@link Http2Session.room} is 0.
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../clock/clock.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { whereabouts } from '../api-error.ts'
import { type ClientExchange, type ExchangeOutcome, plainHeaders, unsendable } from './exchange.ts'
import { Incoming } from './incoming.ts'
import { socketError } from './socket-error.ts'

export interface KeepAlive {
  /** Silence after which a ping is sent. @default 30_000 */
  readonly pingAfterMs: number
  /** Time-out of the ping. @default 15_000 */
  readonly answerWithinMs: number
  /** A connection without streams is closed after this time, unless it is the last. @default 60_000 */
  readonly idleMs: number
}

interface Http2SessionOptions {
  readonly socket: Socket
  readonly server: URL
  readonly place: string
  readonly clock: Clock
  readonly keepAlive: KeepAlive
  /** Streams to open before the server has sent its limit. */
  readonly earlyStreams: number
  readonly listener: Http2SessionListener
}

interface Http2SessionListener {
  /** The server sent its limit, or a stream ended: there may be room. */
  onRoom(): void
  /** No further stream may be opened here. Open ones continue. */
  onLeave(): void
  /** The idle time has passed. */
  onIdle(): void
  onClosed(): void
}

export interface Http2Session {
  /** Open streams. */
  readonly streams: number
  /** How many streams may be opened now. */
  readonly room: number
  /** The server's limit, once known. */
  readonly limit: number | undefined
  send(exchange: ClientExchange): Promise<ExchangeOutcome>
  /** Opens no further stream, and closes after the last one. */
  drain(): void
  /** Closes at once; open streams fail with `error`. */
  destroy(error: unknown): void
}

const streamWindow = 1 << 20
const sessionWindow = 8 << 20

/** Megabytes. Node's default of 10 would refuse streams as soon as a few slow readers let their windows fill. */
const maxSessionMemory = 1_000

/** How long the server may take to close the connection after GOAWAY. */
const lingerMs = 1_000

type Origin = Pick<ClientExchange, 'method' | 'path'>

const code = { refusedStream: 7, cancel: 8 } as const

export function http2Session(options: Http2SessionOptions): Http2Session {
  const { socket, server, place, clock, keepAlive, listener } = options
  const session = process.getBuiltinModule('node:http2').connect(server.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory,
  })
  session.setLocalWindowSize(sessionWindow)

  let limit: number | undefined
  let streams = 0
  let leaving = false
  let idleSince = clock.now()
  /** The last stream that the server will process, after its GOAWAY. */
  let lastStream: number | undefined
  let failure: unknown
  let timer: Timer | undefined

  const leave = (): void => {
    if (leaving) return
    leaving = true
    listener.onLeave()
  }
  const closeWhenDone = (): void => {
    if (!leaving || streams > 0 || socket.destroyed) return
    session.close()
    timer?.cancel()
    timer = clock.after(lingerMs, () => socket.destroy())
  }
  const destroy = (error: unknown): void => {
    failure ??= error
    leave()
    session.destroy()
    // Node waits until everything is written, and a dead peer never reads. Deferred: the caller may be the parser that reads from
    // this socket.
    setImmediate(() => socket.destroy())
  }

  session.on('remoteSettings', (settings) => {
    limit = settings.maxConcurrentStreams ?? Infinity
    listener.onRoom()
  })
  session.on('goaway', (_, last) => {
    lastStream = Math.min(last, lastStream ?? last)
    leave()
    closeWhenDone()
  })
  session.on('error', (error) => void (failure ??= error))
  session.on('close', () => {
    timer?.cancel()
    leave()
    listener.onClosed()
  })
  session.unref()

  /** Periodic liveness check: silence triggers a ping, and a ping without a reply ends the connection. */
  const watchSilence = (heard: number): void => {
    timer = clock.after(keepAlive.pingAfterMs, () => {
      if (session.destroyed) return
      if (streams === 0 && clock.now() - idleSince >= keepAlive.idleMs) listener.onIdle()
      if (leaving && streams === 0) return
      if (socket.bytesRead !== heard) watchSilence(socket.bytesRead)
      else ping()
    })
  }
  const ping = (): void => {
    const heard = socket.bytesRead
    timer = clock.after(keepAlive.answerWithinMs, () => {
      // A long response on a slow line delays the ping reply, but is a sign of life itself.
      if (socket.bytesRead !== heard) watchSilence(socket.bytesRead)
      else destroy(new MusterError(transportErrors.ConnectionLost, `${place}: the server stopped responding.`))
    })
    session.ping((error) => {
      if (error || socket.destroyed) return
      timer?.cancel()
      watchSilence(socket.bytesRead)
    })
  }
  watchSilence(socket.bytesRead)

  const opened = (): void => {
    if (streams++ === 0) session.ref()
  }
  const ended = (): void => {
    if (--streams === 0) {
      session.unref()
      idleSince = clock.now()
    }
    if (leaving) closeWhenDone()
    else listener.onRoom()
  }

  /** The outcome of a stream that closed without a response head. */
  const fate = (stream: ClientHttp2Stream, origin: Origin, streamError: unknown): ExchangeOutcome => {
    const neverSent = stream.id === undefined
    if (neverSent) leave()
    const pastTheLast = lastStream !== undefined && !neverSent && (stream.id ?? 0) > lastStream
    const refused = neverSent || pastTheLast || stream.rstCode === code.refusedStream
    return { unanswered: refused ? 'refused' : 'lost', error: lost(origin, streamError, 'before the response arrived') }
  }
  const lost = (origin: Origin, streamError: unknown, when: string): MusterError =>
    socketError(failure ?? streamError, `${whereabouts(origin)}: ${place}`, when)

  return {
    get streams() {
      return streams
    },
    get room() {
      if (leaving || session.closed || session.destroyed) return 0
      return Math.max((limit ?? options.earlyStreams) - streams, 0)
    },
    get limit() {
      return limit
    },
    send(exchange) {
      const stream = openStream(session, server, exchange)
      // The listeners of a stream live as long as its watch: they must not hold headers and body of the request.
      const { ending, method, path } = exchange
      const origin = { method, path }
      opened()
      return new Promise((resolve, reject) => {
        let body: Incoming | undefined
        let streamError: unknown
        let whole = false
        let open = true
        const uncount = (): void => {
          if (open) ended()
          open = false
        }
        const cancel = (): void => {
          stream.close(code.cancel)
          stream.destroy()
        }
        ending.onEnd = (error) => {
          body?.abort(error)
          reject(error)
          cancel()
        }
        stream.on('response', (headers: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
          ending.headArrived()
          body = new Incoming(stream, cancel)
          resolve({ status: headers[':status'] ?? 0, headers: plainHeaders(headers), body })
        })
        stream.on('end', () => {
          // Node also emits `end` for a stream that it destroys, as if it were complete.
          whole = !stream.destroyed
          if (!whole) return
          body?.end()
          // Closed on both sides: its slot is free before the reader can send the next request.
          if (stream.writableFinished) uncount()
        })
        stream.on('error', (error) => void (streamError = error))
        stream.on('close', () => {
          // A request without a response is not over: it may be sent again.
          if (body) ending.release()
          // In some versions of Node, GOAWAY is reported just after the streams that it ended.
          queueMicrotask(() => {
            uncount()
            if (!body) resolve(fate(stream, origin, streamError))
            else if (!whole) body.fail(lost(origin, streamError, 'before the response was complete'))
          })
        })
      })
    },
    drain() {
      leave()
      closeWhenDone()
    },
    destroy,
  }
}

function openStream(session: ClientHttp2Session, server: URL, exchange: ClientExchange): ClientHttp2Stream {
  // As an array: Node converts an object to one, slowly.
  const headers = [':method', exchange.method, ':path', exchange.path]
  headers.push(':scheme', server.protocol.slice(0, -1), ':authority', server.host)
  for (const [name, value] of Object.entries(exchange.headers)) {
    if (typeof value === 'string') headers.push(name, value)
    else for (const one of value) headers.push(name, one)
  }
  try {
    const stream = session.request(headers, { endStream: exchange.body === undefined })
    if (exchange.body) stream.end(exchange.body)
    return stream
  } catch (error) {
    throw unsendable(exchange, error)
  }
}
