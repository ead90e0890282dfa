import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { configMap, configMaps, crds, embedded } from '../../../test/embedded.ts'
import { createSharedCache, type InformerReport } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { createActivity } from './activity.ts'
import { type HealthInput, healthReport, underWay } from './health.ts'
import { createManager } from '../hosting/manager.ts'
import { readReport } from './report.ts'
import { startStatusServer, type StatusServer } from './status-server.ts'

const informer = (freshness: InformerReport['freshness']): InformerReport => ({
  resource: Secret,
  freshness,
  watches: 1,
  cover: 'all',
  objects: 0,
  bytes: 0,
  consumers: [],
})
const calm: HealthInput = {
  now: 1_000_000,
  informers: [informer({ state: 'synced', since: 0 })],
  runs: [],
  turnAt: 999_999,
}

describe('health', () => {
  it('is good while caches are fresh and runs end', () => {
    expect(healthReport(calm)).toMatchObject({ isAlive: true, isReady: true, problems: [], warnings: [] })
    expect(healthReport({ ...calm, runs: [{ operator: 'a', key: 'k', since: 950_000 }] }).isReady).toBe(true)
    expect(healthReport({ ...calm, informers: [informer({ state: 'stale', since: 990_000 })] }).isReady).toBe(true)
  })

  it('is bad, with the reason, when a cache is empty or stale for long, a run is stuck, or the event loop is blocked', () => {
    const report = (more: Partial<HealthInput>): readonly string[] => healthReport({ ...calm, ...more }).problems
    expect(report({ informers: [informer({ state: 'stale', since: 0, reason: 'no answer' })] })).toEqual([
      'secrets/v1 is stale for 1000 s: no answer',
    ])
    expect(report({ informers: [informer({ state: 'syncing', since: 999_000 })] })).toEqual([
      'secrets/v1 is syncing for 1 s',
    ])
    expect(report({ runs: [{ operator: 'a', key: 'default/k', since: 0 }] })).toEqual([
      'a has been at default/k for 1000 s',
    ])
    expect(report({ failed: [['a', 'no such file']] })).toEqual(['a cannot be started: no such file'])
    expect(report({ starting: ['a'] })).toEqual(['a is being started'])
    expect(healthReport({ ...calm, turnAt: 0 })).toMatchObject({ isAlive: false, isReady: false })
  })
})

describe('a manager of several operators', () => {
  it('is ready, with a warning, while one operator or one other cluster is not', () => {
    const elsewhere = [['edge', [informer({ state: 'stale', since: 0, reason: 'no answer' })]]] as const
    const some = healthReport({ ...calm, elsewhere, started: 2, failed: [['a', 'no such file']] })
    expect(some).toMatchObject({
      isReady: true,
      problems: [],
      warnings: ['a cannot be started: no such file', 'cluster edge: secrets/v1 is stale for 1000 s: no answer'],
    })
  })
})

/** A connection that sends a part of a request, and nothing more. */
async function halfRequest(
  url: string,
  sent: string,
): Promise<{ readonly socket: Socket; readonly ended: Promise<unknown> }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined).resume()
  const ended = once(socket, 'close')
  await once(socket, 'connect')
  socket.write(sent)
  return { socket, ended }
}

