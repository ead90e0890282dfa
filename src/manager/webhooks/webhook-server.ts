/**
 * The HTTPS server of all webhooks: HTTP/2, which API servers use, and HTTP/1.1. A new certificate applies to new
 * handshakes; open connections continue, so that no request fails.
 *
 * API servers send no credentials to webhooks, so every client that reaches the port may call. Therefore everything is
 * limited: each body, all bodies together, the time a request takes to arrive and the idle time of a connection.
 */
import { once } from 'node:events'
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse, Http2Session } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Certificate } from '../../pki/certificate-authority.ts'
import { bodyProblem } from '../../transport/body-bounds.ts'
import type { Clock, Timer } from '../../clock/clock.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import type { WebhookHost } from './webhook-host.ts'

export interface WebhookServerOptions {
  readonly host: WebhookHost
  readonly clock: Clock
  readonly listen: WebhookListenAddress
  readonly certificate: Certificate
  readonly limits?: Partial<WebhookServerLimits>
}

interface WebhookServerLimits {
  /** An HTTP/1.1 connection that has not sent a request head after this time is closed. @default 10_000 */
  readonly headMs: number
  /** Concurrent connections; an API server holds a few. @default 1024 */
  readonly connections: number
}

export interface WebhookListenAddress {
  /** @default all addresses */
  readonly host?: string
  /** 0 picks a free one. */
  readonly port: number
}

export interface WebhookServer {
  readonly port: number
  /** For new handshakes. */
  use(certificate: Certificate): void
  /** Waits for requests in progress, for a limited time. */
  close(): Promise<void>
}

/** An object, its old version and the review around them; a conversion may contain a whole list. */
const maxBodyBytes = { admission: 8 * 1024 * 1024, conversion: 64 * 1024 * 1024 } as const
/** Bodies being read, in total. */
const maxHeldBytes = 256 * 1024 * 1024
const requestMs = 30_000
const idleMs = 120_000
const handshakeMs = 10_000
const defaultLimits: WebhookServerLimits = { headMs: 10_000, connections: 1024 }
const graceMs = 5000
const maxConcurrentStreams = 1000

export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { host, clock, listen } = options
  const { headMs, connections: most } = { ...defaultLimits, ...options.limits }
  const { createSecureServer } = await import('node:http2')
  // By default, Node closes incomplete heads after 60 to 90 s. Bodies have a timer of their own, on the injected clock.
  const http1 = { headersTimeout: headMs, connectionsCheckingInterval: Math.min(headMs, 1000) }
  const server = createSecureServer({
    ...contextOf(options.certificate),
    allowHTTP1: true,
    ...http1,
    handshakeTimeout: handshakeMs,
    settings: { maxConcurrentStreams },
  })
  server.maxConnections = most
  const connections = trackConnections(server, clock)
  const budget = { heldBytes: 0 }
  server.on('request', (request, response) => {
    const done = connections.begin(request)
    response.once('close', done)
    answer(host, clock, budget, request, response).catch(() => request.destroy())
  })
  server.listen(listen.port, listen.host)
  await once(server, 'listening')
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    connections.drain()
    const timer = clock.after(graceMs, () => connections.cut())
    await closed
    timer.cancel()
  }
  return {
    port: (server.address() as AddressInfo).port,
    use: (certificate) => server.setSecureContext(contextOf(certificate)),
    close: () => (closing ??= close()),
  }
}

function contextOf({ cert, key }: Certificate): {
  readonly cert: string
  readonly key: string
  readonly minVersion: 'TLSv1.2'
} {
  return { cert, key, minVersion: 'TLSv1.2' }
}

