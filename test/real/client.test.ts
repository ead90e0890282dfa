/** Every verb of the client against a real API server. There is no kubelet: logs and exec end at their refusal. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Client, WatchEvent } from '../../src/client/client.ts'
import { connect, type ConnectOptions } from '../../src/client/connect.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { clientErrors } from '../../src/client/errors.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import type { Resource } from '../../src/kube/kind.ts'
import type { UntypedObject } from '../../src/kube/object.ts'

const access = inject('cluster')
const namespace = 'client-verbs'

const core = (kind: string, plural: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
const namespaces = core('Namespace', 'namespaces', false)
const configMaps = core('ConfigMap', 'configmaps')
const pods = core('Pod', 'pods')
const serviceAccounts = core('ServiceAccount', 'serviceaccounts')
const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
const budgets: Resource = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
}
const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

const open: Client[] = []
async function clientFor(user: Readonly<Record<string, string>>, options: ConnectOptions = {}): Promise<Client> {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const connection = await connectionFromKubeconfig({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'real',
    clusters: [{ name: 'real', cluster: { server: access.server, 'certificate-authority-data': base64(access.ca) } }],
    users: [{ name: 'user', user }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'user' } }],
  })
  const client = await connect({ ...options, connection })
  open.push(client)
  return client
}

const warnings: string[] = []
let client: Client
beforeAll(async () => {
  client = await clientFor(
    { token: access.tokens.admin },
    { fieldManager: 'muster-test', onWarning: ({ text }) => void warnings.push(text) },
  )
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
})
afterAll(async () => {
  for (const one of open) await one.close()
})

const configMap = (name: string, data: Readonly<Record<string, string>> = {}): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, labels: { suite: 'client' } },
  data,
})

const podSpec = { containers: [{ name: 'c', image: 'i' }] }
const pod = (name: string): UntypedObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels: { app: name } },
  spec: podSpec,
})

const failure = async (work: Promise<unknown>): Promise<unknown> => await work.catch((error: unknown) => error)

describe('writes', () => {
  it('create, update, patch in four ways and delete', async () => {
    const ref = { namespace, name: 'all' }
    const created = await client.create(configMaps, configMap('all', { a: '1' }))
    expect(created.metadata.uid).toBeTypeOf('string')
    const updated = await client.update(configMaps, { ...created, data: { a: '2' } })
    expect(updated['data']).toEqual({ a: '2' })
    expect(await failure(client.update(configMaps, { ...created, data: {} }))).toMatchObject({ name: 'Conflict' })
    await client.patch(configMaps, ref, [{ op: 'add', path: '/data/b', value: 'json' }], { type: 'json' })
    await client.patch(configMaps, ref, { data: { a: null, c: 'merge' } }, { type: 'merge' })
    const patched = await client.patch(configMaps, ref, { data: { d: 'strategic' } }, { type: 'strategic' })
    expect(patched['data']).toEqual({ b: 'json', c: 'merge', d: 'strategic' })

    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref, data: { c: 'other' } }
    expect(await failure(client.apply(configMaps, foreign, { fieldManager: 'other' }))).toMatchObject({
      name: 'ApplyConflict',
      status: { details: { causes: [{ reason: 'FieldManagerConflict', field: '.data.c' }] } },
    })
    const applied = await client.apply(configMaps, foreign, { fieldManager: 'other', force: true })
    expect(applied.data).toEqual({ b: 'json', c: 'other', d: 'strategic' })

    const wrong = client.delete(configMaps, ref, { preconditions: { uid: 'another' } })
    expect(await failure(wrong)).toMatchObject({ name: 'Conflict' })
    await client.delete(configMaps, ref, { preconditions: { uid: created.metadata.uid! }, propagation: 'Background' })
    expect(await failure(client.get(configMaps, ref))).toMatchObject({
      name: 'NotFound',
      httpStatus: 404,
      status: { details: { name: 'all', kind: 'configmaps' } },
    })
  })

  it('have no effect as a dry run', async () => {
    const dry = await client.create(configMaps, configMap('dry'), { dryRun: true })
    expect(dry.metadata.uid).toBeTypeOf('string')
    expect(await failure(client.get(configMaps, { namespace, name: 'dry' }))).toMatchObject({ name: 'NotFound' })
    await client.create(configMaps, configMap('wet'))
    await client.delete(configMaps, { namespace, name: 'wet' }, { dryRun: true })
    await client.get(configMaps, { namespace, name: 'wet' })
  })

  it('validate fields as requested, and return warnings', async () => {
    const odd = { ...configMap('odd'), datta: {} }
    expect(await failure(client.create(configMaps, odd, { fieldValidation: 'Strict' }))).toMatchObject({
      name: 'BadRequest',
      message: expect.stringContaining('unknown field "datta"'),
    })
    warnings.length = 0
    await client.create(configMaps, odd, { fieldValidation: 'Warn' })
    expect(warnings).toEqual(['unknown field "datta"'])
    await client.update(configMaps, odd, { fieldValidation: 'Ignore' })
    // An apply needs no field validation: every built-in kind rejects an applied field that its schema lacks.
    const applied = client.apply(configMaps, odd, { fieldManager: 'kit', force: true, fieldValidation: 'Ignore' })
    expect(((await failure(applied)) as Error).message).toContain('field not declared in schema')
    expect(warnings).toHaveLength(1)
  })

  it('accept a generated name', async () => {
    const made = await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { generateName: 'made-', namespace },
    })
    expect(made.metadata).toMatchObject({ name: expect.stringMatching(/^made-.{5}$/) })
  })

  it('delete a collection by selector', async () => {
    const labels = { collection: 'yes' }
    for (const name of ['c1', 'c2'])
      await client.create(configMaps, { ...configMap(name), metadata: { name, namespace, labels } })
    await client.create(configMaps, configMap('c3'))
    await client.deleteCollection(configMaps, { namespace, labelSelector: 'collection=yes' })
    const left = await client.list(configMaps, { namespace })
    const names = left.items.map(({ metadata }) => metadata.name)
    expect(names).toContain('c3')
    expect(names).not.toContain('c1')
    expect(names).not.toContain('c2')
  })
})

describe('errors', () => {
  it('are distinguished by class', async () => {
    await client.create(configMaps, configMap('twice'))
    expect(await failure(client.create(configMaps, configMap('twice')))).toMatchObject({ name: 'AlreadyExists' })
    expect(await failure(client.create(configMaps, configMap('Not A Name')))).toMatchObject({
      name: 'Invalid',
      status: { details: { causes: [{ field: 'metadata.name' }] } },
    })
    const large = configMap('large', { a: 'x'.repeat(4_000_000) })
    expect(await failure(client.create(configMaps, large))).toMatchObject({ name: 'RequestTooLarge' })
    const notTable = client.request({ method: 'GET', path: '/api/v1/pods', headers: { accept: 'image/png' } })
    expect(await failure(notTable)).toMatchObject({ name: 'NotAcceptable' })
    const noVerb = client.request({ method: 'PUT', path: '/api/v1/pods', body: '{}' })
    expect(await failure(noVerb)).toMatchObject({ name: 'MethodNotAllowed' })
    expect(await failure(client.list(configMaps, { namespace, continue: 'nonsense' } as object))).toMatchObject({
      name: 'BadRequest',
    })
    const future = client.request({ method: 'GET', path: '/api/v1/pods?resourceVersion=999999999', retry: false })
    expect(await failure(future)).toMatchObject({ name: 'ServerTimeout', retryAfterMs: 1_000 })
  })

  it('of a missing kind differ from those of a missing object', async () => {
    const missing: readonly Resource[] = [
      { group: 'no.example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true },
      { ...deployments, version: 'v9' },
      { ...deployments, plural: 'nothings' },
      core('Nothing', 'nothings'),
    ]
    for (const resource of missing) {
      expect(await failure(client.list(resource))).toMatchObject({ name: 'KindNotServed', httpStatus: 404 })
      expect(await failure(client.get(resource, { namespace, name: 'x' }))).toMatchObject({ name: 'KindNotServed' })
    }
    const elsewhere = { ...configMap('x'), metadata: { name: 'x', namespace: 'nowhere' } }
    expect(await failure(client.create(configMaps, elsewhere))).toMatchObject({
      name: 'NotFound',
      message: expect.stringContaining('namespaces "nowhere" not found'),
    })
  })

  it('of unauthenticated and unauthorized users', async () => {
    const stranger = await clientFor({ token: 'wrong' })
    expect(await failure(stranger.list(pods))).toMatchObject({ name: 'Unauthorized' })
    const bob = await clientFor({ token: access.tokens.bob })
    expect(await failure(bob.list(pods))).toMatchObject({
      name: 'Forbidden',
      message: expect.stringContaining('"bob"'),
    })
  })

  it('of logs and exec without a kubelet', async () => {
    await client.create(pods, pod('idle'))
    const ref = { namespace, name: 'idle' }
    // A Pod on no node has nothing to say.
    expect(await Array.fromAsync(client.logs(ref))).toEqual([])
    expect(await failure(Array.fromAsync(client.logs(ref, { container: 'none' })))).toMatchObject({
      name: 'BadRequest',
    })
    expect(await failure(client.exec(ref, ['true']))).toMatchObject({ name: 'BadRequest' })
    expect(await failure(client.exec({ namespace, name: 'none' }, ['true']))).toMatchObject({ name: 'NotFound' })
  })
})

describe('reads', () => {
  const labelSelector = 'many=yes'
  beforeAll(async () => {
    for (let index = 0; index < 7; index++) {
      await client.create(configMaps, {
        ...configMap(`many-${index}`, { index: String(index) }),
        metadata: { name: `many-${index}`, namespace, labels: { many: 'yes' } },
      })
    }
  })

  it('list in pages, and all pages as one list', async () => {
    const page = await client.listPage(configMaps, { namespace, labelSelector, limit: 3 })
    expect(page.items).toHaveLength(3)
    expect(page.metadata.continue).toBeTypeOf('string')
    const list = await client.list(configMaps, { namespace, labelSelector, limit: 3 })
    expect(list.items).toHaveLength(7)
    expect(list.metadata.continue).toBeUndefined()
    for (const item of list.items) expect(item).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' })
    const exact = await client.list(configMaps, {
      namespace,
      labelSelector,
      resourceVersion: list.metadata.resourceVersion,
      resourceVersionMatch: 'Exact',
      limit: 2,
    })
    expect(exact.metadata.resourceVersion).toBe(list.metadata.resourceVersion)
    expect((await client.list(configMaps, { namespace, fieldSelector: 'metadata.name=many-3' })).items).toHaveLength(1)
  })

  it('return metadata only under the kind of the object, and tables', async () => {
    const one = await client.getMetadata(configMaps, { namespace, name: 'many-0' })
    expect(one).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', metadata: expect.objectContaining({ name: 'many-0' }) })
    const all = await client.listMetadata(configMaps, { namespace, labelSelector, limit: 2 })
    expect(all.items).toHaveLength(7)
    for (const item of all.items) expect(Object.keys(item)).toEqual(['apiVersion', 'kind', 'metadata'])
    const table = await client.table(configMaps, { namespace, labelSelector })
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Data', 'Age'])
    expect(table.rows).toHaveLength(7)
    expect(table.rows[0]).toMatchObject({ cells: ['many-0', 1, expect.any(String)], object: { kind: 'ConfigMap' } })
    expect((await client.table(configMaps, { namespace, name: 'many-1' })).rows).toHaveLength(1)
  })
})

describe('a watch', () => {
  const collect = async (watching: AsyncIterable<WatchEvent>, count: number): Promise<WatchEvent[]> => {
    const events: WatchEvent[] = []
    for await (const event of watching) if (events.push(event) === count) break
    return events
  }

  it('delivers events from a version on', async () => {
    const { metadata } = await client.list(configMaps, { namespace })
    const events = collect(client.watch(configMaps, { namespace, resourceVersion: metadata.resourceVersion }), 3)
    const made = await client.create(configMaps, configMap('watched'))
    await client.update(configMaps, { ...made, data: { a: 'ü' } })
    await client.delete(configMaps, { namespace, name: 'watched' })
    expect((await events).map(({ type, object }) => [type, (object as UntypedObject)['data']])).toEqual([
      ['ADDED', undefined],
      ['MODIFIED', { a: 'ü' }],
      ['DELETED', { a: 'ü' }],
    ])
  })

  it('begins with the existing objects and a bookmark on request', async () => {
    const options = { namespace, labelSelector: 'many=yes', sendInitialEvents: true, allowBookmarks: true }
    const events = await collect(client.watch(configMaps, options), 8)
    expect(events.slice(0, 7).map(({ type }) => type)).toEqual(Array.from({ length: 7 }, () => 'ADDED'))
    expect(events[7]).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    })
  })

  it('ends when the server or the caller ends it', async () => {
    expect(await collect(client.watch(configMaps, { namespace: 'kube-public', timeoutSeconds: 1 }), 99)).toBeInstanceOf(
      Array,
    )
    const abort = new AbortController()
    const watching = client.watch(pods, { namespace: 'kube-public', signal: abort.signal })[Symbol.asyncIterator]()
    const next = failure(watching.next())
    abort.abort()
    expect(await next).toMatchObject({ name: 'Aborted' })
  })
})

describe('subresources', () => {
  const ref = { namespace, name: 'web' }
  beforeAll(async () => {
    const labels = { app: 'web' }
    await client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: ref,
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } },
    })
  })

  it('update status separately', async () => {
    const before = await client.get(deployments, ref)
    const changed = { ...before, spec: { ...(before['spec'] as object), replicas: 9 }, status: { replicas: 4 } }
    const after = await client.update(deployments, changed, { subresource: 'status' })
    expect(after).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 4 } })
    await client.patch(deployments, ref, { status: { replicas: 5 } }, { type: 'merge', subresource: 'status' })
    expect(await client.get(deployments, ref, { subresource: 'status' })).toMatchObject({ status: { replicas: 5 } })
  })

  it('scale', async () => {
    expect(await client.setScale(deployments, ref, 3)).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } })
    expect((await client.getScale(deployments, ref)).spec.replicas).toBe(3)
    expect(await client.get(deployments, ref)).toMatchObject({ spec: { replicas: 3 } })
  })

  it('evict as disruption budgets allow', async () => {
    await client.create(pods, pod('free'))
    await client.evict({ namespace, name: 'free' }, { dryRun: true })
    await client.get(pods, { namespace, name: 'free' })
    await client.evict({ namespace, name: 'free' }, { gracePeriodSeconds: 0 })
    expect(await failure(client.get(pods, { namespace, name: 'free' }))).toMatchObject({ name: 'NotFound' })

    await client.create(pods, pod('held'))
    const condition = { type: 'Ready', status: 'True' }
    const running = { status: { phase: 'Running', conditions: [condition] } }
    await client.patch(pods, { namespace, name: 'held' }, running, { type: 'merge', subresource: 'status' })
    const budget = await client.create(budgets, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'held', namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'held' } } },
    })
    const { generation } = budget.metadata
    const status = {
      observedGeneration: generation,
      disruptionsAllowed: 0,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    }
    await client.patch(budgets, { namespace, name: 'held' }, { status }, { type: 'merge', subresource: 'status' })
    const { requests } = client.stats()
    expect(await failure(client.evict({ namespace, name: 'held' }))).toMatchObject({
      name: 'TooManyRequests',
      message: expect.stringContaining('disruption budget'),
      status: { details: { causes: [{ reason: 'DisruptionBudget' }] } },
    })
    expect(client.stats().requests).toBe(requests + 1)
  })

  it('create a token that the server accepts', async () => {
    await client.create(serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'robot', namespace },
    })
    const { token, expirationTimestamp } = await client.createToken(
      { namespace, name: 'robot' },
      { expirationSeconds: 600 },
    )
    expect(Date.parse(expirationTimestamp)).toBeGreaterThan(Date.now())
    const robot = await clientFor({ token })
    expect(await failure(robot.list(pods))).toMatchObject({
      name: 'Forbidden',
      message: expect.stringContaining(`system:serviceaccount:${namespace}:robot`),
    })
  })
})

describe('discovery', () => {
  it('finds built-in kinds with their subresources', async () => {
    const found = await client.discovery.resourceFor({ group: 'apps', version: 'v1', kind: 'Deployment' })
    expect(found).toMatchObject({ ...deployments, singular: 'deployment', shortNames: ['deploy'], categories: ['all'] })
    expect(found).toMatchObject({ subresources: expect.arrayContaining(['scale', 'status']) })
    expect(await client.discovery.resourceFor({ group: '', version: 'v1', kind: 'Node' })).toMatchObject({
      namespaced: false,
    })
    const all = await client.discovery.resources()
    expect(all.length).toBeGreaterThan(50)
    const autoscalers = all.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
    expect(autoscalers.map(({ version }) => version)).toEqual(['v2', 'v1'])
  })

  it('reads the same from legacy and aggregated documents', async () => {
    const old = await clientFor({ token: access.tokens.admin })
    const plain: Client['transport']['send'] = (request) =>
      client.transport.send({ ...request, headers: { ...request.headers, accept: 'application/json' } })
    const { createClient } = await import('../../src/client/create-client.ts')
    const fallback = createClient({ transport: { ...old.transport, send: plain } })
    const order = (found: Awaited<ReturnType<Client['discovery']['resources']>>): readonly string[] =>
      found
        .map((one) => JSON.stringify({ ...one, subresources: one.subresources.toSorted() }))
        .toSorted((a, b) => a.localeCompare(b))
    client.discovery.invalidate()
    const [aggregated, grouped] = [await client.discovery.resources(), await fallback.discovery.resources()]
    expect(order(grouped)).toEqual(order(aggregated))
  })

  it('revalidates by ETag', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const { headers } = await client.request({ method: 'GET', path: '/api', headers: { accept } })
    expect(headers['etag']).toBeTypeOf('string')
    const again = await client.request({
      method: 'GET',
      path: '/api',
      headers: { accept, 'if-none-match': headers['etag']! },
    })
    expect(again.status).toBe(304)
  })

  it('finds a kind whose CRD is created later; large integers round-trip', async () => {
    const kind = { group: 'client.example.com', version: 'v1', kind: 'Gauge' }
    expect(await client.discovery.resourceFor(kind)).toBeUndefined()
    await client.create(crds, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'gauges.client.example.com' },
      spec: {
        group: kind.group,
        scope: 'Namespaced',
        names: { plural: 'gauges', singular: 'gauge', kind: 'Gauge' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { value: { type: 'integer', format: 'int64' } },
              },
            },
          },
        ],
      },
    })
    let gauges: Resource | undefined
    while (!gauges) {
      client.discovery.invalidate()
      gauges = await client.discovery.resourceFor(kind)
    }
    expect(gauges).toMatchObject({ plural: 'gauges', namespaced: true })
    const gauge = {
      ...kind,
      apiVersion: 'client.example.com/v1',
      metadata: { name: 'g', namespace },
      value: 9007199254740993n,
    }
    const { group: _group, version: _version, ...object } = gauge
    let created: UntypedObject | undefined
    // Discovery knows a kind a moment before its handler serves it.
    while (!created) {
      created = await client.create<UntypedObject>(gauges, object).catch((error: unknown) => {
        if (isMusterError(error, clientErrors.KindNotServed)) return undefined
        throw error
      })
    }
    expect(created['value']).toBe(9007199254740993n)
    const updated = await client.update(gauges, { ...created, value: 9223372036854775807n })
    expect(updated['value']).toBe(9223372036854775807n)
    const strategic = client.patch(gauges, { namespace, name: 'g' }, { value: 1 }, { type: 'strategic' })
    expect(await failure(strategic)).toMatchObject({ name: 'UnsupportedMediaType' })
  })
})
