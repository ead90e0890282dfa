/**
 * A WebSocket as a stream of binary messages, for exec, attach and port-forward.
 *
 * It needs HTTP/1.1 and its own connection. The `ws` package is loaded on first use.
 */
import { errorCode } from '../../system/error-code.ts'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { Clock, Timer } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { whereabouts } from '../api-error.ts'
import { type ClientExchange, plainHeaders } from './exchange.ts'
import type { KeepAlive } from './http2-session.ts'
import { Incoming } from './incoming.ts'
import { printable } from '../credentials/redaction.ts'
import { socketError } from './socket-error.ts'
import type { MessageStream, TransportResponse } from '../../transport/transport.ts'

interface WebSocketOptions {
  /** Open, verified, and used for nothing else. */
  readonly socket: Socket
  readonly server: URL
  readonly place: string
  /** Sub-protocols in order of preference. */
  readonly protocols: readonly string[]
  readonly clock: Clock
  readonly keepAlive: KeepAlive
}

/** How long the peer may take to reply to a close frame. */
const lingerMs = 5_000

const closeCode = { normal: 1000, none: 1005 } as const

/** The stream, or the server's response if it is not a switch to WebSocket. */
export async function openWebSocket(
  exchange: ClientExchange,
  options: WebSocketOptions,
): Promise<MessageStream | TransportResponse> {
  const { WebSocket: Constructor } = await import('ws')
  exchange.ending.throwIfEnded()
  const { server, socket } = options
  const where = `${whereabouts(exchange)}: ${options.place}`
  return await new Promise((resolve, reject) => {
    const url = `${server.protocol === 'https:' ? 'wss' : 'ws'}://${server.host}${exchange.path}`
    const webSocket = new Constructor(url, [...options.protocols], {
      createConnection: () => socket,
      headers: { ...exchange.headers, host: server.host },
      perMessageDeflate: false,
    })
    exchange.ending.onEnd = (error) => {
      reject(error)
      webSocket.terminate()
    }
    webSocket.once('open', () => {
      exchange.ending.headArrived()
      resolve(messageStream(webSocket, exchange, options, where))
    })
    webSocket.once('unexpected-response', (_, answer) => {
      exchange.ending.headArrived()
      resolve(refusal(answer, exchange, socket))
    })
    webSocket.on('error', (error) => reject(handshakeError(error, where)))
    socket.once('close', () => exchange.ending.release())
  })
}

function handshakeError(error: Error, where: string): MusterError {
  // Handshake errors of `ws` have no code; socket errors have one.
  if (errorCode(error)) return socketError(error, where, 'before the response arrived')
  return new MusterError(clientErrors.ProtocolError, `${where}: the server did not switch to WebSocket as it should.`, {
    cause: error,
  })
}

function refusal(answer: IncomingMessage, exchange: ClientExchange, socket: Socket): TransportResponse {
  const body = new Incoming(answer, () => answer.destroy())
  exchange.ending.onEnd = (error) => {
    body.abort(error)
    answer.destroy()
  }
  answer.once('end', () => body.end())
  answer.on('error', (error) => body.fail(error))
  answer.once('close', () => {
    body.end()
    socket.destroy()
  })
  return { status: answer.statusCode ?? 0, headers: plainHeaders(answer.headers), body }
}

function messageStream(
  webSocket: WebSocket,
  exchange: ClientExchange,
  { clock, keepAlive }: WebSocketOptions,
  where: string,
): MessageStream {
  let failure: unknown
  let paused = true
  let timer: Timer | undefined

  const close = (): void => {
    if (webSocket.readyState === webSocket.CLOSED) return
    timer?.cancel()
    timer = clock.after(lingerMs, () => webSocket.terminate())
    // A paused socket would not even receive the peer's close frame.
    webSocket.resume()
    webSocket.close(closeCode.normal)
  }
  const incoming = new Incoming(
    {
      on(_, take) {
        webSocket.on('message', (data) => take(data as Uint8Array))
        paused = false
        webSocket.resume()
      },
      pause() {
        paused = true
        webSocket.pause()
      },
      resume() {
        paused = false
        webSocket.resume()
      },
    },
    close,
  )

  /** While there is a reader, a silent peer must answer a ping. A paused socket receives nothing, so it is not checked. */
  const watchSilence = (): void => {
    timer = clock.after(keepAlive.pingAfterMs, () => {
      if (paused) {
        watchSilence()
        return
      }
      webSocket.ping()
      timer = clock.after(keepAlive.answerWithinMs, () => {
        if (paused) {
          watchSilence()
          return
        }
        failure = new MusterError(transportErrors.ConnectionLost, `${where}: the server stopped responding.`)
        webSocket.terminate()
      })
    })
  }

  exchange.ending.onEnd = (error) => {
    incoming.abort(error)
    webSocket.terminate()
  }
  webSocket.on('pong', () => {
    if (webSocket.readyState !== webSocket.OPEN) return
    timer?.cancel()
    watchSilence()
  })
  webSocket.on('error', (error) => void (failure ??= error))
  webSocket.on('close', (code, reason) => {
    timer?.cancel()
    if (code === closeCode.normal || code === closeCode.none) incoming.end()
    else incoming.fail(closeError(failure, code, reason.toString(), where))
  })
  // Nothing is read from the socket before there is a reader.
  webSocket.pause()
  watchSilence()

  return {
    protocol: webSocket.protocol,
    messages: incoming,
    send(message) {
      if (webSocket.readyState !== webSocket.OPEN) {
        throw new MusterError(transportErrors.ConnectionLost, `${where}: the stream is closed.`)
      }
      webSocket.send(message, { binary: true })
    },
    close() {
      incoming.end()
      close()
    },
  }
}

function closeError(failure: unknown, code: number, reason: string, where: string): MusterError {
  if (errorCode(failure)?.startsWith('WS_ERR_')) {
    return new MusterError(clientErrors.ProtocolError, `${where}: the server breaks the rules of WebSocket.`, {
      cause: failure,
    })
  }
  if (failure) return socketError(failure, where, 'before the stream ended')
  const why = reason === '' ? '' : `: ${printable(reason)}`
  return new MusterError(transportErrors.ConnectionLost, `${where}: the server ended the stream (code ${code}${why}).`)
}
