/** The server of the growth tests, with objects to read and to patch. */
// Loaded before any stack overflow: a Node module that fails half-way stays half loaded for this thread.
import 'node:https'
import { createApiServer } from '../../src/apiserver/server/api-server.ts'
import type { TransportRequest } from '../../src/transport/transport.ts'
import { seededRandom } from '../../src/clock/random.ts'
import { virtualClock } from '../../src/clock/virtual-clock.ts'
import { stringifyJson } from '../../src/kube/json.ts'

/** Responses are read to their end, and their status is returned. */
export async function growthTarget(rows: number): Promise<(request: TransportRequest) => Promise<number>> {
  const clock = virtualClock()
  const server = createApiServer({ clock, random: seededRandom(7) })
  const send = async (request: TransportRequest): Promise<number> => {
    const stop = new AbortController()
    const { status, body } = await server.handle({ ...request, signal: stop.signal })
    const isWatch = request.path.includes('watch=true')
    const chunks = body[Symbol.asyncIterator]()
    for (;;) {
      const next = chunks.next()
      // The initial events of a watch arrive at once; there are no further ones.
      const read = isWatch ? await Promise.race([next, idle()]) : await next
      if (read === undefined) {
        stop.abort()
        await next.catch(() => undefined)
        break
      }
      if (read.done) break
    }
    return status
  }
  const create = (path: string, body: object): Promise<number> =>
    send({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body: stringifyJson(body) })
  await create('/api/v1/namespaces', { metadata: { name: 'many' } })
  await create('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'live', finalizers: ['example.com/x'] },
    data: { k: 'example.com/a' },
  })
  await create('/api/v1/namespaces/default/pods', {
    metadata: { name: 'live' },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  })
  // Enough variables to make merging expensive.
  const env = Array.from({ length: 1000 }, (_, index) => ({ name: `E${3 * index}`, value: 'w' }))
  await create('/apis/apps/v1/namespaces/default/deployments', {
    metadata: { name: 'live' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'a', image: 'a', env }] } },
    },
  })
  for (let row = 0; row < rows; row++) {
    await create('/api/v1/namespaces/many/configmaps', { metadata: { name: `a${row}`, labels: { n: `${row}` } } })
  }
  return send
}

/** After all pending work. */
function idle(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => setImmediate(() => resolve(undefined))))
}
