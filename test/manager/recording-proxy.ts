/**
 * A proxy to an API server that records each write. A write without a change causes no watch event; the proxy sees it.
 *
 * It can drop requests or responses: a process that is killed then has crashed at exactly that point.
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

export interface RecordedWrite {
  readonly method: Method
  readonly path: string
  readonly body: JsonObject
  readonly fate: Fate
  /** The status of the server; undefined until it arrives. */
  status: number | undefined
  /** Whether the response was delivered while its sender still waited for it. */
  isHeard: boolean
}

/** `kept`: it never reaches the server. `unheard`: it does, and its response is dropped. */
export type Fate = 'carried' | 'kept' | 'unheard'

export interface RecordingProxy {
  /** A kubeconfig that leads through this proxy. */
  readonly kubeconfig: string
  readonly writes: readonly RecordedWrite[]
  /** Called with each write. @default all are forwarded */
  fateOf: (path: string) => Fate
  close(): Promise<void>
}

/** Headers of a connection, not of a request. */
const between = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding'])

export async function openRecordingProxy(to: string, kubeconfig: string, onWrite: () => void): Promise<RecordingProxy> {
  const transport = httpTransport(await loadConnection({ kubeconfig: to }), { clock: systemClock })
  const writes: RecordedWrite[] = []

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
    // A write is executed even if its sender disconnects meanwhile.
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

  function noted(method: Method, path: string, body: Buffer): RecordedWrite {
    const value = body.length > 0 ? (JSON.parse(body.toString()) as JsonObject) : {}
    const write = { method, path, body: value, fate: proxy.fateOf(path), status: undefined, isHeard: false }
    writes.push(write)
    onWrite()
    return write
  }

  const server = createServer((request, response) => {
    // A broken connection breaks only for its client.
    carry(request, response).catch(() => response.destroy())
  })
  // A connection closed for idleness might be closed just as a request arrives, which would then be repeated.
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const name = 'proxy'
  const value = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
  await writeFile(kubeconfig, JSON.stringify(value))
  const proxy: RecordingProxy = {
    kubeconfig,
    writes,
    fateOf: () => 'carried',
    async close() {
      server.close()
      server.closeAllConnections()
      await transport.close()
    },
  }
  return proxy
}

function passable(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !between.has(name) && !name.startsWith(':')))
}
