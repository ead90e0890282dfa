/**
 * The server that a conformance case talks to: the embedded one in `npm test`, the real one in `npm run test:real`. A
 * case cannot tell which, and must not.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { afterAll, beforeEach, inject } from 'vitest'
import { type ApiServer, type ApiServerOptions, createApiServer } from '../../src/apiserver/server/api-server.ts'
import type { Method } from '../../src/transport/transport.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../src/kube/json.ts'
import type { Access } from '../real/cluster.ts'
import { type Mask, createMask } from './mask.ts'

export interface Call {
  /** An object is sent as JSON; text and bytes go as they are. */
  readonly body?: unknown
  /** Content type. @default application/json */
  readonly type?: string
  /** @default application/json */
  readonly accept?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Parsed where it is JSON, else the text. */
  readonly body: Json
}

export interface WatchEvent {
  readonly type: string
  readonly object: JsonObject
}

export interface Watching {
  readonly status: number
  /** The next event; undefined when the stream has ended. */
  next(): Promise<WatchEvent | undefined>
  stop(): void
}

/** Users that both servers know by a token: the administrator, one of group `developers`, and one of no group. */
export type User = 'admin' | 'alice' | 'bob'

export interface Server {
  readonly name: 'embedded' | 'real'
  call(method: Method, path: string, call?: Call): Promise<Answer>
  /** The object in a 2xx answer; anything else throws. */
  must(method: Method, path: string, call?: Call): Promise<JsonObject>
  watch(path: string, call?: Call): Promise<Watching>
  /** The same server, with requests sent as this user. */
  as(user: User): Server
  /** A new namespace, removed after the last case of the file. */
  namespace(): Promise<string>
  /** A unique name, for objects in a scope that all files share. */
  unique(word: string): string
  /** Deletes what a case leaves behind, after the last case of the file. */
  cleanUp(path: string): void
  /** Asks until the answer holds; fails after a while with the last one. */
  until(path: string, holds: (answer: Answer) => boolean): Promise<Answer>
  /** The answer without what differs from run to run. */
  masked(answer: Answer): { readonly status: number; readonly body: Json }
  maskedJson(value: Json): Json
}

/** What both kinds of server come down to. */
interface Wire {
  readonly name: Server['name']
  send(message: Message): Promise<Reply>
  close(): void
}

interface Message {
  readonly method: Method
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
}

const tokens = { admin: 'admin-token', alice: 'alice-token', bob: 'bob-token' } as const

/** Opens the server of this run for one file of cases. `options` are those of the embedded one. */
export function openServer(options: Partial<ApiServerOptions> = {}): Server {
  const wire = process.env['MUSTER_TEST_REAL'] ? realWire() : embeddedWire(options)
  const mask = createMask()
  const leftovers: string[] = []
  const server = serverOver(wire, 'admin', mask, leftovers)
  beforeEach(() => mask.restart())
  afterAll(async () => {
    for (const path of leftovers.toReversed()) await server.call('DELETE', path)
    wire.close()
  })
  return server
}