async function answer(
  host: WebhookHost,
  clock: Clock,
  budget: { heldBytes: number },
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  let status = 200
  let body: string
  try {
    const { pathname, timeoutMs } = target(request)
    const review = await readReview(request, pathname, clock, budget)
    body = stringifyJson(await host.answer(pathname, review, timeoutMs))
  } catch (error) {
    status = statusOf(error)
    // The rest is logged only: the client may be a stranger.
    body = isMusterError(error) ? error.message : 'the webhook could not be asked.'
  }
  if (response.stream?.destroyed) return
  const isAnswer = status === 200
  response.writeHead(status, {
    'content-type': isAnswer ? 'application/json' : 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    // The rest of a body that was too long is not read, so the connection cannot be reused.
    ...(!isAnswer && request.httpVersionMajor === 1 && { connection: 'close' }),
  })
  response.end(body)
}

function statusOf(error: unknown): number {
  if (error instanceof HttpRefusal) return error.status
  if (isMusterError(error, managerErrors.InvalidReview)) return 400
  return isMusterError(error, managerErrors.WebhookUnknown) ? 404 : 500
}

/** A request that does not reach a webhook. */
class HttpRefusal extends MusterError {
  readonly status: number

  constructor(status: number, why: string) {
    super(managerErrors.InvalidReview, why)
    this.status = status
  }
}

/** API servers send their time-out in the query: `?timeout=10s`. */
function target({ method, url, headers }: Http2ServerRequest): {
  readonly pathname: string
  readonly timeoutMs: number
} {
  if (method !== 'POST') throw new HttpRefusal(405, 'a webhook is asked by POST.')
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/json') throw new HttpRefusal(415, 'a review is sent as application/json.')
  const [pathname = '', query = ''] = url.split('?', 2)
  const [, seconds] = /(?:^|&)timeout=(\d{1,4})s(?:&|$)/.exec(query) ?? []
  return { pathname, timeoutMs: seconds === undefined ? Infinity : Number(seconds) * 1000 }
}

async function readReview(
  request: Http2ServerRequest,
  pathname: string,
  clock: Clock,
  budget: { heldBytes: number },
): Promise<Json> {
  const most = pathname.includes('/convert/') ? maxBodyBytes.conversion : maxBodyBytes.admission
  const timer = clock.after(requestMs, () => request.destroy())
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      budget.heldBytes += chunk.length
      if (size > most) throw new HttpRefusal(413, `a review is at most ${most} bytes long.`)
      if (budget.heldBytes > maxHeldBytes) throw new HttpRefusal(503, 'too many reviews are being read; ask again.')
      chunks.push(chunk)
    }
    return parseReview(Buffer.concat(chunks))
  } finally {
    budget.heldBytes -= size
    timer.cancel()
  }
}

function parseReview(body: Buffer): Json {
  const refusal = (why: string): HttpRefusal => new HttpRefusal(400, `the review cannot be answered: ${why}.`)
  let review: Json
  try {
    review = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    // The parser's message would quote the body.
    throw refusal('the body is no valid JSON')
  }
  const problem = bodyProblem(review)
  if (problem !== undefined) throw refusal(problem)
  return review
}

interface Connections {
  /** A request has begun; call the returned function when it is over. */
  begin(request: Http2ServerRequest): () => void
  /** Closes each connection after its last request. */
  drain(): void
  cut(): void
}

function trackConnections(server: Http2SecureServer, clock: Clock): Connections {
  const sockets = new Set<Socket>()
  const sessions = new Map<Http2Session, { running: number; idle: Timer }>()
  const rest = (session: Http2Session): Timer => clock.after(idleMs, () => session.close())
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('session', (session) => {
    sessions.set(session, { running: 0, idle: rest(session) })
    session.on('error', () => undefined)
    session.once('close', () => {
      sessions.get(session)?.idle.cancel()
      sessions.delete(session)
    })
  })
  // A protocol error or broken connection affects that connection only.
  server.on('sessionError', () => undefined)
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return {
    begin(request) {
      const session = request.stream?.session
      const known = session && sessions.get(session)
      if (!known) return () => undefined
      known.idle.cancel()
      known.running++
      return () => {
        if (--known.running === 0 && !session.closed) known.idle = rest(session)
      }
    },
    drain() {
      for (const session of sessions.keys()) session.close()
      ;(server as { closeIdleConnections?: () => void }).closeIdleConnections?.()
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
