/** What others ask a manager about itself, over HTTP: is it alive, is it ready, what has it counted. Nothing here changes anything. */
import type { HealthReport } from './health.ts'

export interface StatusServerOptions {
  /** @default 127.0.0.1 */
  readonly host?: string
  /** 0 takes a free one. */
  readonly port: number
  readonly health: () => HealthReport
  /** What Prometheus reads; not served when left out. */
  readonly metrics?: () => string
}

export interface StatusServer {
  readonly url: string
  close(): Promise<void>
}

/** Whoever asks gets this long, and sends no more than a line. */
const patienceMs = 5000
const mostHeaderBytes = 8192

export async function startStatusServer(options: StatusServerOptions): Promise<StatusServer> {
  const { createServer } = await import('node:http')
  const { host = '127.0.0.1', port, health, metrics } = options
  const server = createServer({ requestTimeout: patienceMs, maxHeaderSize: mostHeaderBytes }, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://manager')
    const { status, body } = request.method === 'GET' ? answer(pathname, health, metrics) : refusal
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(`${body}\n`)
  })
  server.unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
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

interface Answer {
  readonly status: number
  readonly body: string
}

const refusal: Answer = { status: 405, body: 'only GET' }

function answer(path: string, health: () => HealthReport, metrics: (() => string) | undefined): Answer {
  switch (path) {
    case '/healthz':
    case '/livez': {
      const { isAlive, problems } = health()
      return { status: isAlive ? 200 : 503, body: isAlive ? 'ok' : problems.join('\n') }
    }
    case '/readyz': {
      const { isReady, problems } = health()
      return { status: isReady ? 200 : 503, body: isReady ? 'ok' : problems.join('\n') }
    }
    case '/metrics':
      return metrics ? { status: 200, body: metrics().trimEnd() } : { status: 404, body: 'no metrics here' }
    default:
      return { status: 404, body: 'there are /healthz, /livez, /readyz and /metrics' }
  }
}
