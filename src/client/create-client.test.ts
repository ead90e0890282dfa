import { describe, expect, it } from 'vitest'
import { seededRandom } from '../clock/random.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { transportErrors } from '../transport/errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { isJsonObject, type Json, parseJson, stringifyJson } from '../kube/json.ts'
import type { Resource } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import { bodyOf } from './body.ts'
import type { Client, PatchType, WatchEvent } from './client.ts'
import { type ClientOptions, createClient } from './create-client.ts'
import { inProcessTransport } from './in-process.ts'
import type { MessageStream, TransportRequest, TransportResponse } from '../transport/transport.ts'

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const nodes: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

const ref = { namespace: 'a', name: 'web' }
const web: UntypedObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'a' },
  spec: { replicas: 1 },
}

function respond(
  status: number,
  body: Json | string,
  headers: Readonly<Record<string, string>> = {},
): TransportResponse {
  const text = typeof body === 'string' ? body : stringifyJson(body)
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: bodyOf(Buffer.from(text)) }
}

function refuse(status: number, reason: string, details: Json = {}): TransportResponse {
  return respond(status, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: status,
    reason,
    details,
    message: reason,
  })
}

interface Asked {
  readonly line: string
  readonly accept: unknown
  readonly type: unknown
  readonly body: Json | undefined
}

/** A client of a server that is one function; what was asked, in the order it was asked. */
function clientOf(answer: (request: TransportRequest) => TransportResponse, options: Partial<ClientOptions> = {}) {
  const clock = virtualClock()
  const asked: Asked[] = []
  const transport = inProcessTransport({
    handle: (request) => {
      asked.push({
        line: `${request.method} ${request.path}`,
        accept: request.headers['accept'],
        type: request.headers['content-type'],
        body: typeof request.body === 'string' ? parseJson(request.body) : undefined,
      })
      return Promise.resolve(answer(request))
    },
  })
  const client = createClient({ transport, clock, random: seededRandom(1), ...options })
  return { client, clock, asked, only: () => (expect(asked).toHaveLength(1), asked[0]!) }
}

const echo = (): TransportResponse => respond(200, web as unknown as Json)
const failure = async (work: Promise<unknown>): Promise<unknown> => await work.catch((error: unknown) => error)

