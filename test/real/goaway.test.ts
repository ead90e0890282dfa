/**
 * Providers let API servers say good-bye to a share of connections at random (`--goaway-chance`), to spread clients
 * over replicas. Nothing may be lost by it: no request, no watch, no write done twice.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Connection } from '../../src/client/connection.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import type { Transport, TransportRequest } from '../../src/transport/transport.ts'
import { textOf } from '../loopback.ts'
import { type Cluster, startCluster } from './cluster.ts'

let cluster: Cluster
let transport: Transport

beforeAll(async () => {
  cluster = await startCluster({ flags: ['--goaway-chance=0.02'] })
  const { server, ca, admin } = cluster.access
  const connection: Connection = {
    name: 'goaway',
    server,
    tls: { ca },
    credentials: {
      headers: () => Promise.resolve({}),
      certificate: () => Promise.resolve({ id: 'admin', ...admin }),
      refused: () => false,
    },
    proxyUrl: '',
    namespace: 'default',
  }
  transport = httpTransport(connection, { clock: systemClock })
})

afterAll(async () => {
  await transport.close()
  await cluster.stop()
})

const path = '/api/v1/namespaces/default/configmaps'

async function call(request: Partial<TransportRequest>): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  const answer = await transport.send({ method: 'GET', path, headers, ...request })
  return { status: answer.status, text: await textOf(answer.body) }
}

/** As many at a time as say 16 workers send. */
async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

describe('a server that sends GOAWAY at random', () => {
  it('answers 600 GETs and 200 writes, and 20 watches stay open throughout', async () => {
    const watches = await Promise.all(
      Array.from({ length: 20 }, () => transport.send({ method: 'GET', path: `${path}?watch=true`, headers: {} })),
    )
    expect(watches.map((watch) => watch.status)).toEqual(watches.map(() => 200))

    let mostConnections = 0
    await inParallel(600, async () => {
      expect((await call({ path: '/api/v1/namespaces/default' })).status).toBe(200)
      mostConnections = Math.max(mostConnections, transport.stats().connections)
    })
    await inParallel(200, async (index) => {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `map-${index}` } })
      // A write that was done twice would be answered by 409.
      expect((await call({ method: 'POST', body })).status).toBe(201)
    })
    // Good-byes did happen: the watches keep the connections that they were said on.
    expect(mostConnections).toBeGreaterThan(1)

    const list = JSON.parse((await call({})).text) as { readonly items: readonly unknown[] }
    expect(list.items.length).toBeGreaterThanOrEqual(200)
    expect(transport.stats().streams).toBe(20)

    await Promise.all(
      watches.map(async (watch) => {
        let [seen, text] = [0, '']
        for await (const chunk of watch.body) {
          text += Buffer.from(chunk).toString()
          seen = text.match(/"name":"map-\d+"/g)?.length ?? 0
          if (seen >= 200) break
        }
        expect(seen).toBeGreaterThanOrEqual(200)
      }),
    )
  })
})
