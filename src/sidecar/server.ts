/**
 * The sidecar's HTTP server: HTTP/1.1 and JSON. README.md has the table of requests.
 *
 * Clients are not trusted: no body is read before the token is verified, heads and bodies are limited in size and time,
 * and an answer quotes neither token nor input.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import { sidecarErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { isJsonObject, type Json, parseJson, stringifyJson } from '../kube/json.ts'
import { ownMember } from '../kube/json-member.ts'
import type { ActionRequest } from './action.ts'
import type { Actions } from './actions.ts'
import type { SidecarListenAddress } from './config.ts'
import { type ConnectionPool, connectionPool } from './connection-pool.ts'
import type { Observer } from './observer.ts'
import { SidecarRefusal, refusals, refuseRequest } from './refusal.ts'
import type { TokenCheck } from './token.ts'

export interface ServerLimits {
  /** The time limit for a head, and then for a body. */
  readonly requestMs: number
  readonly bodyBytes: number
  /** The nesting limit of an input. */
  readonly inputDepth: number
  /** The connection limit. A further one replaces the oldest unauthenticated connection. */
  readonly connections: number
  /** Connections that authenticated clients leave free, for health probes. */
  readonly healthConnections: number
  /** The longest that a request may wait for a change. */
  readonly waitMs: number
}

const defaultSidecarLimits: ServerLimits = {
  requestMs: 10_000,
  bodyBytes: 262_144,
  inputDepth: 64,
  connections: 64,
  healthConnections: 16,
  waitMs: 60_000,
}

export interface ServerOptions {
  readonly clock: Clock
  readonly listen: SidecarListenAddress
  readonly token: TokenCheck
  readonly observer: Observer
  readonly actions: Actions
  readonly log: (line: string) => void
  readonly limits?: Partial<ServerLimits> | undefined
}

interface SidecarServer {
  /** `http://127.0.0.1:8787` */
  readonly url: string
  /** Answers waiting requests and accepts no more. */
  close(): Promise<void>
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export async function startServer(options: ServerOptions): Promise<SidecarServer> {
  const limits = { ...defaultSidecarLimits, ...options.limits }
  const stop = new AbortController()
  const server = createServer({
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(limits.requestMs, 1000),
    keepAliveTimeout: limits.requestMs,
    maxHeaderSize: 16_384,
  })
  const pool = connectionPool<Socket>({ places: limits.connections, reserved: limits.healthConnections })
  server.on('connection', (socket) => {
    pool.join(socket)
    socket.once('close', () => pool.leave(socket))
  })
  const handle = handler({ ...options, limits, pool, stop: stop.signal })
  server.on('request', (request, response) => {
    respond(handle, request, response, options.log, stop.signal).catch(() => request.destroy())
  })
  await bind(server, options.listen)
  const { address, family, port } = server.address() as AddressInfo
  let closing: Promise<void> | undefined
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () => (closing ??= close(server, stop, options.clock)),
  }
}

async function bind(server: Server, { host, port }: SidecarListenAddress): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'another program uses it' : code
    throw new MusterError(sidecarErrors.SidecarConfigInvalid, `cannot listen on ${host}, port ${port}: ${why}.`)
  }
}

/** The time that requests in progress get before a close cuts them off. */
const graceMs = 1000

async function close(server: Server, stop: AbortController, clock: Clock): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  stop.abort()
  server.closeIdleConnections()
  const timer = clock.after(graceMs, () => server.closeAllConnections())
  await closed
  timer.cancel()
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<Answer>

async function respond(
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
  log: (line: string) => void,
  stop: AbortSignal,
): Promise<void> {
  const { status, body, headers } = await handle(request, response).catch((error: unknown): Answer => {
    if (!(error instanceof SidecarRefusal))
      log(`a request failed: ${error instanceof MusterError ? error.message : 'a bug'}`)
    const refusal =
      error instanceof SidecarRefusal
        ? error
        : new SidecarRefusal('Internal', 'the sidecar cannot answer; see its log.')
    return {
      status: refusals[refusal.reason],
      body: { error: refusal.reason, message: refusal.message },
      ...(refusal.reason === 'Busy' || refusal.reason === 'Overloaded' ? { headers: { 'retry-after': '5' } } : {}),
    }
  })
  const text = `${stringifyJson(body)}\n`
  // The rest of an unread body would be parsed as the next request, so the connection is closed.
  const isUnread = !request.complete
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(isUnread || stop.aborted ? { connection: 'close' } : {}),
    ...headers,
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}

interface HandlerOptions extends Omit<ServerOptions, 'limits'> {
  readonly limits: ServerLimits
  readonly pool: ConnectionPool<Socket>
  readonly stop: AbortSignal
}