describe('reading', () => {
  it('gets one object, its subresource, and at a version', async () => {
    const { client, asked } = clientOf(echo)
    expect(await client.get(deployments, ref)).toEqual(web)
    await client.get(deployments, ref, { subresource: 'status', resourceVersion: '0' })
    await client.get(nodes, { name: 'n1' })
    expect(asked.map(({ line }) => line)).toEqual([
      'GET /apis/apps/v1/namespaces/a/deployments/web',
      'GET /apis/apps/v1/namespaces/a/deployments/web/status?resourceVersion=0',
      'GET /api/v1/nodes/n1',
    ])
  })

  it('keeps large integers in both directions', async () => {
    const big = 9007199254740993n
    const { client, only } = clientOf((request) => respond(200, request.body as string))
    const object = { ...web, spec: { big } }
    expect(await client.create(deployments, object)).toEqual(object)
    expect(only().body).toMatchObject({ spec: { big } })
  })

  it('rejects a response that is not an object', async () => {
    for (const body of ['', 'null', '[]', '"x"', '<html>', '{"metadata":{"name":"we']) {
      const { client } = clientOf(() => respond(200, body))
      expect(await failure(client.get(deployments, ref))).toMatchObject({ name: 'UnexpectedAnswer' })
      expect(await failure(client.list(deployments))).toMatchObject({ name: 'UnexpectedAnswer' })
    }
  })

  it('lists in pages of 500 by default, and adds fields that the server omits', async () => {
    const item = (name: string): Json => ({ metadata: { name } })
    const { client, asked } = clientOf(({ path }) =>
      path.includes('continue=t1')
        ? respond(200, { kind: 'DeploymentList', metadata: { resourceVersion: '5' }, items: [item('b')] })
        : respond(200, {
            kind: 'DeploymentList',
            metadata: { resourceVersion: '5', continue: 't1' },
            items: [item('a')],
          }),
    )
    const list = await client.list(deployments, { labelSelector: 'app=web', resourceVersion: '0' })
    expect(list.items).toEqual([
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'b' } },
    ])
    expect(list.metadata).toEqual({ resourceVersion: '5' })
    const page = await client.listPage(deployments, { namespace: 'a', limit: 1 })
    expect(page.metadata.continue).toBe('t1')
    await client.list(deployments, { limit: 0, labelSelector: undefined })
    expect(asked.slice(0, 4).map(({ line }) => line)).toEqual([
      'GET /apis/apps/v1/deployments?labelSelector=app%3Dweb&limit=500&resourceVersion=0',
      'GET /apis/apps/v1/deployments?labelSelector=app%3Dweb&limit=500&continue=t1',
      'GET /apis/apps/v1/namespaces/a/deployments?limit=1',
      'GET /apis/apps/v1/deployments',
    ])
  })

  it('restarts a list, once and without pages, when its token expires', async () => {
    const { client, asked } = clientOf(({ path }) => {
      if (path.includes('continue=')) return refuse(410, 'Expired')
      const isPaged = path.includes('limit=')
      return respond(200, { items: [{ metadata: { name: 'a' } }], metadata: isPaged ? { continue: 't' } : {} })
    })
    expect((await client.list(pods)).items).toHaveLength(1)
    expect(asked.map(({ line }) => line)).toEqual([
      'GET /api/v1/pods?limit=500',
      'GET /api/v1/pods?limit=500&continue=t',
      'GET /api/v1/pods',
    ])
  })

  it('requests metadata only, and tables', async () => {
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'web' } }
    const { client, asked } = clientOf(({ headers }) => {
      if (String(headers['accept']).includes('as=Table')) return respond(200, { kind: 'Table', rows: [{ cells: [1] }] })
      return respond(200, String(headers['accept']).includes('List') ? { items: [partial] } : partial)
    })
    const metadata = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } }
    expect(await client.getMetadata(deployments, ref)).toEqual(metadata)
    expect((await client.listMetadata(deployments)).items).toEqual([metadata])
    expect((await client.table(deployments, { namespace: 'a' })).rows).toEqual([{ cells: [1] }])
    await client.table(deployments, ref)
    expect(asked.map(({ line, accept }) => `${line} ${String(accept).split(',')[0]}`)).toEqual([
      'GET /apis/apps/v1/namespaces/a/deployments/web application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
      'GET /apis/apps/v1/deployments?limit=500 application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      'GET /apis/apps/v1/namespaces/a/deployments?limit=500 application/json;as=Table;g=meta.k8s.io;v=v1',
      'GET /apis/apps/v1/namespaces/a/deployments/web application/json;as=Table;g=meta.k8s.io;v=v1',
    ])
  })
})

describe('watching', () => {
  const event = (type: string, name: string): string => `${JSON.stringify({ type, object: { metadata: { name } } })}\n`

  it('yields events in order, including errors, until the server ends it', async () => {
    const lines =
      event('ADDED', 'a') + event('BOOKMARK', '') + '{"type":"ERROR","object":{"kind":"Status","code":410}}\n'
    const { client, only } = clientOf(() => respond(200, lines))
    const events: WatchEvent[] = []
    const watching = client.watch(pods, {
      namespace: 'a',
      resourceVersion: '5',
      allowBookmarks: true,
      timeoutSeconds: 60,
    })
    for await (const one of watching) events.push(one)
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK', 'ERROR'])
    expect(events[2]?.object).toEqual({ kind: 'Status', code: 410 })
    expect(only().line).toBe(
      'GET /api/v1/namespaces/a/pods?watch=true&resourceVersion=5&allowWatchBookmarks=true&timeoutSeconds=60',
    )
  })

  it('fails on an incomplete event after all complete ones', async () => {
    const { client } = clientOf(() => respond(200, `${event('ADDED', 'a')}{"type":"ADDED","object":{}}`))
    const seen: string[] = []
    const reading = (async () => {
      for await (const { type } of client.watch(pods)) seen.push(type)
    })()
    expect(await failure(reading)).toMatchObject({
      name: 'ConnectionLost',
      message: expect.stringContaining('pods/v1'),
    })
    expect(seen).toEqual(['ADDED'])
  })

  it('throws a rejected request as an error, and starts only when read', async () => {
    const { client, asked } = clientOf(() => refuse(410, 'Expired'))
    const watching = client.watch(pods, { resourceVersion: '1' })
    expect(asked).toHaveLength(0)
    expect(await failure(Array.fromAsync(watching))).toMatchObject({ name: 'Gone' })
  })

  it('releases its connection on break, and ends on abort even if the server is silent', async () => {
    async function* silent(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from(event('ADDED', 'a'))
      await new Promise(() => undefined)
    }
    const { client } = clientOf(() => ({ status: 200, headers: {}, body: silent() }))
    for await (const { type } of client.watch(pods)) {
      expect(type).toBe('ADDED')
      expect(client.transport.stats().streams).toBe(1)
      break
    }
    expect(client.transport.stats().streams).toBe(0)
    const abort = new AbortController()
    const watching = client.watch(pods, { signal: abort.signal })[Symbol.asyncIterator]()
    await watching.next()
    const next = watching.next()
    abort.abort()
    await expect(next).rejects.toMatchObject({ name: 'Aborted' })
  })
})

