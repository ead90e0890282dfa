/**
 * An exchange: one request and its response on a connection, independent of the HTTP version. The versions differ in
 * how they write headers and discard unread request bodies; the rest is here.
 */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../../clock/clock.ts'
import type { Method, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { transportErrors } from '../../transport/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Peer } from '../access/authenticate.ts'
import type { ReadBody, ServedApi } from '../server/api-server.ts'
import type { BodyBudget } from './body-budget.ts'
import { httpDate } from '../representation/http-date.ts'
import { methodNotAllowed, type StatusError, tooLarge, tooManyRequests } from '../errors/status-error.ts'
import { answer } from '../representation/representation.ts'
import { maxBodyBytes } from '../codec/request-body.ts'

export interface ServerExchange {
  readonly method: string
  readonly path: string
  readonly headers: TransportRequest['headers']
  /** Names and values alternating, as received. */
  readonly rawHeaders: readonly string[]
  /** The body of the request; undefined when it has none. */
  readonly incoming: Readable | undefined
  readonly outgoing: Writable
  /** Sends status and headers of a streamed response. */
  begin(status: number, headers: TransportResponse['headers']): void
  /** Sends a complete response. */
  answer(status: number, headers: TransportResponse['headers'], body: Uint8Array): void
  /** Discards the rest of the request body. Called before the response is sent. */
  discardBody(): void
}

const methods: ReadonlySet<string> = new Set<Method>(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** How long a client may take to send a request. Well above what any real client needs. */
export const requestMs = 60_000

/** What serving an exchange needs. */
interface ExchangeContext {
  readonly api: ServedApi
  readonly clock: Clock
  readonly bodies: BodyBudget
  readonly peer: Peer
}

/** Serves one request. Rejects if the connection broke, and no response can be sent. */
export async function serveExchange(
  exchange: ServerExchange,
  { api, clock, bodies, peer }: ExchangeContext,
): Promise<void> {
  const { outgoing } = exchange
  const gone = new AbortController()
  // The stream's own state does not tell: it may close before its last write is confirmed, and ends itself when cut
  // off.
  let isAnswered = false
  outgoing.once('close', () => {
    if (!isAnswered) gone.abort(new MusterError(transportErrors.ConnectionLost, 'the client disconnected.'))
  })
  const body = exchange.incoming && incomingBody(exchange.incoming, clock, bodies)
  try {
    const { method, path, headers, rawHeaders } = exchange
    const request = {
      method: method as Method,
      path,
      headers: withRepeatedHeaders(headers, rawHeaders),
      signal: gone.signal,
    }
    const response = methods.has(method)
      ? await api.handle(request, peer, body?.read)
      : await answer(405, methodNotAllowed().status)
    if (body?.isBroken()) throw new MusterError(transportErrors.ConnectionLost, 'the request is incomplete.')
    if (body && !body.isRead()) exchange.discardBody()
    await send(response, exchange, clock, gone.signal)
  } finally {
    body?.release()
  }
  isAnswered = true
}

interface IncomingBody {
  readonly read: ReadBody
  /** Whether it has been read completely. */
  isRead(): boolean
  /** Whether the connection broke before the end of the body. */
  isBroken(): boolean
  /** Returns the bytes to the budget. */
  release(): void
}

/** The body of a request, read only when the server calls `read`. */
function incomingBody(incoming: Readable, clock: Clock, bodies: BodyBudget): IncomingBody {
  let size = 0
  let isRead = false
  let isBroken = false
  const read = async (): Promise<Buffer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const timer = clock.after(requestMs, () => incoming.destroy())
    const chunks: Buffer[] = []
    const refuse = (error: StatusError): void => {
      incoming.off('data', take)
      reject(error)
    }
    // Events are cheaper than an async iterator.
    const take = (chunk: Buffer): void => {
      if (size + chunk.length > maxBodyBytes) return refuse(tooLarge(maxBodyBytes))
      if (!bodies.take(chunk.length)) return refuse(tooManyRequests())
      size += chunk.length
      chunks.push(chunk)
    }
    const breakOff = (): void => {
      // A stream also closes after its end.
      if (isRead) return
      isBroken = true
      reject(new MusterError(transportErrors.ConnectionLost, 'the request is incomplete.'))
    }
    incoming.on('data', take)
    incoming.once('end', () => {
      isRead = true
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    incoming.once('error', breakOff)
    incoming.once('close', breakOff)
    if (incoming.destroyed) breakOff()
    try {
      return await promise
    } finally {
      timer.cancel()
      // Every request closes eventually; creating an error for each would cost more than reading it.
      incoming.off('close', breakOff)
    }
  }
  return {
    read,
    isRead: () => isRead,
    isBroken: () => isBroken,
    release: () => bodies.give(size),
  }
}

/** Impersonated groups and extras are repeated headers; joined into one value they could not be separated again. */
function withRepeatedHeaders(
  headers: TransportRequest['headers'],
  rawHeaders: readonly string[],
): TransportRequest['headers'] {
  let found: Record<string, string[]> | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (!/^impersonate-/i.test(name)) continue
    found ??= {}
    ;(found[name.toLowerCase()] ??= []).push(rawHeaders[at + 1]!)
  }
  return found ? { ...headers, ...found } : headers
}

/** A response up to this size fits into the connection's buffers. */
const smallBytes = 64 * 1024

async function send(from: TransportResponse, to: ServerExchange, clock: Clock, signal: AbortSignal): Promise<void> {
  const { outgoing } = to
  const headers = responseHeaders(from.headers, clock.now())
  if (from.whole) {
    to.answer(from.status, headers, from.whole)
    if (from.whole.byteLength > smallBytes) await untilRead(outgoing, 'close', clock, signal)
    return
  }
  to.begin(from.status, headers)
  for await (const chunk of from.body) {
    if (!outgoing.write(chunk)) await untilRead(outgoing, 'drain', clock, signal)
  }
  outgoing.end()
}

/** Waits until the client has read; cuts off a client that reads nothing for `requestMs`. */
async function untilRead(
  outgoing: Writable,
  event: 'drain' | 'close',
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (outgoing.destroyed) return
  const timer = clock.after(requestMs, () => outgoing.destroy())
  try {
    await once(outgoing, event, { signal })
  } finally {
    timer.cancel()
  }
}

/** Adds the date, and encodes warnings as UTF-8 bytes, as Go does. */
function responseHeaders(headers: TransportResponse['headers'], now: number): TransportResponse['headers'] {
  const { warning } = headers
  const date = httpDate(now)
  return warning === undefined
    ? { ...headers, date }
    : { ...headers, date, warning: Buffer.from(warning).toString('latin1') }
}
