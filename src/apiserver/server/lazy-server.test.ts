import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap } from '../../../test/embedded.ts'
import { seededRandom } from '../../clock/random.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Handler } from '../../transport/transport.ts'
import type { Method } from '../../transport/transport.ts'
import { updateObject } from '../../kube/apply/apply.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type ApiServer, type ApiServerOptions, createApiServer, openApiServer } from './api-server.ts'
import { createLazyApiServer, openLazyApiServer, warmAfterMs, warmWhenIdle } from './lazy-server.ts'
import { createServer } from './server.ts'
import type { WritePath } from '../cluster/state.ts'
import { writePath } from './write-path.ts'

const configs = '/api/v1/namespaces/default/configmaps'

function options(): ApiServerOptions {
  return { clock: virtualClock(), random: seededRandom(7), serviceAccounts: true, rootCa: 'PEM' }
}

interface Answer {
  readonly status: number
  readonly text: string
}

async function ask(server: Handler, method: Method, url: string, body?: object): Promise<Answer> {
  const { status, body: chunks } = await server.handle({
    method,
    path: url,
    headers: {},
    body: body && JSON.stringify(body),
  })
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return { status, text: Buffer.concat(all).toString() }
}

const listed = [
  '/api/v1/namespaces',
  '/api/v1/serviceaccounts',
  '/api/v1/configmaps',
  '/api/v1/services',
  '/apis/scheduling.k8s.io/v1/priorityclasses',
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(
    (plural) => `/apis/rbac.authorization.k8s.io/v1/${plural}`,
  ),
]

async function lists(server: Handler): Promise<readonly Answer[]> {
  return await Promise.all(listed.map((url) => ask(server, 'GET', url)))
}