describe('writing', () => {
  it('creates, also with generated names, and subresources under the name of their object', async () => {
    const { client, asked } = clientOf(echo)
    await client.create(deployments, web, { dryRun: true, fieldManager: 'me', fieldValidation: 'Strict' })
    await client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'x-', namespace: 'a' } })
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: ref }
    await client.create(pods, binding, { subresource: 'binding' })
    expect(asked.map(({ line }) => line)).toEqual([
      'POST /apis/apps/v1/namespaces/a/deployments?dryRun=All&fieldManager=me&fieldValidation=Strict',
      'POST /api/v1/namespaces/a/pods',
      'POST /api/v1/namespaces/a/pods/web/binding',
    ])
    expect(asked[0]).toMatchObject({ type: 'application/json', body: web as unknown as Json })
  })

  it('updates objects and their status', async () => {
    const { client, asked } = clientOf(echo)
    await client.update(deployments, web)
    await client.update(deployments, web, { subresource: 'status' })
    expect(asked.map(({ line }) => line)).toEqual([
      'PUT /apis/apps/v1/namespaces/a/deployments/web',
      'PUT /apis/apps/v1/namespaces/a/deployments/web/status',
    ])
  })

  it('patches in four ways', async () => {
    const types: Readonly<Record<PatchType, string>> = {
      json: 'application/json-patch+json',
      merge: 'application/merge-patch+json',
      strategic: 'application/strategic-merge-patch+json',
      apply: 'application/apply-patch+yaml',
    }
    for (const [type, contentType] of Object.entries(types) as [PatchType, string][]) {
      const { client, only } = clientOf(echo)
      await client.patch(deployments, ref, [{ op: 'remove', path: '/spec' }], {
        type,
        force: true,
        subresource: 'status',
      })
      expect(only()).toMatchObject({
        line: `PATCH /apis/apps/v1/namespaces/a/deployments/web/status${type === 'apply' ? '?force=true' : ''}`,
        type: contentType,
        body: [{ op: 'remove', path: '/spec' }],
      })
    }
  })

  it('applies with a field manager, and reports conflicts', async () => {
    const { client, only } = clientOf(() =>
      refuse(409, 'Conflict', { name: 'web', causes: [{ reason: 'FieldManagerConflict', field: '.spec.replicas' }] }),
    )
    expect(await failure(client.apply(deployments, web, { fieldManager: 'me' }))).toMatchObject({
      name: 'ApplyConflict',
      status: { details: { causes: [{ field: '.spec.replicas' }] } },
    })
    expect(only()).toMatchObject({
      line: 'PATCH /apis/apps/v1/namespaces/a/deployments/web?fieldManager=me',
      type: 'application/apply-patch+yaml',
    })
  })

  it("uses the client's field manager and validation by default", async () => {
    const { client, asked } = clientOf(echo, { fieldManager: 'default', fieldValidation: 'Warn' })
    await client.update(deployments, web)
    await client.update(deployments, web, { fieldManager: 'me', fieldValidation: 'Ignore' })
    expect(asked.map(({ line }) => line.split('?')[1])).toEqual([
      'fieldManager=default&fieldValidation=Warn',
      'fieldManager=me&fieldValidation=Ignore',
    ])
  })

  it('deletes with preconditions in the body, and without a body when there are none', async () => {
    const { client, asked } = clientOf(echo)
    await client.delete(deployments, ref)
    await client.delete(deployments, ref, {
      dryRun: true,
      gracePeriodSeconds: 0,
      propagation: 'Foreground',
      preconditions: { uid: 'u' },
    })
    await client.deleteCollection(pods, { namespace: 'a', labelSelector: 'app=web', propagation: 'Background' })
    expect(asked).toMatchObject([
      { line: 'DELETE /apis/apps/v1/namespaces/a/deployments/web', body: undefined },
      {
        line: 'DELETE /apis/apps/v1/namespaces/a/deployments/web',
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          dryRun: ['All'],
          gracePeriodSeconds: 0,
          propagationPolicy: 'Foreground',
          preconditions: { uid: 'u' },
        },
      },
      {
        line: 'DELETE /api/v1/namespaces/a/pods?labelSelector=app%3Dweb',
        body: { kind: 'DeleteOptions', propagationPolicy: 'Background' },
      },
    ])
  })

  it('never turns a request for one object into one for many', async () => {
    const { client, asked } = clientOf(echo)
    const nameless = { ...web, metadata: { namespace: 'a' } }
    const mistakes: readonly Promise<unknown>[] = [
      client.delete(pods, { namespace: 'a', name: '' }),
      client.delete(pods, { namespace: 'a', name: '..' }),
      client.delete(pods, { name: 'web' }),
      client.deleteCollection(pods),
      client.update(deployments, nameless),
      client.apply(deployments, nameless, { fieldManager: 'me' }),
      client.create(deployments, { ...web, metadata: { name: 'web' } }),
      client.get(pods, { name: 'web' }),
      client.exec({ name: 'web' }, ['true']),
    ]
    for (const mistake of mistakes) expect(await failure(mistake)).toMatchObject({ name: 'InvalidObject' })
    expect(asked).toHaveLength(0)
  })

  it('retries by the semantics of a request, not only by its method', async () => {
    const versioned = { ...web, metadata: { ...web.metadata, resourceVersion: '7' } }
    const cases: readonly (readonly [string, (client: Client) => Promise<unknown>, number])[] = [
      ['get', (client) => client.get(deployments, ref), 5],
      ['list', (client) => client.list(deployments), 5],
      ['create', (client) => client.create(deployments, web), 1],
      ['create, dry run', (client) => client.create(deployments, web, { dryRun: true }), 5],
      ['update', (client) => client.update(deployments, web), 1],
      ['update with version', (client) => client.update(deployments, versioned), 5],
      ['patch', (client) => client.patch(deployments, ref, web, { type: 'merge' }), 1],
      ['patch with version', (client) => client.patch(deployments, ref, versioned, { type: 'merge' }), 5],
      ['apply', (client) => client.apply(deployments, web, { fieldManager: 'me' }), 5],
      ['delete', (client) => client.delete(deployments, ref), 1],
      ['delete with uid', (client) => client.delete(deployments, ref, { preconditions: { uid: 'u' } }), 5],
      ['deletecollection', (client) => client.deleteCollection(pods, { namespace: 'a' }), 1],
      ['scale', (client) => client.setScale(deployments, ref, 3), 1],
      ['evict', (client) => client.evict(ref), 1],
      ['token', (client) => client.createToken(ref), 1],
    ]
    for (const [name, ask, tries] of cases) {
      const { client, clock, asked } = clientOf(() => refuse(500, 'InternalError'))
      const asking = failure(ask(client))
      await clock.advance(30_000)
      expect(await asking).toMatchObject({ name: 'ServerError' })
      expect([name, asked.length]).toEqual([name, tries])
    }
  })
})

