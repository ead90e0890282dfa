/**
 * The status server: liveness, readiness, metrics and the manager's report over HTTP. It is read-only and serves no
 * values of Secrets; but it serves object names, so it listens on loopback by default.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isLoopback, isLoopbackHostHeader } from '../../kube/text/loopback.ts'
import { type HealthReport, verboseHealth } from './health.ts'
import type { BufferedLine } from '../logging/log-buffer.ts'
import type { ManagerReport } from './report.ts'

export interface StatusServerOptions {
  /** @default "127.0.0.1" */
  readonly host?: string
  /** 0 picks a free one. */
  readonly port: number
  readonly health: () => HealthReport
  /** The Prometheus metrics; not served when left out. */
  readonly metrics?: () => string
  /** The report for `muster top` and `muster cost`; not served when left out. */
  readonly report?: () => ManagerReport
  /** The lines of the log after a sequence number, for `muster logs`; not served when left out. */
  readonly logs?: (after: number) => readonly BufferedLine[]
  /** The files of the console, by path: see `src/console`. */
  readonly page?: (path: string) => PageFile | undefined
  readonly limits?: Partial<StatusServerLimits>
}

interface StatusServerLimits {
  /**
   * A connection that has not sent a whole request after this time is closed; so is one that does not read its
   * response. @default 5000
   */
  readonly requestMs: number
  /** Concurrent connections. One more closes the oldest, so that idle clients do not lock a probe out. @default 64 */
  readonly connections: number
}

export interface PageFile {
  readonly body: string
  /** Its content type. */
  readonly type: string
  /** Additional response headers. */
  readonly headers: Readonly<Record<string, string>>
}

export interface StatusServer {
  readonly url: string
  close(): Promise<void>
}

const defaultLimits: StatusServerLimits = { requestMs: 5000, connections: 64 }
/** How often Node checks for late connections; its default is 30 s. */
const checkMs = 1000
const mostHeaderBytes = 8192

/** For browsers: no content sniffing, no embedding, no caching. */
const everyAnswer = {
  connection: 'close',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  // An import would load all exports, among them an HTTP client that takes longer to load than a manager.
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
  // Request time-outs end with the request: this one closes a connection whose client does not read the response.
  server.setTimeout(requestMs)
  closeOldest(server, limits.connections)
  server.unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      reject(
        isTaken ? new MusterError(managerErrors.PortTaken, `${host}:${port}: another program listens there.`) : error,
      )
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

/**
 * Refusing the newest connection, as `maxConnections` does, would lock the kubelet out for as long as others hold
 * theirs.
 */
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
  // DNS rebinding: a web page may resolve its own name to this machine, and read the response in a browser here.
  if (isLoopback(options.host ?? '127.0.0.1') && !isLoopbackHostHeader(headers.host ?? ''))
    return { status: 403, body: 'ask by the name localhost' }
  try {
    const [path = '', query = ''] = url.split('?', 2)
    return answer(path, options, new URLSearchParams(query))
  } catch {
    // A request must never be able to crash the manager.
    return { status: 500, body: 'internal error' }
  }
}

function answer(
  path: string,
  { health, metrics, report, logs, page }: StatusServerOptions,
  query: URLSearchParams,
): Answer {
  switch (path) {
    case '/healthz':
    case '/livez': {
      const { isAlive, problems } = health()
      return { status: isAlive ? 200 : 503, body: isAlive ? 'ok' : problems.join('\n') }
    }
    case '/readyz': {
      const checked = health()
      const { isReady, problems, warnings } = checked
      if (query.has('verbose')) return { status: isReady ? 200 : 503, body: verboseHealth(checked) }
      const reported = warnings.map((warning) => `warning: ${warning}`)
      return { status: isReady ? 200 : 503, body: [...(isReady ? ['ok'] : problems), ...reported].join('\n') }
    }
    case '/metrics':
      return metrics
        ? { status: 200, body: metrics().trimEnd(), type: 'text/plain; version=0.0.4; charset=utf-8' }
        : { status: 404, body: 'no metrics here' }
    case '/report':
      return report
        ? { status: 200, body: JSON.stringify(report()), type: 'application/json' }
        : { status: 404, body: 'no report here' }
    case '/logs':
      return logs
        ? { status: 200, body: JSON.stringify(logs(Number(query.get('after')) || 0)), type: 'application/json' }
        : { status: 404, body: 'no logs here' }
    default: {
      const file = page?.(path)
      return file
        ? { status: 200, ...file }
        : { status: 404, body: 'there are /healthz, /livez, /readyz, /metrics and /report' }
    }
  }
}
