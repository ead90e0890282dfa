/**
 * The only network access of a program that runs live: an HTTP proxy with an allow list. Other targets are refused and
 * recorded. It listens on a Unix socket, which is reachable from inside of the network namespace: there a relay offers
 * it as the usual HTTP_PROXY.
 */
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { contractErrors } from '../errors.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'

interface EgressOptions {
  /** `api.example.com:443`, `*.example.com`, `10.0.0.1:6443`. Without a port: 80 and 443. */
  readonly allow: readonly string[]
  /** The operator, for messages. */
  readonly operator: string
  readonly onRefused?: (refusal: EgressRefusal) => void
}

export interface EgressRefusal {
  readonly operator: string
  /** `host:port` */
  readonly target: string
  readonly message: string
}

export interface EgressProxy {
  /** The last hundred refusals. */
  readonly refused: readonly EgressRefusal[]
  /** Its URL, if it listens on loopback. */
  readonly url: string
  close(): Promise<void>
}

/** The limit of recorded refusals per run. */
const mostRefusals = 100

/** Listens on a Unix socket; without a path, on loopback. @throws InvalidFlag for an invalid entry */
export async function openEgressProxy(path: string | undefined, options: EgressOptions): Promise<EgressProxy> {
  const { operator, onRefused } = options
  const isListed = readAllowList(options.allow)
  const refused: EgressRefusal[] = []
  const told = new Set<string>()
  const open = new Set<Duplex>()

  const admit = (wanted: EgressTarget): boolean => {
    if (isListed(wanted)) return true
    const { host, port } = wanted
    const target = `${host.includes(':') ? `[${host}]` : host}:${port}`
    const { message } = new MusterError(contractErrors.EgressRefused, `${operator} tried to reach ${target}.`)
    const refusal = { operator, target, message }
    refused.push(refusal)
    if (refused.length > mostRefusals) refused.shift()
    record(refusal)
    return false
  }

  /** Reports each address once. */
  const record = (refusal: EgressRefusal): void => {
    if (told.has(refusal.target) || told.size > mostRefusals) return
    told.add(refusal.target)
    const isLast = told.size > mostRefusals
    onRefused?.(
      isLast ? { ...refusal, message: `${operator} tried to reach more than ${mostRefusals} addresses.` } : refusal,
    )
  }

  const server: Server = createServer({ connectionsCheckingInterval: 10_000 })
  server.maxConnections = 64
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
    if (!admit(target)) {
      client.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n')
      return
    }
    let isThrough = false
    const upstream = connect(target.port, target.host, () => {
      isThrough = true
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      if (head.length > 0) upstream.write(head)
      upstream.pipe(client)
      client.pipe(upstream)
    })
    open.add(upstream)
    upstream.on('error', () => {
      if (isThrough) client.destroy()
      else client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')
    })
    upstream.on('close', () => open.delete(upstream))
    client.on('close', () => upstream.destroy())
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => forward(request, response, admit))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Access is limited by the folder of the socket: the program of a root manager has another uid.
    const byPath = { path, readableAll: true, writableAll: true }
    server.listen(path === undefined ? { host: '127.0.0.1', port: 0 } : byPath, resolve)
  })
  const address = server.address()
  return {
    refused,
    url: typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : '',
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Hop-by-hop headers, which are not forwarded. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
])

/** Plain HTTP: the request line holds the whole address. */
function forward(request: IncomingMessage, response: ServerResponse, admit: (target: EgressTarget) => boolean): void {
  const end = (status: number): void => void response.writeHead(status, { 'content-length': '0' }).end()
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : undefined
  const target = url?.protocol === 'http:' ? targetOf(url.hostname, url.port || '80') : undefined
  if (!url || !target) {
    end(400)
    return
  }
  if (!admit(target)) {
    end(403)
    return
  }
  const headers = Object.entries(request.headers).filter(([name]) => !ofConnection.has(name))
  const upstream = send({
    ...target,
    path: `${url.pathname}${url.search}`,
    method: request.method ?? 'GET',
    // The Host header follows from the URL, whatever the client sent.
    headers: { ...Object.fromEntries(headers), host: url.host },
    // No connection reuse between requests.
    agent: false,
  })
  upstream.on('response', (answer) => {
    const told = Object.entries(answer.headers).filter(([name]) => !ofConnection.has(name))
    // The transfer encoding is per connection.
    const { 'transfer-encoding': _, ...rest } = Object.fromEntries(told)
    response.writeHead(answer.statusCode ?? 502, rest)
    answer.on('error', () => response.destroy())
    answer.pipe(response)
  })
  upstream.on('error', () => (response.headersSent ? response.destroy() : end(502)))
  response.on('close', () => upstream.destroy())
  request.on('error', () => upstream.destroy())
  request.pipe(upstream)
}

interface EgressTarget {
  /** Lower case, without brackets and trailing dot: compared as it is connected to. */
  readonly host: string
  readonly port: number
}

interface Entry {
  readonly host: string
  readonly isDomain: boolean
  readonly ports: readonly number[]
}

/** @throws InvalidFlag for an entry that cannot be read */
export function readAllowList(allow: readonly string[]): (target: EgressTarget) => boolean {
  const entries = allow.map(readEntry)
  return ({ host: wanted, port }) =>
    entries.some(
      ({ host, isDomain, ports }) => ports.includes(port) && (isDomain ? wanted.endsWith(`.${host}`) : wanted === host),
    )
}

function readEntry(text: string): Entry {
  const [, star, host = '', port] = /^(\*\.)?((?:[\w-]+\.)*[\w-]+\.?|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i.exec(text) ?? []
  const target = targetOf(host, port ?? '443')
  if (!target || (star !== undefined && host.startsWith('['))) {
    throw new MusterError(flagErrors.InvalidFlag, `"${text}" is no address such as api.example.com:443.`)
  }
  return {
    host: target.host,
    isDomain: star !== undefined,
    ports: port === undefined ? [80, 443] : [target.port],
  }
}

/** The target of a CONNECT: `host:port`. */
export function readTarget(text: string): EgressTarget | undefined {
  const [, host = '', port = ''] = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? []
  return targetOf(host, port)
}

const longestHost = 253

/** Normalizes an address. */
function targetOf(host: string, port: string): EgressTarget | undefined {
  const origin = `http://${host}/`
  if (host === '' || !URL.canParse(origin)) return undefined
  const name = new URL(origin).hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '')
  const number = Number(port)
  const isName = name.length <= longestHost && /^(?:[\w-]+\.)*[\w-]+$|^[\da-f:]+$/.test(name)
  return isName && number > 0 && number < 65_536 ? { host: name, port: number } : undefined
}