describe('subresources', () => {
  it('reads and sets a scale', async () => {
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'web' }, spec: { replicas: 3 } }
    const { client, asked } = clientOf(() => respond(200, scale))
    expect((await client.getScale(deployments, ref)).spec.replicas).toBe(3)
    expect(await client.setScale(deployments, ref, 3, { fieldManager: 'me' })).toEqual(scale)
    expect(asked).toMatchObject([
      { line: 'GET /apis/apps/v1/namespaces/a/deployments/web/scale' },
      {
        line: 'PATCH /apis/apps/v1/namespaces/a/deployments/web/scale?fieldManager=me',
        type: 'application/merge-patch+json',
        body: { spec: { replicas: 3 } },
      },
    ])
  })

  it('evicts, and reports the disruption budget at once', async () => {
    const { client, only } = clientOf(() => respond(201, { kind: 'Status', status: 'Success' }))
    await client.evict(ref, { dryRun: true, gracePeriodSeconds: 5, preconditions: { uid: 'u' } })
    expect(only()).toMatchObject({
      line: 'POST /api/v1/namespaces/a/pods/web/eviction?dryRun=All',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: ref,
        deleteOptions: { gracePeriodSeconds: 5, preconditions: { uid: 'u' } },
      },
    })
    const causes = [{ reason: 'DisruptionBudget', message: 'The disruption budget db needs 2 healthy pods and has 2' }]
    const held = clientOf(() => refuse(429, 'TooManyRequests', { causes }))
    expect(await failure(held.client.evict(ref))).toMatchObject({
      name: 'TooManyRequests',
      status: { details: { causes } },
    })
    expect(held.asked).toHaveLength(1)
  })

  it('requests a token and does not reveal it', async () => {
    const status = { token: 'hunter2', expirationTimestamp: '2026-01-01T01:00:00Z' }
    const { client, only } = clientOf(() => respond(201, { kind: 'TokenRequest', status }))
    expect(await client.createToken(ref, { audiences: ['vault'], expirationSeconds: 600 })).toEqual(status)
    expect(only()).toMatchObject({
      line: 'POST /api/v1/namespaces/a/serviceaccounts/web/token',
      body: { kind: 'TokenRequest', spec: { audiences: ['vault'], expirationSeconds: 600 } },
    })
    const broken = clientOf(() => respond(201, { kind: 'TokenRequest', status: { token: 'hunter2' } }))
    expect(await failure(broken.client.createToken(ref))).toMatchObject({
      name: 'UnexpectedAnswer',
      message: expect.not.stringContaining('hunter2'),
    })
  })

  it('streams logs as bytes', async () => {
    const { client, only } = clientOf(() => respond(200, 'line 1\nline 2'))
    const chunks = await Array.fromAsync(
      client.logs(ref, { container: 'c', follow: true, tailLines: 10, previous: false }),
    )
    expect(Buffer.concat(chunks).toString()).toBe('line 1\nline 2')
    expect(only().line).toBe('GET /api/v1/namespaces/a/pods/web/log?container=c&follow=true&tailLines=10')
    expect(await failure(Array.fromAsync(clientOf(() => refuse(400, 'BadRequest')).client.logs(ref)))).toMatchObject({
      name: 'BadRequest',
    })
  })

  it('runs a command over a message stream', async () => {
    const asked: unknown[] = []
    async function* messages(): AsyncGenerator<Uint8Array, void, void> {
      yield Buffer.from('\u0001hello')
      yield Buffer.from('\u0003{"status":"Success"}')
    }
    const stream: MessageStream = {
      protocol: 'v5.channel.k8s.io',
      send: () => undefined,
      messages: messages(),
      close: () => undefined,
    }
    const transport = inProcessTransport({
      handle: () => Promise.reject(new Error('unused')),
      connect: (request, protocols) => {
        asked.push(request.method, request.path, protocols)
        return Promise.resolve(stream)
      },
    })
    const client = createClient({ transport, clock: virtualClock() })
    const output: string[] = []
    const onStdout = (chunk: Uint8Array): void => void output.push(Buffer.from(chunk).toString())
    expect(await client.exec(ref, ['echo', 'a b'], { container: 'c', onStdout })).toEqual({ exitCode: 0 })
    expect(output).toEqual(['hello'])
    expect(asked).toEqual([
      'GET',
      '/api/v1/namespaces/a/pods/web/exec?command=echo&command=a%20b&container=c&stdout=true&stderr=true',
      ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
    ])
    expect(client.stats().requests).toBe(1)
  })
})

