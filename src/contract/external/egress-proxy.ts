/**
 * The only way out for a program that runs live: an HTTP proxy with a list of what may be reached. Whatever is not on it is
 * refused, and recorded. It listens on a socket in the file system, which is a door in the wall of a network namespace: inside,
 * a relay (`relay.ts`) makes it the HTTP_PROXY that every program knows.
 */
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { MusterError } from '../../kube/errors.ts'

export interface EgressOptions {
  /** `api.example.com:443`, `*.example.com`, `10.0.0.1:6443`. Without a port: 80 and 443. */
  readonly allow: readonly string[]
  /** Whose way out it is: for messages. */
  readonly operator: string
  readonly onRefused?: (refusal: EgressRefusal) => void
  /** At once. @default 64 */
  readonly connections?: number
}

export interface EgressRefusal {
  readonly operator: string
  /** `host:port` */
  readonly target: string
  readonly message: string
}

export interface EgressProxy {
  /** What was refused so far, the last hundred. */
  readonly refused: readonly EgressRefusal[]
  close(): Promise<void>
}

const mostRefusals = 100

/** Listens on a socket in the file system. @throws InvalidFlag for an entry that cannot be read */
export async function openEgressProxy(socketPath: string, options: EgressOptions): Promise<EgressProxy> {
  const { operator, onRefused, connections = 64 } = options
  const allowed = options.allow.map(readEntry)
  const refused: EgressRefusal[] = []
  const open = new Set<Duplex>()

  const admit = (host: string, port: number): boolean => {
    if (allowed.some((entry) => matches(entry, host.toLowerCase(), port))) return true
    const target = `${host}:${port}`
    const { message } = new MusterError('EgressRefused', `${operator} tried to reach ${target}.`)
    const refusal = { operator, target, message }
    refused.push(refusal)
    if (refused.length > mostRefusals) refused.shift()
    onRefused?.(refusal)
    return false
  }

  const server: Server = createServer({ connectionsCheckingInterval: 10_000 })
  server.maxConnections = connections
  server.on('connection', (socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy())
    const target = readTarget(request.url ?? '')
    if (!target) {
      client.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
      return
    }
    if (!admit(target.host, target.port)) {
      client.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
      return
    }
    const upstream = connect(target.port, target.host, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      if (head.length > 0) upstream.write(head)
      upstream.pipe(client)
      client.pipe(upstream)
    })
    open.add(upstream)
    upstream.on('error', () => {
      if (upstream.connecting) client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
      client.destroy()
    })
    upstream.on('close', () => open.delete(upstream))
    client.on('close', () => upstream.destroy())
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => forward(request, response, admit))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  return {
    refused,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Plain HTTP: the request line holds the whole address. */
function forward(
  request: IncomingMessage,
  response: ServerResponse,
  admit: (host: string, port: number) => boolean,
): void {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : undefined
  const end = (status: number): void => void response.writeHead(status, { 'content-length': '0' }).end()
  if (!url || url.protocol !== 'http:') {
    end(400)
    return
  }
  if (!admit(url.hostname, Number(url.port || 80))) {
    end(403)
    return
  }
  const { 'proxy-connection': _, 'proxy-authorization': __, ...headers } = request.headers
  const upstream = send(url, { method: request.method ?? 'GET', headers: { ...headers, host: url.host } }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  upstream.on('error', () => (response.headersSent ? response.destroy() : end(502)))
  request.pipe(upstream)
}

interface Entry {
  readonly host: string
  readonly isDomain: boolean
  readonly ports: readonly number[]
}

function readEntry(text: string): Entry {
  const [, star, host, port] = /^(\*\.)?((?:[\w-]+\.)*[\w-]+|\[[\da-f:]+\])(?::(\d{1,5}))?$/i.exec(text) ?? []
  if (host === undefined) throw new MusterError('InvalidFlag', `"${text}" is no address such as api.example.com:443.`)
  return {
    host: host.toLowerCase().replace(/^\[|\]$/g, ''),
    isDomain: star !== undefined,
    ports: port === undefined ? [80, 443] : [Number(port)],
  }
}

function matches({ host, isDomain, ports }: Entry, wanted: string, port: number): boolean {
  return ports.includes(port) && (isDomain ? wanted.endsWith(`.${host}`) : wanted === host)
}

function readTarget(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host, port] = /^(\[[\da-f:]+\]|[^:[\]/@]+):(\d{1,5})$/i.exec(text) ?? []
  return host === undefined ? undefined : { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}