function handler(options: HandlerOptions): Handle {
  const { token, observer, actions, limits, pool } = options

  const showState = async (request: IncomingMessage, query: URLSearchParams): Promise<Answer> => {
    await changed(
      request,
      query,
      options,
      (listener) => observer.onChange(listener),
      () => observer.state().since,
    )
    return { status: 200, body: observer.state() }
  }
  const showAction = async (request: IncomingMessage, query: URLSearchParams, key: string): Promise<Answer> => {
    const updatedAt = (): string | undefined => actions.get(key)?.updatedAt
    if (actions.get(key)?.state === 'running')
      await changed(request, query, options, (listener) => actions.onChange(listener), updatedAt)
    return { status: 200, body: actions.get(key) ?? noSuchAction(key) }
  }
  const cancel = async (key: string): Promise<Answer> => {
    const record = (await actions.cancel(key)) ?? noSuchAction(key)
    return { status: record.state === 'running' ? 202 : 200, body: record }
  }
  const start = async (request: IncomingMessage): Promise<Answer> => {
    const { record, isNew } = await actions.start(actionRequest(await readBody(request, limits), limits))
    return { status: isNew ? 202 : 200, body: record }
  }

  const route = async (request: IncomingMessage, { pathname, searchParams }: URL): Promise<Answer> => {
    const [root, noun, key, verb, ...rest] = pathname.split('/').slice(1)
    if (root === 'v1' && rest.length === 0) {
      if (noun === 'state' && key === undefined)
        return onlyFor(request, { GET: () => showState(request, searchParams) })
      if (noun === 'actions' && key === undefined)
        return onlyFor(request, {
          GET: async () => ({ status: 200, body: { actions: actions.list() } }),
          POST: () => start(request),
        })
      if (noun === 'actions' && key && verb === undefined)
        return onlyFor(request, {
          GET: () => showAction(request, searchParams, decoded(key)),
          DELETE: () => cancel(decoded(key)),
        })
      if (noun === 'actions' && key && verb === 'cancel') return onlyFor(request, { POST: () => cancel(decoded(key)) })
    }
    return refuseRequest('NotFound', 'there is nothing of this name; see /v1/state and /v1/actions.')
  }

  return async (request, response) => {
    const url = urlOf(request)
    if (url.pathname === '/healthz')
      return onlyFor(request, { GET: async () => ({ status: 200, body: { status: 'ok' } }) })
    if (!(await token.authenticate(request.headers.authorization)))
      refuseRequest('Unauthorized', 'a valid bearer token is needed.')
    const end =
      pool.begin(request.socket) ?? refuseRequest('Overloaded', 'too many requests are waiting; try again later.')
    // Only after the answer is sent: an idle connection may be closed.
    response.once('close', end)
    return await route(request, url)
  }
}

function onlyFor(request: IncomingMessage, verbs: Readonly<Record<string, () => Promise<Answer>>>): Promise<Answer> {
  const name = request.method === 'HEAD' ? 'GET' : (request.method ?? '')
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  return verb ? verb() : refuseRequest('MethodNotAllowed', `allowed here: ${Object.keys(verbs).join(', ')}.`)
}

function noSuchAction(key: string): never {
  return refuseRequest('NotFound', `there is no action with key "${key}".`)
}

function urlOf(request: IncomingMessage): URL {
  const url = URL.parse(request.url ?? '', 'http://sidecar')
  return url ?? refuseRequest('BadRequest', 'the path cannot be read.')
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return refuseRequest('BadRequest', 'the key in the path is not encoded as it should be.')
  }
}

/** Returns at once, unless `since` is current and `wait` allows to wait for a change. */
async function changed(
  request: IncomingMessage,
  query: URLSearchParams,
  { clock, stop, limits }: HandlerOptions,
  subscribe: (listener: () => void) => () => void,
  now: () => string | undefined,
): Promise<void> {
  const [since, wait] = [query.get('since'), query.get('wait')]
  if (wait === null) return
  if (!/^\d{1,6}(?:\.\d{1,3})?$/.test(wait)) refuseRequest('BadRequest', 'wait must be a number of seconds.')
  if (since === null) refuseRequest('BadRequest', 'wait needs since: what you know already.')
  const { promise, resolve } = Promise.withResolvers<void>()
  const check = (): void => {
    if (now() !== since) resolve()
  }
  const unsubscribe = subscribe(check)
  const timer = clock.after(Math.min(Number(wait) * 1000, limits.waitMs), resolve)
  const leave = (): void => resolve()
  stop.addEventListener('abort', leave)
  request.socket.once('close', leave)
  if (stop.aborted) resolve()
  check()
  await promise
  unsubscribe()
  timer.cancel()
  stop.removeEventListener('abort', leave)
  request.socket.removeListener('close', leave)
}

async function readBody(request: IncomingMessage, { bodyBytes }: ServerLimits): Promise<Json> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= bodyBytes) chunks.push(chunk)
    // Most clients read only after they have sent everything: a limited rest is read and dropped, so that they receive
    // the error.
    else if (size > 8 * bodyBytes) break
  }
  if (size > bodyBytes) refuseRequest('TooLarge', `a body may have ${bodyBytes} bytes.`)
  try {
    return parseJson(Buffer.concat(chunks).toString())
  } catch {
    // The parser's message quotes the body.
    return refuseRequest('BadRequest', 'the body is not valid JSON.')
  }
}

const longestKey = 253

function actionRequest(body: Json, { inputDepth }: ServerLimits): ActionRequest {
  if (!isJsonObject(body)) return refuseRequest('BadRequest', 'the body must be an object with key, name and input.')
  const stranger = Object.keys(body).find((member) => !['key', 'name', 'input'].includes(member))
  if (stranger !== undefined) refuseRequest('BadRequest', 'the body may have key, name and input only.')
  const [key, name, input] = ['key', 'name', 'input'].map((member) => ownMember(body, member))
  if (typeof key !== 'string' || key === '' || key.length > longestKey || !key.isWellFormed() || /\p{C}/u.test(key))
    return refuseRequest('BadRequest', `key must be a text of 1 to ${longestKey} printable characters.`)
  if (key === '.' || key === '..') refuseRequest('BadRequest', 'key must not be a dot or two: paths do not keep them.')
  if (typeof name !== 'string') return refuseRequest('BadRequest', 'name must be a text.')
  if (isDeeper(input, inputDepth)) refuseRequest('BadRequest', `input may be nested ${inputDepth} deep.`)
  return { key, name, input }
}

function isDeeper(value: Json | undefined, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((member) => isDeeper(member, depth - 1))
}
