/**
 * The only way out for a program that runs live: an HTTP proxy with a list of what may be reached. Whatever is not on it is
 * refused, and recorded. It listens on a socket in the file system, which is a door in the wall of a network namespace: inside,
 * a relay makes it the HTTP_PROXY that every program knows.
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
  /** Where it listens on loopback, if it does. */
  readonly url: string
  close(): Promise<void>
}

/** Of each run: a program can think of more addresses than anybody wants to be told of. */
const mostRefusals = 100

/** Listens on a socket in the file system; without one, on loopback. @throws InvalidFlag for an entry that cannot be read */
export async function openEgressProxy(path: string | undefined, options: EgressOptions): Promise<EgressProxy> {
  const { operator, onRefused, connections = 64 } = options
  const isListed = readAllowList(options.allow)
  const refused: EgressRefusal[] = []
  const told = new Set<string>()
  const open = new Set<Duplex>()

  const admit = (wanted: EgressTarget): boolean => {
    if (isListed(wanted)) return true
    const { host, port } = wanted
    const target = `${host.includes(':') ? `[${host}]` : host}:${port}`
    const { message } = new MusterError('EgressRefused', `${operator} tried to reach ${target}.`)
    const refusal = { operator, target, message }
    refused.push(refusal)
    if (refused.length > mostRefusals) refused.shift()
    tell(refusal)
    return false
  }

  /** Each address once. */
  const tell = (refusal: EgressRefusal): void => {
    if (told.has(refusal.target) || told.size > mostRefusals) return
    told.add(refusal.target)
    const isLast = told.size > mostRefusals
    onRefused?.(
      isLast ? { ...refusal, message: `${operator} tried to reach more than ${mostRefusals} addresses.` } : refusal,
    )
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
    // Who may enter the folder of the socket may connect: a program has another uid than a manager that is root.
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

/** What is between two who are connected, and no part of what is sent. */
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
    // Whom it is for, the address says, whatever the header did.
    headers: { ...Object.fromEntries(headers), host: url.host },
    // A connection of its own: nobody else's request comes after this one.
    agent: false,
  })
  upstream.on('response', (answer) => {
    const told = Object.entries(answer.headers).filter(([name]) => !ofConnection.has(name))
    // How the answer is divided is between us and the program again.
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

export interface EgressTarget {
  /** In small letters, without brackets and without a last dot: what is compared is what is connected to. */
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
    throw new MusterError('InvalidFlag', `"${text}" is no address such as api.example.com:443.`)
  }
  return {
    host: target.host,
    isDomain: star !== undefined,
    ports: port === undefined ? [80, 443] : [target.port],
  }
}

/** Of a CONNECT: `host:port`, and nothing else. */
export function readTarget(text: string): EgressTarget | undefined {
  const [, host = '', port = ''] = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? []
  return targetOf(host, port)
}

const longestHost = 253

/** An address has many spellings; here it has one. */
function targetOf(host: string, port: string): EgressTarget | undefined {
  const origin = `http://${host}/`
  if (host === '' || !URL.canParse(origin)) return undefined
  const name = new URL(origin).hostname.replace(/\.$/, '').replace(/^\[|\]$/g, '')
  const number = Number(port)
  const isName = name.length <= longestHost && /^(?:[\w-]+\.)*[\w-]+$|^[\da-f:]+$/.test(name)
  return isName && number > 0 && number < 65_536 ? { host: name, port: number } : undefined
}