function serverOver(wire: Wire, user: User, mask: Mask, leftovers: string[]): Server {
  const send = async (method: Method, path: string, call: Call, signal: AbortSignal): Promise<Reply> => {
    const { body, type = 'application/json', accept = 'application/json', query, headers } = call
    const question = query ? `${path.includes('?') ? '&' : '?'}${new URLSearchParams(query).toString()}` : ''
    const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
    return await wire.send({
      method,
      path: path + question,
      headers: {
        accept,
        authorization: `Bearer ${tokens[user]}`,
        'user-agent': 'conformance/1.0',
        ...(body !== undefined && { 'content-type': type }),
        ...headers,
      },
      body: isRaw ? body : stringifyJson(body),
      signal,
    })
  }

  const call: Server['call'] = async (method, path, options = {}) => {
    const { status, headers, body } = await send(method, path, options, AbortSignal.timeout(30_000))
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const isText = text !== '' && headers['content-encoding'] === undefined
    const isJson = isText && (headers['content-type']?.startsWith('application/json') ?? false)
    return { status, headers, body: isJson ? parseJson(text) : text }
  }

  const server: Server = {
    name: wire.name,
    call,
    async must(method, path, options) {
      const { status, body } = await call(method, path, options)
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${stringifyJson(body)}`)
      return body as JsonObject
    },
    async watch(path, options = {}) {
      const stop = new AbortController()
      const { status, body } = await send('GET', path, options, stop.signal)
      const events = eventsOf(body, stop.signal)
      return {
        status,
        next: async () => (await events.next()).value ?? undefined,
        stop: () => stop.abort(),
      }
    },
    as: (other) => serverOver(wire, other, mask, leftovers),
    async namespace() {
      const name = mask.unique('namespace')
      await server.must('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
      leftovers.push(`/api/v1/namespaces/${name}`)
      return name
    },
    unique: (word) => mask.unique(word),
    cleanUp: (path) => void leftovers.push(path),
    async until(path, holds) {
      const deadline = performance.now() + 20_000
      for (;;) {
        const answer = await call('GET', path)
        if (holds(answer)) return answer
        if (performance.now() > deadline) throw new Error(`still not so at ${path}: ${stringifyJson(answer.body)}`)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    masked: ({ status, body }) => ({ status, body: mask.json(body) }),
    maskedJson: (value) => mask.json(value),
  }
  return server
}

/** Lines of JSON, however the bytes are cut. Bookmarks come when a server likes, but for the one that ends a list. */
async function* eventsOf(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<WatchEvent, undefined> {
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of body) {
      rest += decoder.decode(chunk, { stream: true })
      for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
        const line = rest.slice(0, end)
        rest = rest.slice(end + 1)
        const isAnyBookmark = line.startsWith('{"type":"BOOKMARK"') && !line.includes('k8s.io/initial-events-end')
        if (line !== '' && !isAnyBookmark) yield parseJson(line) as unknown as WatchEvent
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return undefined
}

function embeddedWire(options: Partial<ApiServerOptions>): Wire {
  const users = new Map([
    [tokens.admin, { username: 'admin', uid: 'u-admin', groups: ['system:masters'] }],
    [tokens.alice, { username: 'alice', uid: 'u-alice', groups: ['developers'] }],
    [tokens.bob, { username: 'bob', uid: 'u-bob' }],
  ])
  const access = { tokens: users, strangers: 'anonymous' } as const
  const api: ApiServer = createApiServer({ clock: systemClock, access, ...options })
  return {
    name: 'embedded',
    async send({ method, path, headers, body, signal }) {
      const { status, headers: answered, body: stream } = await api.handle({ method, path, headers, body, signal })
      return { status, headers: answered, body: stream }
    },
    close: () => api.endWatches(),
  }
}

function realWire(): Wire {
  const access = realAccess()
  const { hostname, port } = new URL(access.server)
  const agent = new Agent({ keepAlive: true, ca: access.ca })
  return {
    name: 'real',
    send: ({ method, path, headers: wanted, body, signal }) => {
      // Without its length a body of DELETE would be taken for the next request.
      const headers = body === undefined ? wanted : { ...wanted, 'content-length': String(Buffer.byteLength(body)) }
      const { promise, resolve, reject } = Promise.withResolvers<Reply>()
      // Not as a URL, which would take out dots and what is written in a way of its own.
      const outgoing = request({ hostname, port, path, method, agent, headers, signal }, (response) => {
        const answered = Object.fromEntries(
          Object.entries(response.headers).map(([name, value]) => [
            name,
            Array.isArray(value) ? value.join(', ') : (value ?? ''),
          ]),
        )
        resolve({ status: response.statusCode ?? 0, headers: answered, body: response })
      })
      outgoing.on('error', reject)
      outgoing.end(body)
      return promise
    },
    close: () => agent.destroy(),
  }
}

function realAccess(): Access {
  const file = process.env['MUSTER_REAL_ACCESS']
  return file ? (JSON.parse(readFileSync(file, 'utf8')) as Access) : inject('cluster')
}

/** The member of an answer that a case asks about: `at(answer.body, 'metadata', 'name')`. */
export function at(value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let current: Json | undefined = value
  for (const step of path) {
    if (Array.isArray(current) && typeof step === 'number') current = (current as readonly Json[])[step]
    else if (isJsonObject(current) && typeof step === 'string') current = current[step]
    else return undefined
  }
  return current
}
