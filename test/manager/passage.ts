/**
 * A passage to an API server: everything that goes through it is carried there and back, and each write is noted. A server
 * that is asked for what is there already does nothing, and no watch tells of it; here it is seen.
 *
 * It can be told to let nothing out any more, or no answer back: a process that is killed then has died at that very moment.
 */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { loadConnection } from '../../src/client/load-connection.ts'
import type { Method } from '../../src/transport/transport.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { JsonObject } from '../../src/kube/json.ts'

export interface PassingWrite {
  readonly method: Method
  readonly path: string
  readonly body: JsonObject
  readonly fate: Fate
  /** What the server answered; undefined as long as it has not. */
  status: number | undefined
  /** Whether the answer came back while its sender still waited for it. */
  isHeard: boolean
}

/** `kept`: it never gets to the server. `unheard`: it does, and its answer never gets back. */
export type Fate = 'carried' | 'kept' | 'unheard'

export interface Passage {
  /** A file by which this passage is taken. */
  readonly kubeconfig: string
  readonly writes: readonly PassingWrite[]
  /** Asked of each write when it comes. @default all are carried */
  fateOf: (path: string) => Fate
  close(): Promise<void>
}

/** Of a connection, not of what is said over it. */
const between = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding'])

export async function openPassage(to: string, kubeconfig: string, onWrite: () => void): Promise<Passage> {
  const transport = httpTransport(await loadConnection({ kubeconfig: to }), { clock: systemClock })
  const writes: PassingWrite[] = []

  async function carry(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const left = new AbortController()
    response.on('close', () => left.abort())
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const { method, url: path = '/' } = request as { readonly method: Method; readonly url?: string }
    const { host: _, 'accept-encoding': __, 'user-agent': ___, ...rest } = request.headers
    const headers = Object.fromEntries(Object.entries(rest).filter(([name]) => !between.has(name))) as Readonly<
      Record<string, string | readonly string[]>
    >
    const write = method === 'GET' ? undefined : noted(method, path, body)
    if (write?.fate === 'kept') return
    // Whoever leaves meanwhile has sent it: it is done all the same.
    const signal = write ? undefined : left.signal
    const answer = await transport.send({ method, path, headers, signal, ...(body.length > 0 && { body }) })
    if (write) write.status = answer.status
    const isPassedOn = write?.fate !== 'unheard'
    if (isPassedOn) response.writeHead(answer.status, passable(answer.headers)).flushHeaders()
    for await (const chunk of answer.body) if (isPassedOn) response.write(chunk)
    if (isPassedOn) response.end()
    if (!write) return
    write.isHeard = isPassedOn && !left.signal.aborted
    onWrite()
  }

  function noted(method: Method, path: string, body: Buffer): PassingWrite {
    const value = body.length > 0 ? (JSON.parse(body.toString()) as JsonObject) : {}
    const write = { method, path, body: value, fate: passage.fateOf(path), status: undefined, isHeard: false }
    writes.push(write)
    onWrite()
    return write
  }

  const server = createServer((request, response) => {
    // A way that breaks breaks for the one who goes it.
    carry(request, response).catch(() => response.destroy())
  })
  // One that is closed for being idle might be closed just as a request comes, which would then be repeated.
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const name = 'passage'
  const value = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
  await writeFile(kubeconfig, JSON.stringify(value))
  const passage: Passage = {
    kubeconfig,
    writes,
    fateOf: () => 'carried',
    async close() {
      server.close()
      server.closeAllConnections()
      await transport.close()
    },
  }
  return passage
}

function passable(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !between.has(name) && !name.startsWith(':')))
}
