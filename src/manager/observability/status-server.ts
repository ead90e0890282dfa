/**
 * What others ask a manager about itself, over HTTP: is it alive, is it ready, what has it counted, what is it doing. Nothing
 * here changes anything, and nothing that a Secret holds is told; names of objects are, so it listens on loopback unless
 * told otherwise.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { MusterError } from '../../kube/errors.ts'
import { isLoopback, isLoopbackHostHeader } from '../../kube/loopback.ts'
import type { HealthReport } from './health.ts'
import type { ManagerReport } from './report.ts'

export interface StatusServerOptions {
  /** @default 127.0.0.1 */
  readonly host?: string
  /** 0 takes a free one. */
  readonly port: number
  readonly health: () => HealthReport
  /** What Prometheus reads; not served when left out. */
  readonly metrics?: () => string
  /** What `muster top` and `muster cost` read; not served when left out. */
  readonly report?: () => ManagerReport
  /** The files of a page that shows the report, by path: `src/console` has one. */
  readonly page?: (path: string) => PageFile | undefined
  readonly limits?: Partial<StatusServerLimits>
}

export interface StatusServerLimits {
  /** A connection that has not sent a whole request after this time is closed; so is one that does not read its answer. @default 5000 */
  readonly requestMs: number
  /** Connections at once. One more closes the oldest, so that clients that hold theirs do not keep a probe out. @default 64 */
  readonly connections: number
}

export interface PageFile {
  readonly body: string
  /** Its content type. */
  readonly type: string
  /** What a browser is to keep to beside what holds for every answer. */
  readonly headers: Readonly<Record<string, string>>
}

export interface StatusServer {
  readonly url: string
  close(): Promise<void>
}

const defaultLimits: StatusServerLimits = { requestMs: 5000, connections: 64 }
/** Node looks for connections that are late this often, by default every 30 s. */
const checkMs = 1000
const mostHeaderBytes = 8192

/** For browsers: it is what it says it is, for its own page alone, and true for this moment. */
const everyAnswer = {
  connection: 'close',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  // Imported, it would bring all of its exports along, and with them a client that takes longer to load than a manager.
  const { createServer } = process.getBuiltinModule('node:http')
  const { host = '127.0.0.1', port } = options
  const limits = { ...defaultLimits, ...options.limits }
  const { requestMs } = limits
  const server = createServer(
    {
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(requestMs, checkMs),
      maxHeaderSize: mostHeaderBytes,
    },
    (request, response) => {
      const { status, body, type = 'text/plain; charset=utf-8', headers } = respond(request, options)
      response.writeHead(status, { ...everyAnswer, ...headers, 'content-type': type }).end(`${body}\n`)
    },
  )
  // The request time-outs end with the request: this one closes a connection whose client does not read the answer.
  server.setTimeout(requestMs)
  closeOldest(server, limits.connections)
  server.unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      reject(isTaken ? new MusterError('PortTaken', `${host}:${port}: another program listens there.`) : error)
    })
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const at = typeof address === 'object' && address ? address.port : port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${at}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Refusing the newest instead, as `maxConnections` does, would keep the kubelet out for as long as others hold on. */
function closeOldest(server: Server, most: number): void {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    const [oldest] = open
    if (open.size > most) oldest?.destroy()
  })
}

interface Answer {
  readonly status: number
  readonly body: string
  /** @default plain text */
  readonly type?: string
  readonly headers?: PageFile['headers']
}

function respond({ method, url = '', headers }: IncomingMessage, options: StatusServerOptions): Answer {
  if (method !== 'GET') return { status: 405, body: 'only GET' }
  // DNS rebinding: a web page may have its own name resolve to this machine, and read the answer from a browser here.
  if (isLoopback(options.host ?? '127.0.0.1') && !isLoopbackHostHeader(headers.host ?? ''))
    return { status: 403, body: 'ask by the name localhost' }
  try {
    return answer(url.split('?', 1)[0] ?? '', options)
  } catch {
    // Whoever asks about a manager must never be able to end it.
    return { status: 500, body: 'this cannot be told at the moment' }
  }
}

function answer(path: string, { health, metrics, report, page }: StatusServerOptions): Answer {
  switch (path) {
    case '/healthz':
    case '/livez': {
      const { isAlive, problems } = health()
      return { status: isAlive ? 200 : 503, body: isAlive ? 'ok' : problems.join('\n') }
    }
    case '/readyz': {
      const { isReady, problems, warnings } = health()
      const told = warnings.map((warning) => `warning: ${warning}`)
      return { status: isReady ? 200 : 503, body: [...(isReady ? ['ok'] : problems), ...told].join('\n') }
    }
    case '/metrics':
      return metrics
        ? { status: 200, body: metrics().trimEnd(), type: 'text/plain; version=0.0.4; charset=utf-8' }
        : { status: 404, body: 'no metrics here' }
    case '/report':
      return report
        ? { status: 200, body: JSON.stringify(report()), type: 'application/json' }
        : { status: 404, body: 'no report here' }
    default: {
      const file = page?.(path)
      return file
        ? { status: 200, ...file }
        : { status: 404, body: 'there are /healthz, /livez, /readyz, /metrics and /report' }
    }
  }
}