async function folderOf(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-lazy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A server that counts how often its write path is loaded, which fails a given number of times. */
function counting(failures = 0): { readonly server: ApiServer; fetched: number } {
  const counted = {
    fetched: 0,
    server: createServer(options(), async (): Promise<WritePath> => {
      await Promise.resolve()
      if (++counted.fetched <= failures) throw new Error('no such file')
      return writePath
    }).server,
  }
  return counted
}

describe('a server that loads the write path lazily', () => {
  it('reads without the write path', async () => {
    const counted = counting()
    const reads = [
      '/readyz',
      '/version',
      '/api',
      '/apis',
      '/apis/apps/v1',
      '/api/v1/namespaces/default',
      '/api/v1/namespaces/none',
      '/clusters/blue/api/v1/namespaces',
      '/apis/autoscaling/v1/horizontalpodautoscalers',
      '/apis/events.k8s.io/v1/events?fieldSelector=type=Normal',
    ]
    for (const url of [...reads, ...listed]) await ask(counted.server, 'GET', url)
    expect(counted.fetched).toBe(0)
    await ask(counted.server, 'POST', configs, configMap('a'))
    expect(counted.fetched).toBe(1)
  })

  it('loads it once for concurrent writes', async () => {
    const counted = counting()
    const names = ['a', 'b', 'c']
    const made = await Promise.all(names.map((name) => ask(counted.server, 'POST', configs, configMap(name))))
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(counted.fetched).toBe(1)
  })

  it('reports a failure to load, and tries again with the next write', async () => {
    const { server } = counting(1)
    expect((await ask(server, 'POST', configs, configMap('a'))).status).toBe(500)
    expect((await ask(server, 'GET', configs)).status).toBe(200)
    expect((await ask(server, 'POST', configs, configMap('a'))).status).toBe(201)
  })

  it('starts with the same objects as an eager server', async () => {
    const lazy = await lists(await createLazyApiServer(options()))
    expect(lazy.map(({ status }) => status)).toEqual(listed.map(() => 200))
    expect(lazy).toEqual(await lists(createApiServer(options())))

    const [one, other] = [
      await openLazyApiServer({ ...options(), folder: await folderOf() }),
      await openApiServer({ ...options(), folder: await folderOf() }),
    ]
    const kept = await lists(one)
    expect(kept).toEqual(await lists(other))
    await ask(one, 'POST', configs, configMap('a'))
    // The controllers had nothing to do for objects from before loading.
    const unwritten = (all: readonly Answer[]): readonly Answer[] => all.filter((_, at) => at !== 2)
    const withoutRevision = ({ text }: Answer): string => text.replace(/"metadata":\{"resourceVersion":"\d+"\}/, '')
    expect(unwritten(await lists(one)).map(withoutRevision)).toEqual(unwritten(kept).map(withoutRevision))
    await Promise.all([one.close(), other.close()])
  })

  it('gives namespaces the same managedFields as an update would', async () => {
    const server = await createLazyApiServer(options())
    for (const url of [`${configs}/kube-root-ca.crt`, '/api/v1/namespaces/default/serviceaccounts/default']) {
      const { metadata, ...rest } = JSON.parse((await ask(server, 'GET', url)).text) as UntypedObject
      const { managedFields = [], ...own } = metadata
      const how = { manager: 'kube-controller-manager', schema: undefined, definitions: {}, now: 0, live: undefined }
      const updated = updateObject<UntypedObject>({ ...how, updated: { ...rest, metadata: own } })
      const untimed = (entries: typeof managedFields): object => entries.map(({ time: _time, ...entry }) => entry)
      expect(untimed(managedFields)).toEqual(untimed(updated.metadata.managedFields ?? []))
    }
  })

  it('knows owners from before loading: their dependents stay, and are deleted with them', async () => {
    const server = await createLazyApiServer(options())
    const service = '/api/v1/namespaces/default/services/kubernetes'
    const { metadata } = JSON.parse((await ask(server, 'GET', service)).text) as UntypedObject
    const owner = { apiVersion: 'v1', kind: 'Service', name: 'kubernetes', uid: metadata.uid! }
    await ask(server, 'POST', configs, configMap('a', {}, { ownerReferences: [owner] }))
    expect((await ask(server, 'GET', `${configs}/a`)).status).toBe(200)
    await ask(server, 'DELETE', service)
    expect((await ask(server, 'GET', `${configs}/a`)).status).toBe(404)
  })

  it('provides for new namespaces, and restores provisions of old ones', async () => {
    const server = await createLazyApiServer(options())
    await ask(server, 'POST', '/api/v1/namespaces', { metadata: { name: 'new' } })
    await ask(server, 'DELETE', `${configs}/kube-root-ca.crt`)
    for (const url of ['/api/v1/namespaces/new/serviceaccounts/default', `${configs}/kube-root-ca.crt`])
      expect((await ask(server, 'GET', url)).status).toBe(200)
  })

  it('serves custom kinds after a restart, also to readers', async () => {
    const folder = await folderOf()
    const first = await openLazyApiServer({ ...options(), folder })
    const crd = {
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    }
    await ask(first, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd)
    await first.close()
    const second = await openLazyApiServer({ ...options(), folder })
    expect((await ask(second, 'GET', '/apis/example.com/v1/widgets')).status).toBe(200)
    await second.close()
  })
})

describe('an idle server', () => {
  it('loads the write path by itself after a while', async () => {
    const counted = counting()
    const clock = virtualClock()
    const { server } = warmWhenIdle(counted.server, clock)
    await ask(server, 'GET', configs)
    await clock.advance(warmAfterMs - 1)
    expect(counted.fetched).toBe(0)
    await clock.advance(1)
    expect(counted.fetched).toBe(1)
    expect((await ask(server, 'POST', configs, configMap('a'))).status).toBe(201)
    expect(counted.fetched).toBe(1)
  })

  it('does so only when no request is running or has just ended', async () => {
    const counted = counting()
    const clock = virtualClock()
    const answer = Promise.withResolvers<void>()
    const slow: ApiServer = {
      ...counted.server,
      async handle(request) {
        await answer.promise
        return await counted.server.handle(request)
      },
    }
    const { server } = warmWhenIdle(slow, clock)
    const reading = ask(server, 'GET', configs)
    await clock.advance(10 * warmAfterMs)
    expect(counted.fetched).toBe(0)
    answer.resolve()
    await reading
    await clock.advance(100)
    await ask(server, 'GET', configs)
    await clock.advance(199)
    expect(counted.fetched).toBe(0)
    await clock.advance(1)
    expect(counted.fetched).toBe(1)
  })

  it('leaves a failure to the first write, and does nothing once it is closed', async () => {
    const failing = counting(1)
    const clock = virtualClock()
    const { server } = warmWhenIdle(failing.server, clock)
    await clock.advance(warmAfterMs)
    expect(failing.fetched).toBe(1)
    expect((await ask(server, 'POST', configs, configMap('a'))).status).toBe(201)
    const closed = counting()
    warmWhenIdle(closed.server, clock).stop()
    await clock.advance(2 * warmAfterMs)
    expect(closed.fetched).toBe(0)
  })
})
