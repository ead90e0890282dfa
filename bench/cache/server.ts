/**
 * The API server of the cache benchmarks, in a separate process: Pods over TLS, HTTP/2 and HTTP/1.1.
 *
 * The list is empty where the load comes through the watch: of the clients only ours paginates, and 100,000 Pods in one
 * response are more text than V8 can hold in a string. All clients therefore get their Pods as ADDED events, which is
 * how streaming lists work too.
 *
 * Arguments: PODS LISTED; prints `PORT` when ready. `POST /control/stream?events=N` sends N changes to every watch.
 */
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { makeCa } from '../../test/certificates.ts'
import { podFleet } from '../pods.ts'

const [pods = '1000', listed = 'no'] = process.argv.slice(2)
const fleet = podFleet({ pods: Number(pods) })
const ca = makeCa()
const server = createSecureServer({
  allowHTTP1: true,
  settings: { maxConcurrentStreams: 100 },
  ...ca.issue({ commonName: 'bench', ips: ['127.0.0.1'], server: true }),
})
/** The same text for all clients, rendered in advance: the start time of a client must not include it. */
const wholeList = listed === 'yes' ? fleet.listPage(0, fleet.size) : undefined
const wholeStream = listed === 'yes' ? Buffer.from(fleetLines(0, fleet.size)) : undefined
const sockets = new Set<unknown>()
const watches = new Set<Http2ServerResponse>()
const baseVersion = 10_000_000

server.on('secureConnection', (socket: NodeJS.EventEmitter) => {
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})

const bookmark = (annotations?: Readonly<Record<string, string>>): string =>
  `${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'Pod', apiVersion: 'v1', metadata: { resourceVersion: String(baseVersion), ...(annotations ? { annotations } : {}) } } })}\n`

async function send(response: Http2ServerResponse, text: string | Buffer): Promise<void> {
  if (response.write(text)) return
  await new Promise<void>((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

function fleetLines(first: number, end: number): string {
  const lines: string[] = []
  for (let pod = first; pod < end; pod++) lines.push(`${fleet.watchLine('ADDED', pod)}\n`)
  return lines.join('')
}

async function sendFleet(response: Http2ServerResponse): Promise<void> {
  if (wholeStream) return await send(response, wholeStream)
  for (let index = 0; index < fleet.size && !response.destroyed; index += 100) {
    await send(response, fleetLines(index, Math.min(index + 100, fleet.size)))
  }
}

/** Versions increase along a watch, whatever Pods it reports. */
function atVersion(line: string, change: number): string {
  return line.replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${baseVersion + change}"`)
}

/** Changes of Pods in random order, as text in large chunks: the server must not be the bottleneck. */
function changes(count: number): readonly Buffer[] {
  const pieces: Buffer[] = []
  let lines: string[] = []
  for (let event = 0; event < count; event++) {
    const index = (event * 7919) % fleet.size
    lines.push(atVersion(`${fleet.watchLine('MODIFIED', index, 1 + Math.floor(event / fleet.size))}\n`, event + 1))
    if (lines.length === 100 || event === count - 1) {
      pieces.push(Buffer.from(lines.join('')))
      lines = []
    }
  }
  return pieces
}

const prepared = new Map<number, readonly Buffer[]>()
const sentinel = atVersion(
  `${fleet.watchLine('ADDED', 0).replace(/"name":"[^"]*"/, '"name":"sentinel"')}\n`,
  baseVersion,
)

async function control(url: URL, response: Http2ServerResponse): Promise<void> {
  const events = Number(url.searchParams.get('events') ?? 0)
  if (url.pathname === '/control/prepare') prepared.set(events, changes(events))
  if (url.pathname === '/control/stream') {
    const pieces = prepared.get(events) ?? changes(events)
    for (const watch of watches) {
      for (const piece of pieces) await send(watch, piece)
      await send(watch, sentinel)
    }
  }
  response.end(JSON.stringify({ connections: sockets.size - 1, watches: watches.size }))
}

async function servePods(url: URL, response: Http2ServerResponse): Promise<void> {
  const query = url.searchParams
  const isPods = url.pathname.endsWith('/pods')
  response.setHeader('content-type', 'application/json')
  if (!query.has('watch')) {
    const start = Number((query.get('continue') ?? 'token-0').slice('token-'.length))
    const kind = isPods ? 'PodList' : 'ThingList'
    const limit = Number(query.get('limit') ?? fleet.size)
    if (isPods && wholeList) response.end(start === 0 && limit >= fleet.size ? wholeList : fleet.listPage(start, limit))
    else
      response.end(`{"kind":"${kind}","apiVersion":"v1","metadata":{"resourceVersion":"${baseVersion}"},"items":[]}\n`)
    return
  }
  response.writeHead(200)
  const isInitial = query.get('sendInitialEvents') === 'true'
  response.stream?.on('error', () => undefined)
  response.on('close', () => watches.delete(response))
  if (isPods && (listed !== 'yes' || isInitial)) await sendFleet(response)
  await send(response, bookmark(isInitial ? { 'k8s.io/initial-events-end': 'true' } : undefined))
  watches.add(response)
}

async function handle(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
  const url = new URL(request.url, 'https://bench')
  if (url.pathname.startsWith('/control/')) await control(url, response)
  else await servePods(url, response)
}

server.on('request', (request, response) => {
  handle(request, response).catch((error: unknown) => {
    console.error(error)
    response.destroy()
  })
})
server.on('sessionError', () => undefined)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(JSON.stringify({ port: address.port, ca: ca.cert }))
})
// The benchmark holds our standard input: when it closes, this process ends.
process.stdin.on('end', () => process.exit(0)).resume()