describe('the status server', () => {
  let server: StatusServer | undefined
  afterEach(() => server?.close())

  it('answers its endpoints, is read-only, and lists them', async () => {
    let report = healthReport(calm)
    server = await startStatusServer({ port: 0, health: () => report, metrics: () => 'a 1\n' })
    const ask = async (path: string, method = 'GET'): Promise<readonly [number, string]> => {
      const response = await fetch(`${server!.url}${path}`, { method })
      return [response.status, (await response.text()).trimEnd()]
    }
    expect(await ask('/readyz')).toEqual([200, 'ok'])
    report = healthReport({ ...calm, runs: [{ operator: 'a', key: 'k', since: 0 }] })
    expect(await ask('/readyz')).toEqual([503, 'a has been at k for 1000 s'])
    expect(await ask('/readyz?verbose')).toEqual([
      503,
      expect.stringContaining('[-]reconciles failed: a has been at k'),
    ])
    report = healthReport({ ...calm, configuration: 'muster.yaml:3: unknown key "puased"' })
    expect(await ask('/readyz')).toEqual([200, 'ok\nwarning: muster.yaml:3: unknown key "puased"'])
    const [status, text] = await ask('/readyz?verbose=1')
    expect([status, text.split('\n')]).toEqual([
      200,
      [
        '[+]event-loop ok',
        '[!]configuration warning: muster.yaml:3: unknown key "puased"',
        ...['operators', 'quarantine', 'caches', 'clusters', 'reconciles'].map((name) => `[+]${name} ok`),
        'readyz check passed',
      ],
    ])
    expect(await ask('/livez')).toEqual([200, 'ok'])
    expect(await ask('/metrics')).toEqual([200, 'a 1'])
    expect((await ask('/'))[0]).toBe(404)
    expect(await ask('/readyz', 'POST')).toEqual([405, 'only GET'])
  })

  it('cannot be crashed by a request, and rejects DNS rebinding', async () => {
    const wrong = (): never => {
      throw new Error('hidden')
    }
    server = await startStatusServer({ port: 0, health: () => healthReport(calm), metrics: wrong, report: wrong })
    const { port } = new URL(server.url)
    const ask = (path: string, host = `127.0.0.1:${port}`): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        request({ port, path, host: '127.0.0.1', headers: { host } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
    expect(await ask('//')).toBe(404)
    expect(await ask('/metrics')).toBe(500)
    expect(await ask('/report?x')).toBe(500)
    const others = ['evil.example.com', '127.evil.com', '127.0.0.1.evil.com:80', 'localhost.evil.com']
    for (const host of others) expect(await ask('/readyz', host)).toBe(403)
    expect(await ask('/readyz', '[::1]')).toBe(200)
    expect(await ask('/readyz', `localhost:${port}`)).toBe(200)
    await expect(startStatusServer({ port: Number(port), health: () => healthReport(calm) })).rejects.toMatchObject({
      name: 'PortTaken',
    })
  })

  it('closes connections with incomplete requests', async () => {
    server = await startStatusServer({ port: 0, health: () => healthReport(calm), limits: { requestMs: 20 } })
    for (const sent of ['', 'GET /readyz HTTP/1.1\r\nhost: localhost\r\n']) {
      const { socket, ended } = await halfRequest(server.url, sent)
      await ended
      expect(socket.destroyed).toBe(true)
    }
  })

  it('responds while more clients than its connection limit hold incomplete requests', async () => {
    server = await startStatusServer({ port: 0, health: () => healthReport(calm), limits: { connections: 4 } })
    const held = []
    for (let count = 0; count < 12; count++) held.push(await halfRequest(server.url, 'GET /readyz HTTP/1.1\r\n'))
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    // The oldest are closed, and no more than have to be.
    await Promise.all(held.slice(0, 9).map(({ ended }) => ended))
    expect(held.slice(-3).map(({ socket }) => socket.destroyed)).toEqual([false, false, false])
    for (const { socket } of held) socket.destroy()
  })

  it('reports a manager as not ready whose cache is stale, or one of whose runs never ends', async () => {
    const { clock, client: person, server: cluster } = embedded()
    const Stuck = defineKind({ group: 'stuck.example.com', version: 'v1', kind: 'Stuck', spec: {} })
    await person.create(crds, Stuck.crd() as unknown as UntypedObject)
    await person.create(configMaps, configMap('a'))
    let isCut = false
    const wire = inProcessTransport(cluster)
    const client = createClient({
      transport: {
        ...wire,
        async send(sent) {
          if (isCut) throw new Error('no route')
          const response = await wire.send(sent)
          async function* body(): AsyncGenerator<Uint8Array> {
            for await (const chunk of response.body) {
              if (isCut) throw new Error('no route')
              yield chunk
            }
          }
          return { ...response, body: body(), whole: undefined }
        },
      },
      clock,
      random: seededRandom(1),
    })
    const cache = createSharedCache({ client, clock, random: seededRandom(2) })
    const activity = createActivity({ clock })
    const manager = createManager({
      client,
      cache,
      clock,
      observer: activity,
      onLedger: (ledger) => activity.note(ledger),
    })
    const release = Promise.withResolvers<void>()
    const controller = defineController({
      for: Stuck,
      reads: [ConfigMap],
      timeoutMs: 1e9,
      check: async () => await release.promise,
    })
    const until = async (work: Promise<void>): Promise<void> => {
      let isDone = false
      void work.then(() => (isDone = true))
      await clock.until(() => isDone)
    }
    await until(manager.add(defineOperator({ name: 'stuck', controllers: [controller] })))
    const health = (): ReturnType<typeof healthReport> =>
      healthReport({
        now: clock.now(),
        informers: cache.report(),
        runs: underWay(manager.lanes()),
        turnAt: clock.now(),
      })
    server = await startStatusServer({
      port: 0,
      health,
      report: () => activity.report({ lanes: manager.lanes(), informers: cache.report(), health: health() }),
    })
    const ask = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(`${server!.url}${path}`)
      return [response.status, (await response.text()).trimEnd()]
    }
    expect(await ask('/readyz')).toEqual([200, 'ok'])

    await person.create(Stuck, {
      apiVersion: 'stuck.example.com/v1',
      kind: 'Stuck',
      metadata: { name: 'a', namespace: 'default' },
      spec: {},
    })
    await clock.advance(60_000)
    expect((await ask('/readyz'))[0]).toBe(200)
    await clock.advance(90_000)
    const [status, text] = await ask('/readyz')
    expect(status).toBe(503)
    expect(text).toMatch(/^stuck has been at stuck default\/a for 1\d\d s$/)
    expect(await ask('/livez')).toEqual([200, 'ok'])
    const report = readReport(JSON.parse((await ask('/report'))[1]))
    expect(report).toMatchObject({ isReady: false, problems: [text], operators: [{ name: 'stuck', state: 'working' }] })
    release.resolve()
    await clock.advance(1000)
    expect(await ask('/readyz')).toEqual([200, 'ok'])

    isCut = true
    await person.create(configMaps, configMap('b'))
    await clock.advance(30_000)
    expect((await ask('/readyz'))[0]).toBe(200)
    await clock.advance(120_000)
    const [behind, why] = await ask('/readyz')
    expect(behind).toBe(503)
    expect(why).toMatch(/configmaps\/v1 is stale for \d+ s/)
    isCut = false
    await clock.advance(120_000)
    expect(await ask('/readyz')).toEqual([200, 'ok'])
    await until(manager.stop())
    cache.close()
  })
})
