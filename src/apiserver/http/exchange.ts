/**
 * An exchange: one request and its answer on a connection, whichever HTTP they are spoken in. The two versions differ in
 * how a head is written and how what nobody wants to read is cut off; all else is here.
 */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '../../clock/clock.ts'
import type { Method, TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { MusterError } from '../../kube/errors.ts'
import type { Peer } from '../access/authenticate.ts'
import type { Answering, ReadBody } from '../server/api-server.ts'
import type { BodyBudget } from './body-budget.ts'
import { httpDate } from '../representation/http-date.ts'
import { methodNotAllowed, type StatusError, tooLarge, tooManyRequests } from '../errors/status-error.ts'
import { answer } from '../representation/representation.ts'
import { maxBodyBytes } from '../codec/request-body.ts'

export interface ServerExchange {
  readonly method: string
  readonly path: string
  readonly headers: TransportRequest['headers']
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  /** The body of the request; undefined when it has none. */
  readonly incoming: Readable | undefined
  readonly outgoing: Writable
  /** Sends the head of an answer whose body will take its time. */
  begin(status: number, headers: TransportResponse['headers']): void
  /** Sends a whole answer. */
  answer(status: number, headers: TransportResponse['headers'], body: Uint8Array): void
  /** What comes of the request from here on is of no interest. Called before the answer. */
  readNoMore(): void
}

const methods: ReadonlySet<string> = new Set<Method>(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/** How long a client may take to send a request: the slowest honest one is far quicker. */
export const requestMs = 60_000

/** What an exchange is served with. */
export interface Serving {
  readonly api: Answering
  readonly clock: Clock
  readonly bodies: BodyBudget
  readonly peer: Peer
}

/** Rejects when the connection broke: then there is nobody left to tell. */
export async function serveExchange(exchange: ServerExchange, { api, clock, bodies, peer }: Serving): Promise<void> {
  const { outgoing } = exchange
  const gone = new AbortController()
  // The stream does not tell: it may close before it hears that its last write went out, and when cut off it ends itself.
  let isAnswered = false
  outgoing.once('close', () => {
    if (!isAnswered) gone.abort(new MusterError('ConnectionLost', 'the client went away.'))
  })
  const body = exchange.incoming && incomingBody(exchange.incoming, clock, bodies)
  try {
    const { method, path, headers, rawHeaders } = exchange
    const request = { method: method as Method, path, headers: withRepeated(headers, rawHeaders), signal: gone.signal }
    const response = methods.has(method)
      ? await api.handle(request, peer, body?.read)
      : await answer(405, methodNotAllowed().status)
    if (body?.isBroken()) throw new MusterError('ConnectionLost', 'the request broke off.')
    if (body && !body.isRead()) exchange.readNoMore()
    await send(response, exchange, clock, gone.signal)
  } finally {
    body?.release()
  }
  isAnswered = true
}

interface IncomingBody {
  readonly read: ReadBody
  /** Whether all of it has been read. */
  isRead(): boolean
  /** Whether the connection broke before its end. */
  isBroken(): boolean
  /** The body is not needed any more. */
  release(): void
}

/** The body of a request, unread until the server asks for it. */
function incomingBody(incoming: Readable, clock: Clock, bodies: BodyBudget): IncomingBody {
  let size = 0
  let isRead = false
  let isBroken = false
  const read = async (): Promise<Buffer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const timer = clock.after(requestMs, () => incoming.destroy())
    const chunks: Buffer[] = []
    const refuse = (refusal: StatusError): void => {
      incoming.off('data', take)
      reject(refusal)
    }
    // By its events, which are cheaper than an iterator.
    const take = (chunk: Buffer): void => {
      if (size + chunk.length > maxBodyBytes) return refuse(tooLarge(maxBodyBytes))
      if (!bodies.take(chunk.length)) return refuse(tooManyRequests())
      size += chunk.length
      chunks.push(chunk)
    }
    const breakOff = (): void => {
      // It also closes after its end.
      if (isRead) return
      isBroken = true
      reject(new MusterError('ConnectionLost', 'the request broke off.'))
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
      // Every request closes in the end; an error for each would cost more than reading it did.
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

/** Groups and extras come one a line; joined into one they could not be told apart. */
function withRepeated(
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

/** An answer that fits into what every connection holds anyway. */
const smallBytes = 64 * 1024

async function send(from: TransportResponse, to: ServerExchange, clock: Clock, signal: AbortSignal): Promise<void> {
  const { outgoing } = to
  const headers = onWire(from.headers, clock.now())
  if (from.whole) {
    to.answer(from.status, headers, from.whole)
    if (from.whole.byteLength > smallBytes) await taken(outgoing, 'close', clock, signal)
    return
  }
  to.begin(from.status, headers)
  for await (const chunk of from.body) {
    if (!outgoing.write(chunk)) await taken(outgoing, 'drain', clock, signal)
  }
  outgoing.end()
}

/** A client that takes nothing for as long as that will not take any more. */
async function taken(outgoing: Writable, event: 'drain' | 'close', clock: Clock, signal: AbortSignal): Promise<void> {
  if (outgoing.destroyed) return
  const timer = clock.after(requestMs, () => outgoing.destroy())
  try {
    await once(outgoing, event, { signal })
  } finally {
    timer.cancel()
  }
}

/** Headers are bytes; what is beyond ASCII goes out in UTF-8, as from any Go program. */
function onWire(headers: TransportResponse['headers'], now: number): TransportResponse['headers'] {
  const { warning } = headers
  const date = httpDate(now)
  return warning === undefined
    ? { ...headers, date }
    : { ...headers, date, warning: Buffer.from(warning).toString('latin1') }
}