describe('a command', () => {
  it('is started once, even if the outcome is unknown', async () => {
    let tries = 0
    const transport = inProcessTransport({
      handle: () => Promise.reject(new Error('unused')),
      connect: () => {
        tries++
        return Promise.reject(new MusterError(transportErrors.ConnectionLost, 'cut'))
      },
    })
    const clock = virtualClock()
    const running = failure(createClient({ transport, clock }).exec(ref, ['rm', '-r', 'x']))
    await clock.advance(30_000)
    expect(await running).toMatchObject({ name: 'ConnectionLost' })
    expect(tries).toBe(1)
  })
})

describe('a client', () => {
  it('distinguishes a missing object from a missing kind, and then refreshes discovery', async () => {
    let served = ['Pod']
    const { client, clock, asked } = clientOf(({ path }) => {
      if (path === '/api') {
        const resources = served.map((kind) => ({ resource: 'pods', responseKind: { kind }, scope: 'Namespaced' }))
        const versions = [{ version: 'v1', resources }]
        return respond(200, { kind: 'APIGroupDiscoveryList', items: [{ metadata: { name: '' }, versions }] })
      }
      return served.length > 0 ? refuse(404, 'NotFound', { name: 'web' }) : respond(404, '404 page not found\n')
    })
    const kind = { group: '', version: 'v1', kind: 'Pod' }
    expect(await client.discovery.resourceFor(kind)).toMatchObject({ plural: 'pods' })
    expect(await failure(client.get(pods, ref))).toMatchObject({ name: 'NotFound' })
    served = []
    await clock.advance(10_000)
    expect(await client.discovery.resourceFor(kind)).toMatchObject({ plural: 'pods' })
    expect(await failure(client.get(pods, ref))).toMatchObject({ name: 'KindNotServed' })
    expect(await client.discovery.resourceFor(kind)).toBeUndefined()
    expect(asked.filter(({ line }) => line === 'GET /api')).toHaveLength(2)
  })

  it('limits its rate only when configured, and reports the delay', async () => {
    const free = clientOf(echo)
    for (let count = 0; count < 100; count++) await free.client.get(deployments, ref)
    expect(free.client.stats()).toEqual({ requests: 100, retries: 0, retryWaitMs: 0, flow: undefined })
    const limited = clientOf(echo, { flow: { qps: 10, burst: 1 } })
    const asking = Promise.all([1, 2, 3].map(() => limited.client.get(deployments, ref)))
    await limited.clock.advance(1_000)
    await asking
    expect(limited.client.stats().flow).toEqual({ waiting: 0, taken: 3, waited: 2, waitedMs: 300, longestWaitMs: 200 })
  })

  it('passes on warnings of the server', async () => {
    const heard: string[] = []
    const { client } = clientOf(
      () => respond(200, web as unknown as Json, { warning: '299 - "unknown field \\"spec.x\\""' }),
      {
        onWarning: ({ text }, { method }) => void heard.push(`${method}: ${text}`),
      },
    )
    await client.create(deployments, web, { fieldValidation: 'Warn' })
    expect(heard).toEqual(['POST: unknown field "spec.x"'])
  })

  it('does not include request bodies in errors', async () => {
    const secret = { ...web, kind: 'Secret', stringData: { password: 'hunter2' } }
    const { client } = clientOf(() => refuse(422, 'Invalid', { name: 'web' }))
    const error = await failure(client.create(deployments, secret))
    expect(error).toMatchObject({ name: 'Invalid' })
    expect(stringifyJson(error) + String((error as Error).stack)).not.toContain('hunter2')
  })

  it('is closed with its transport', async () => {
    const { client } = clientOf(echo)
    await client.close()
    expect(await failure(client.get(deployments, ref))).toMatchObject({ name: 'TransportClosed' })
  })

  it('returns the response of a delete: the object, or a Status', async () => {
    const { client } = clientOf(() => respond(200, { kind: 'Status', status: 'Success' }))
    const answer = await client.delete(deployments, ref)
    expect(isJsonObject(answer) && answer['kind']).toBe('Status')
  })
})
