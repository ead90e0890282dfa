/** Tables: the columns and cells of every kind, in the states that change what is printed. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ColumnDefinition } from '../../src/apiserver/printer/columns.ts'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { type Answer, at, openServer } from './server.ts'

const server = openServer()
const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'

/** Ages without their length: a test takes as long as it takes. */
function ageless(value: Json): Json {
  return JSON.parse(
    JSON.stringify(value, (_key, member: unknown) =>
      typeof member === 'string'
        ? member.replace(/^\d{1,2}s$/, 'AGE').replace(/\(\d+m(?:\d+s)? ago\)/, '(MINUTES ago)')
        : member,
    ),
  ) as Json
}

function rowsOf({ body }: Answer): Json {
  return ageless(server.maskedJson(at(body, 'rows') ?? null))
}

function cellsOf(answer: Answer): Json {
  return ageless(
    server.maskedJson((at(answer.body, 'rows') as readonly JsonObject[]).map((row) => row['cells'] ?? null)),
  )
}

interface Case {
  readonly name: string
  readonly spec?: JsonObject
  readonly status?: JsonObject | undefined
  readonly metadata?: JsonObject
  readonly [member: string]: unknown
}

/** Creates an object, with its status, and says what its row is. */
async function print(collection: string, { name, status, metadata, ...rest }: Case): Promise<Json> {
  const body = { metadata: { name, ...metadata }, ...rest }
  const created = await server.must('POST', collection, { body })
  const path = `${collection}/${name}`
  if (!path.includes('/namespaces/')) server.cleanUp(path)
  if (status) await server.must('PUT', `${path}/status`, { body: { ...created, status } })
  const answer = await server.call('GET', path, { accept, query: { includeObject: 'None' } })
  expect(answer.status).toBe(200)
  return rowsOf(answer)
}

/** Times long past, so that their distance from now does not change while a test runs. */
const longAgo = '2001-01-01T00:00:00Z'
const minutesAgo = (minutes: number): string =>
  new Date(Date.now() - minutes * 60_000).toISOString().replace(/\.\d+/, '')

const container = { name: 'c', image: 'image:1' }
const template = {
  metadata: { labels: { app: 'a' } },
  spec: { containers: [container, { name: 'd', image: 'image:2' }], nodeSelector: { disk: 'ssd' } },
}
const selector = { matchLabels: { app: 'a' } }

describe('the columns of a table', () => {
  it('are those of a real server, for every kind', async () => {
    const groups = ['/api/v1', ...Object.values(versionsIn((await server.call('GET', '/apis')).body))]
    const columns: Record<string, Json> = {}
    for (const group of groups) {
      const { body } = await server.call('GET', group)
      for (const resource of at(body, 'resources') as readonly JsonObject[]) {
        const { name, verbs } = resource as { readonly name: string; readonly verbs: readonly string[] }
        if (name.includes('/') || !verbs.includes('list')) continue
        const table = await server.call('GET', `${group}/${name}`, { accept, query: { limit: '1' } })
        columns[`${group}/${name}`] = (
          at(table.body, 'columnDefinitions') as unknown as readonly ColumnDefinition[]
        ).map(brief)
      }
    }
    expect(columns).toMatchSnapshot()
  })
})

/** A column in a line, its description by hash: together they would fill pages. */
function brief({ name, type, format, priority, description }: ColumnDefinition): string {
  const hash = createHash('sha256').update(description).digest('hex').slice(0, 8)
  return [name, type, ...(format ? [format] : []), ...(priority ? ['wide'] : []), hash].join(' ')
}

/** Stable versions of Kubernetes' own groups; others come and go on a server that tests share. */
function versionsIn(body: Json): readonly string[] {
  return (at(body, 'groups') as readonly JsonObject[])
    .flatMap((group) => at(group, 'versions') as readonly JsonObject[])
    .map(({ groupVersion }) => groupVersion as string)
    .filter((one) => /^(?:[a-z]+|[a-z.]+\.k8s\.io)\/v\d+$/.test(one) && !/^(?:internal|lifecycle)/.test(one))
    .toSorted()
    .map((one) => `/apis/${one}`)
}

describe('a table', () => {
  it('of a list has its resourceVersion, and metadata in each row', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    await server.must('POST', path, { body: { metadata: { name: 'a', labels: { x: 'y' } }, data: { k: 'v' } } })
    const { body } = await server.call('GET', path, { accept, query: { fieldSelector: 'metadata.name=a' } })
    const { columnDefinitions: _columns, ...rest } = body as JsonObject
    expect(ageless(server.maskedJson(rest))).toMatchSnapshot()
  })

  it.each(['None', 'Object', 'Metadata', '', 'Bad'])('includes objects as requested: %s', async (includeObject) => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    await server.must('POST', path, { body: { metadata: { name: 'a' }, data: { k: 'v' } } })
    const answer = await server.call('GET', `${path}/a`, { accept, query: { includeObject } })
    const { columnDefinitions: _columns, ...rest } = answer.body as JsonObject
    expect([answer.status, ageless(server.maskedJson(rest))]).toMatchSnapshot()
  })

  it('of an empty list has no rows', async () => {
    const namespace = await server.namespace()
    const rows = async (kind: string): Promise<Json> => rowsOf(await server.call('GET', `/${kind}`, { accept }))
    expect(await rows(`api/v1/namespaces/${namespace}/pods`)).toEqual([])
    expect(await rows(`api/v1/namespaces/${namespace}/limitranges`)).toBe(null)
  })

  it('is also available in the older version, and in no other', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const old = await server.call('GET', path, { accept: 'application/json;as=Table;v=v1beta1;g=meta.k8s.io' })
    expect(at(old.body, 'apiVersion')).toBe('meta.k8s.io/v1beta1')
    const none = await server.call('GET', path, { accept: 'application/json;as=Table;v=v2;g=meta.k8s.io' })
    expect(none.status).toBe(406)
    const other = 'application/json;as=Table;v=v2;g=meta.k8s.io,application/json'
    expect(at((await server.call('GET', path, { accept: other })).body, 'kind')).toBe('ConfigMapList')
  })

  it('is the response of a write, if requested', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const created = await server.call('POST', path, { accept, body: { metadata: { name: 'a' }, data: { k: 'v' } } })
    expect([created.status, cellsOf(created)]).toEqual([201, [['a', 1, 'AGE']]])
    const patched = await server.call('PATCH', `${path}/a`, {
      accept,
      type: 'application/merge-patch+json',
      body: { data: { l: 'w' } },
    })
    expect([patched.status, cellsOf(patched)]).toEqual([200, [['a', 2, 'AGE']]])
  })

  it('is not used for errors', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps/none`
    expect(server.masked(await server.call('GET', path, { accept }))).toMatchSnapshot()
  })

  it('is watched: columns once, then rows', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const query = {
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      watch: '1',
    }
    await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    const watch = await server.watch(path, {
      accept,
      query: { ...query, fieldSelector: 'metadata.name!=kube-root-ca.crt' },
    })
    const seen = [await watch.next(), await watch.next()]
    await server.must('POST', path, { body: { metadata: { name: 'b' }, data: { k: 'v' } } })
    seen.push(await watch.next())
    await server.must('DELETE', `${path}/b`)
    seen.push(await watch.next())
    watch.stop()
    const shown = seen.map((event) => ({
      type: event!.type,
      columns:
        (at(event!.object, 'columnDefinitions') as readonly JsonObject[] | null)?.map(({ name }) => name) ?? null,
      rows: ageless(server.maskedJson(at(event!.object, 'rows') ?? null)),
    }))
    expect(shown).toMatchSnapshot()
  })
})

describe('the row of a Pod', () => {
  const running = (extra: JsonObject = {}): JsonObject => ({
    name: 'c',
    image: 'image:1',
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: longAgo } },
    lastState: {},
    ...extra,
  })
  const ended = (terminated: JsonObject): JsonObject => running({ ready: false, state: { terminated } })
  const waiting = (reason: string): JsonObject => running({ ready: false, state: { waiting: { reason } } })
  const condition = (type: string, status = 'True', reason = ''): JsonObject => ({ type, status, reason })
  const init = { name: 'i', image: 'init:1' }
  const sidecar = { name: 's', image: 'side:1', restartPolicy: 'Always' }
  const one = { containers: [container] }
  const two = { containers: [container, { name: 'd', image: 'image:2' }] }
  const withInit = { ...one, initContainers: [init, { name: 'j', image: 'init:2' }] }
  const withSidecar = { ...one, initContainers: [sidecar] }

  const cases: readonly (readonly [what: string, spec: JsonObject, status: JsonObject])[] = [
    ['pending', one, {}],
    ['pending for a reason', one, { phase: 'Failed', reason: 'Evicted' }],
    ['gated', one, { phase: 'Pending', conditions: [condition('PodScheduled', 'False', 'SchedulingGated')] }],
    [
      'running',
      one,
      { phase: 'Running', containerStatuses: [running()], podIPs: [{ ip: '10.0.0.1' }], podIP: '10.0.0.1' },
    ],
    ['creating', one, { phase: 'Pending', containerStatuses: [waiting('ContainerCreating')] }],
    [
      'crash looping',
      one,
      {
        phase: 'Running',
        containerStatuses: [
          running({
            ready: false,
            restartCount: 5,
            state: { waiting: { reason: 'CrashLoopBackOff' } },
            lastState: { terminated: { exitCode: 1, reason: 'Error', finishedAt: minutesAgo(15) } },
          }),
        ],
      },
    ],
    ['completed', one, { phase: 'Succeeded', containerStatuses: [ended({ exitCode: 0, reason: 'Completed' })] }],
    ['failed', one, { phase: 'Failed', containerStatuses: [ended({ exitCode: 3 })] }],
    ['killed', one, { phase: 'Failed', containerStatuses: [ended({ exitCode: 137, signal: 9 })] }],
    ['out of memory', one, { phase: 'Failed', containerStatuses: [ended({ exitCode: 137, reason: 'OOMKilled' })] }],
    [
      'half done, the rest ready',
      two,
      {
        phase: 'Running',
        conditions: [condition('Ready')],
        containerStatuses: [ended({ exitCode: 0, reason: 'Completed' }), running({ name: 'd' })],
      },
    ],
    [
      'half done, the rest not ready',
      two,
      {
        phase: 'Running',
        containerStatuses: [ended({ exitCode: 0, reason: 'Completed' }), running({ name: 'd' })],
      },
    ],
    [
      'half done, the rest failed',
      two,
      {
        phase: 'Running',
        containerStatuses: [
          ended({ exitCode: 0, reason: 'Completed' }),
          { ...ended({ exitCode: 1, reason: 'Error' }), name: 'd' },
        ],
      },
    ],
    [
      'initializing',
      withInit,
      { phase: 'Pending', initContainerStatuses: [running({ name: 'i' }), running({ name: 'j' })] },
    ],
    [
      'initializing, the second',
      withInit,
      {
        phase: 'Pending',
        initContainerStatuses: [
          { ...ended({ exitCode: 0 }), name: 'i' },
          { ...waiting('PodInitializing'), name: 'j' },
        ],
        containerStatuses: [waiting('PodInitializing')],
      },
    ],
    [
      'failing to initialize',
      withInit,
      { phase: 'Pending', initContainerStatuses: [{ ...ended({ exitCode: 2 }), name: 'i', restartCount: 2 }] },
    ],
    [
      'failing to initialize, for a reason',
      withInit,
      { phase: 'Pending', initContainerStatuses: [{ ...ended({ exitCode: 2, reason: 'Error' }), name: 'i' }] },
    ],
    [
      'failing to initialize, by a signal',
      withInit,
      { phase: 'Pending', initContainerStatuses: [{ ...ended({ exitCode: 2, signal: 11 }), name: 'i' }] },
    ],
    [
      'initializing in a crash loop',
      withInit,
      {
        phase: 'Pending',
        initContainerStatuses: [
          {
            ...waiting('CrashLoopBackOff'),
            name: 'i',
            restartCount: 3,
            lastState: { terminated: { exitCode: 1, finishedAt: minutesAgo(20) } },
          },
        ],
      },
    ],
    [
      'beside a side car',
      withSidecar,
      {
        phase: 'Running',
        conditions: [condition('Initialized')],
        initContainerStatuses: [running({ name: 's', started: true, restartCount: 2 })],
        containerStatuses: [running({ restartCount: 1 })],
      },
    ],
    [
      'beside a side car that starts',
      withSidecar,
      { phase: 'Pending', initContainerStatuses: [running({ name: 's', started: false, ready: false })] },
    ],
    [
      'beside a side car that failed later',
      withSidecar,
      {
        phase: 'Running',
        conditions: [condition('Initialized')],
        initContainerStatuses: [{ ...ended({ exitCode: 1, reason: 'Error' }), name: 's' }],
        containerStatuses: [running()],
      },
    ],
    [
      'behind readiness gates',
      { ...one, readinessGates: [{ conditionType: 'a.b/c' }, { conditionType: 'a.b/d' }] },
      {
        phase: 'Running',
        conditions: [condition('a.b/c'), condition('a.b/d', 'False')],
        containerStatuses: [running()],
      },
    ],
    ['nominated', one, { phase: 'Pending', nominatedNodeName: 'node-1' }],
    ['on a node', { ...one, nodeName: 'nowhere' }, { phase: 'Running', containerStatuses: [running()] }],
  ]

  it.each(cases)('%s', async (_what, spec, status) => {
    const path = `/api/v1/namespaces/${await server.namespace()}/pods`
    const gated = 'conditions' in status && JSON.stringify(status).includes('SchedulingGated')
    const whole = {
      ...spec,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      ...(gated && { schedulingGates: [{ name: 'a.b/c' }] }),
    }
    await server.until(path.replace(/pods$/, 'serviceaccounts'), (answer) => answer.status === 200)
    expect(await print(path, { name: 'pod', spec: whole, status })).toMatchSnapshot('row')
  })

  it.each([
    ['terminating', { phase: 'Running', containerStatuses: [running()] }],
    ['lost with its node', { phase: 'Running', reason: 'NodeLost', containerStatuses: [running()] }],
    [
      'finished, and being deleted',
      { phase: 'Succeeded', containerStatuses: [ended({ exitCode: 0, reason: 'Completed' })] },
    ],
  ])('%s', async (_what, status: JsonObject) => {
    const path = `/api/v1/namespaces/${await server.namespace()}/pods`
    const metadata = { finalizers: ['example.com/hold'] }
    await print(path, { name: 'pod', metadata, spec: one, status })
    await server.must('DELETE', `${path}/pod`)
    const answer = await server.call('GET', `${path}/pod`, { accept, query: { includeObject: 'None' } })
    expect(rowsOf(answer)).toMatchSnapshot('row')
    const release = { type: 'application/merge-patch+json', body: { metadata: { finalizers: null } } }
    await server.must('PATCH', `${path}/pod`, release)
  })
})

/** A kind in a namespace, and objects of it in their states. */
const namespaced: readonly (readonly [path: string, cases: readonly Case[]])[] = [
  [
    'apis/apps/v1/deployments',
    [
      { name: 'new', spec: { selector, template } },
      {
        name: 'busy',
        spec: {
          replicas: 3,
          selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['b', 'a'] }] },
          template,
        },
        status: { replicas: 3, readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
      },
    ],
  ],
  [
    'apis/apps/v1/replicasets',
    [
      { name: 'new', spec: { selector, template } },
      { name: 'busy', spec: { replicas: 3, selector, template }, status: { replicas: 2, readyReplicas: 1 } },
    ],
  ],
  [
    'apis/apps/v1/statefulsets',
    [
      {
        name: 'busy',
        spec: { replicas: 3, selector, template, serviceName: 's' },
        status: { replicas: 2, readyReplicas: 1 },
      },
    ],
  ],
  [
    'apis/apps/v1/daemonsets',
    [
      {
        name: 'busy',
        spec: { selector, template },
        status: {
          desiredNumberScheduled: 5,
          currentNumberScheduled: 4,
          numberReady: 3,
          updatedNumberScheduled: 2,
          numberAvailable: 1,
          numberMisscheduled: 0,
        },
      },
    ],
  ],
  ['apis/apps/v1/controllerrevisions', [{ name: 'free', revision: 1, data: {} }]],
  [
    'api/v1/replicationcontrollers',
    [
      {
        name: 'busy',
        spec: { replicas: 2, selector: { app: 'a' }, template },
        status: { replicas: 1, readyReplicas: 1 },
      },
    ],
  ],
  ['api/v1/podtemplates', [{ name: 'a', template }]],
  [
    'apis/batch/v1/jobs',
    (
      [
        ['new', { completions: 3 }, undefined],
        ['parallel', { parallelism: 2 }, { succeeded: 1 }],
        ['suspended', { suspend: true }, { conditions: [{ type: 'Suspended', status: 'True' }] }],
        ['running', {}, { startTime: longAgo, active: 1 }],
        [
          'complete',
          { completions: 1 },
          {
            startTime: longAgo,
            completionTime: '2001-01-01T00:05:00Z',
            succeeded: 1,
            conditions: [
              { type: 'SuccessCriteriaMet', status: 'True' },
              { type: 'Complete', status: 'True' },
            ],
          },
        ],
        [
          'met',
          { completions: 1 },
          { startTime: longAgo, conditions: [{ type: 'SuccessCriteriaMet', status: 'True' }] },
        ],
        [
          'failed',
          {},
          {
            startTime: longAgo,
            failed: 1,
            conditions: [
              { type: 'FailureTarget', status: 'True' },
              { type: 'Failed', status: 'True' },
            ],
          },
        ],
        ['failing', {}, { startTime: longAgo, conditions: [{ type: 'FailureTarget', status: 'True' }] }],
      ] as const
    ).map(([name, spec, status]) => ({
      name,
      spec: Object.assign({ template: { spec: { containers: [container], restartPolicy: 'Never' } } }, spec),
      status,
      metadata: { labels: { job: name } },
    })),
  ],
  [
    'apis/batch/v1/cronjobs',
    [
      {
        name: 'plain',
        spec: {
          schedule: '* * * * *',
          jobTemplate: { spec: { template: { spec: { containers: [container], restartPolicy: 'Never' } } } },
        },
      },
      {
        name: 'suspended',
        spec: {
          schedule: '0 0 * * *',
          timeZone: 'Etc/UTC',
          suspend: true,
          jobTemplate: { spec: { template: { spec: { containers: [container], restartPolicy: 'Never' } } } },
        },
        status: { lastScheduleTime: longAgo, active: [{ kind: 'Job', name: 'j' }] },
      },
    ],
  ],
  [
    'apis/policy/v1/poddisruptionbudgets',
    [
      { name: 'least', spec: { minAvailable: '50%', selector }, status: statusOfBudget(2) },
      { name: 'most', spec: { maxUnavailable: 1, selector }, status: statusOfBudget(0) },
    ],
  ],
  [
    'apis/autoscaling/v2/horizontalpodautoscalers',
    [
      {
        name: 'plain',
        spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 3 },
      },
      {
        name: 'many',
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
          minReplicas: 2,
          maxReplicas: 5,
          metrics: [
            { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } } },
            { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } },
            { type: 'External', external: { metric: { name: 'e' }, target: { type: 'Value', value: '7' } } },
          ],
        },
        status: {
          currentReplicas: 3,
          desiredReplicas: 4,
          conditions: [],
          currentMetrics: [{ type: 'Resource', resource: { name: 'memory', current: { averageValue: '50Mi' } } }],
        },
      },
      {
        name: 'object',
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
          maxReplicas: 5,
          metrics: [
            {
              type: 'Object',
              object: {
                describedObject: { kind: 'Service', name: 's' },
                metric: { name: 'o' },
                target: { type: 'AverageValue', averageValue: '3' },
              },
            },
            {
              type: 'External',
              external: { metric: { name: 'e' }, target: { type: 'AverageValue', averageValue: '2' } },
            },
          ],
        },
      },
      {
        name: 'container',
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
          maxReplicas: 5,
          metrics: [
            {
              type: 'ContainerResource',
              containerResource: {
                name: 'cpu',
                container: 'c',
                target: { type: 'Utilization', averageUtilization: 60 },
              },
            },
          ],
        },
      },
    ],
  ],
  [
    'api/v1/services',
    [
      { name: 'plain', spec: { ports: [{ port: 80 }], selector: { app: 'a', tier: 'b' } } },
      { name: 'headless', spec: { clusterIP: 'None' } },
      {
        name: 'ported',
        spec: {
          type: 'NodePort',
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 81 },
          ],
        },
      },
      { name: 'waiting', spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } },
      {
        name: 'balanced',
        spec: { type: 'LoadBalancer', ports: [{ port: 80 }], externalIPs: ['1.2.3.4'] },
        status: { loadBalancer: { ingress: [{ hostname: 'b.example.com' }, { ip: '2.2.2.2' }] } },
      },
      { name: 'named', spec: { type: 'ExternalName', externalName: 'example.com' } },
      { name: 'external', spec: { ports: [{ port: 80, protocol: 'UDP' }], externalIPs: ['1.2.3.4', '1.2.3.5'] } },
    ],
  ],
  [
    'api/v1/endpoints',
    [
      { name: 'none' },
      { name: 'bare', subsets: [{ addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] }] },
      {
        name: 'many',
        subsets: [
          {
            addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }],
            ports: [
              { name: 'a', port: 80 },
              { name: 'b', port: 81 },
            ],
          },
        ],
      },
    ],
  ],
  [
    'apis/discovery.k8s.io/v1/endpointslices',
    [
      { name: 'none', addressType: 'IPv4', endpoints: [], ports: [] },
      {
        name: 'many',
        addressType: 'IPv4',
        endpoints: ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'].map((address) => ({ addresses: [address] })),
        ports: [{ name: 'a', port: 80 }, { name: 'b' }, { name: 'c', port: 82 }, { name: 'd', port: 83 }],
      },
    ],
  ],
  [
    'apis/networking.k8s.io/v1/ingresses',
    [
      { name: 'bare', spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } } } },
      {
        name: 'hosts',
        spec: {
          ingressClassName: 'k',
          tls: [{ hosts: ['a.b'] }],
          rules: ['a', 'b', 'c', 'd', 'e'].map((host) => ({ host: `${host}.b` })),
        },
        status: { loadBalancer: { ingress: [{ hostname: 'z.example.com' }, { ip: '1.2.3.4' }] } },
      },
      { name: 'mixed', spec: { rules: [{ host: 'a.b' }, {}, { host: 'c.d' }] } },
    ],
  ],
  [
    'apis/networking.k8s.io/v1/networkpolicies',
    [
      { name: 'all', spec: { podSelector: {} } },
      {
        name: 'some',
        spec: { podSelector: { matchLabels: { b: 'c' }, matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
      },
    ],
  ],
  [
    'api/v1/persistentvolumeclaims',
    [
      { name: 'new', spec: claim() },
      {
        name: 'bound',
        spec: { ...claim(), volumeName: 'v', volumeMode: 'Block' },
        status: { phase: 'Bound', accessModes: ['ReadWriteMany', 'ReadWriteOnce'], capacity: { storage: '2Gi' } },
      },
    ],
  ],
  ['api/v1/configmaps', [{ name: 'a', data: { x: '1' }, binaryData: { y: 'AAAA' } }]],
  [
    'api/v1/secrets',
    [
      { name: 'a', data: { x: 'MQ==' } },
      { name: 'b', type: 'example.com/own' },
    ],
  ],
  ['api/v1/serviceaccounts', [{ name: 'a' }]],
  ['api/v1/limitranges', [{ name: 'a', spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } }]],
  [
    'apis/coordination.k8s.io/v1/leases',
    [
      { name: 'free', spec: {} },
      { name: 'held', spec: { holderIdentity: 'me' } },
    ],
  ],
  ['apis/rbac.authorization.k8s.io/v1/roles', [{ name: 'a', rules: [] }]],
  [
    'apis/rbac.authorization.k8s.io/v1/rolebindings',
    [
      {
        name: 'a',
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
        subjects: [
          { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' },
          { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'v' },
          { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'g' },
          { kind: 'ServiceAccount', name: 's', namespace: 'n' },
        ],
      },
    ],
  ],
  ['apis/storage.k8s.io/v1/csistoragecapacities', [{ name: 'a', storageClassName: 'c', capacity: '1Gi' }]],
  [
    'apis/resource.k8s.io/v1/resourceclaims',
    [{ name: 'a', spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } } }],
  ],
]

function claim(): JsonObject {
  return { accessModes: ['ReadWriteOnce'], storageClassName: 'c', resources: { requests: { storage: '1Gi' } } }
}

function statusOfBudget(disruptionsAllowed: number): JsonObject {
  return { disruptionsAllowed, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }
}

describe('the rows of', () => {
  it.each(namespaced)('%s', async (kind, cases) => {
    const [, root, plural] = /^(.*)\/([a-z]+)$/.exec(kind)!
    const collection = `/${root}/namespaces/${await server.namespace()}/${plural}`
    const rows: Record<string, Json> = {}
    for (const one of cases) {
      const row = await print(collection, one)
      const text = JSON.stringify(row)
        .replaceAll(/10\.\d+\.\d+\.\d+(?=")/g, 'CLUSTER-IP')
        .replaceAll(/:3\d{4}\//g, ':NODE-PORT/')
        .replaceAll(/"\d+y\d*d?"/g, '"YEARS"')
      rows[one.name] = JSON.parse(text) as Json
    }
    expect(rows).toMatchSnapshot('rows')
  })

  it('autoscalers, whose older version shows the same', async () => {
    const path = `/apis/autoscaling/v2/namespaces/${await server.namespace()}/horizontalpodautoscalers`
    const metrics = [
      { type: 'Pods', pods: { metric: { name: 'm' }, target: { type: 'AverageValue', averageValue: '10' } } },
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } } },
    ]
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }
    const body = { metadata: { name: 'a' }, spec: { scaleTargetRef, maxReplicas: 3, metrics } }
    await server.must('POST', path, { body })
    const old = await server.call('GET', `${path.replace('/v2/', '/v1/')}/a`, {
      accept,
      query: { includeObject: 'None' },
    })
    expect(rowsOf(old)).toEqual(
      rowsOf(await server.call('GET', `${path}/a`, { accept, query: { includeObject: 'None' } })),
    )
    expect(cellsOf(old)).toEqual([['a', 'Deployment/d', '<unknown>/10, cpu: <unknown>/70%', '1', 3, 0, 'AGE']])
  })

  it('quotas at the time of a write', async () => {
    const path = `/api/v1/namespaces/${await server.namespace()}/resourcequotas`
    const body = { metadata: { name: 'a' }, spec: { hard: { pods: '3' } } }
    const created = await server.call('POST', path, { accept, body })
    expect(cellsOf(created)).toEqual([['a', '', '', 'AGE']])
    const status = {
      hard: { pods: '3', 'limits.cpu': '2', 'requests.cpu': '1' },
      used: { pods: '1', 'limits.cpu': '500m' },
    }
    const type = 'application/merge-patch+json'
    const used = await server.call('PATCH', `${path}/a/status`, { accept, type, body: { status } })
    expect(cellsOf(used)).toEqual([['a', 'pods: 1/3, requests.cpu: 0/1', 'limits.cpu: 500m/2', 'AGE']])
  })

  it('revisions, which have an owner', async () => {
    const sets = `/apis/apps/v1/namespaces/${await server.namespace()}/statefulsets`
    const set = await server.must('POST', sets, {
      body: { metadata: { name: 's' }, spec: { replicas: 0, selector, template, serviceName: 's' } },
    })
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: 's',
      uid: at(set, 'metadata', 'uid') ?? null,
      controller: true,
    }
    const revision = { name: 'owned', revision: 2, data: {}, metadata: { ownerReferences: [owner] } }
    expect(await print(sets.replace('statefulsets', 'controllerrevisions'), revision)).toMatchSnapshot()
  })

  it('events, which have two groups', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/events`
    const involvedObject = { kind: 'Pod', name: 'p', namespace, fieldPath: 'spec.containers{c}' }
    const rows = [
      await print(path, {
        name: 'old',
        involvedObject,
        reason: 'Started',
        type: 'Normal',
        message: ' hello \n',
        count: 4,
        source: { component: 'kubelet', host: 'n' },
        firstTimestamp: longAgo,
        lastTimestamp: minutesAgo(0),
      }),
      await print(path, { name: 'bare', involvedObject: { kind: 'Pod', namespace } }),
      await print(path, {
        name: 'series',
        involvedObject,
        reason: 'R',
        action: 'A',
        type: 'Warning',
        eventTime: '2001-01-01T00:00:00.000000Z',
        reportingComponent: 'example.com/c',
        reportingInstance: 'i',
        series: { count: 7, lastObservedTime: '2001-01-01T00:00:00.000000Z' },
      }),
    ]
    const years = JSON.parse(JSON.stringify(rows).replaceAll(/"\d+y\d*d?"/g, '"YEARS"')) as Json
    expect(years).toMatchSnapshot('events')
    const other = await server.call('GET', `/apis/events.k8s.io/v1/namespaces/${namespace}/events/series`, { accept })
    expect(JSON.stringify(cellsOf(other)).replaceAll(/"\d+y\d*d?"/g, '"YEARS"')).toMatchSnapshot('the newer kind')
  })

  it('nodes', async () => {
    const node = async (labels: JsonObject, spec: JsonObject, status: JsonObject): Promise<Json> =>
      await print('/api/v1/nodes', { name: server.unique('node'), metadata: { labels }, spec, status })
    const info = {
      kubeletVersion: 'v1.37.1',
      osImage: 'Linux',
      kernelVersion: '6.1',
      containerRuntimeVersion: 'cri://1',
      architecture: 'amd64',
      machineID: '',
      systemUUID: '',
      bootID: '',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
    }
    expect([
      await node({}, {}, {}),
      await node(
        {
          'node-role.kubernetes.io/worker': '',
          'node-role.kubernetes.io/control-plane': '',
          'kubernetes.io/role': 'x',
        },
        { unschedulable: true },
        {
          nodeInfo: info,
          conditions: [{ type: 'Ready', status: 'True' }],
          addresses: [
            { type: 'InternalIP', address: '10.1.1.1' },
            { type: 'ExternalIP', address: '1.1.1.1' },
          ],
        },
      ),
      await node({}, {}, { conditions: [{ type: 'Ready', status: 'Unknown' }] }),
    ]).toMatchSnapshot()
  })

  it('namespaces', async () => {
    const name = await server.namespace()
    const answer = await server.call('GET', `/api/v1/namespaces/${name}`, { accept })
    expect(cellsOf(answer)).toEqual([['namespace', 'Active', 'AGE']])
  })

  it('volumes', async () => {
    const volume = {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      hostPath: { path: '/x' },
    }
    expect([
      await print('/api/v1/persistentvolumes', { name: server.unique('volume'), spec: volume }),
      await print('/api/v1/persistentvolumes', {
        name: server.unique('volume'),
        spec: {
          ...volume,
          claimRef: { namespace: 'n', name: 'c' },
          storageClassName: 's',
          persistentVolumeReclaimPolicy: 'Delete',
        },
        status: { phase: 'Failed', reason: 'Broken' },
      }),
    ]).toMatchSnapshot()
  })

  it('storage classes, of which one is the default', async () => {
    const path = '/apis/storage.k8s.io/v1/storageclasses'
    const name = server.unique('class')
    const isDefault = { 'storageclass.kubernetes.io/is-default-class': 'true' }
    const alone = await print(path, {
      name,
      provisioner: 'p',
      metadata: { annotations: isDefault },
      allowVolumeExpansion: true,
    })
    const list = await server.call('GET', path, { accept, query: { fieldSelector: `metadata.name=${name}` } })
    expect([alone, cellsOf(list)]).toMatchSnapshot()
    await server.must('DELETE', `${path}/${name}`)
  })

  const rule = { apiGroups: ['*'], apiVersions: ['*'], resources: ['nothing'], operations: ['CREATE'] }
  const hook = {
    name: 'a.example.com',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [rule],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    failurePolicy: 'Ignore',
    namespaceSelector: { matchLabels: { never: 'ever' } },
  }
  const admission = '/apis/admissionregistration.k8s.io/v1'
  const clusterWide: readonly (readonly [path: string, object: Omit<Case, 'name'>])[] = [
    ['/apis/scheduling.k8s.io/v1/priorityclasses', { value: 5, description: 'd' }],
    ['/apis/node.k8s.io/v1/runtimeclasses', { handler: 'h' }],
    ['/apis/networking.k8s.io/v1/ingressclasses', { spec: { controller: 'example.com/c' } }],
    [
      '/apis/networking.k8s.io/v1/ingressclasses',
      {
        spec: { controller: 'example.com/c', parameters: { apiGroup: 'g.h', kind: 'K', name: 'n', scope: 'Cluster' } },
        metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      },
    ],
    ['/apis/rbac.authorization.k8s.io/v1/clusterroles', { rules: [] }],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' }, subjects: [] },
    ],
    ['/apis/storage.k8s.io/v1/csidrivers', { spec: {} }],
    [
      '/apis/storage.k8s.io/v1/csidrivers',
      {
        spec: {
          attachRequired: false,
          tokenRequests: [{ audience: 'a' }],
          volumeLifecycleModes: ['Persistent', 'Ephemeral'],
        },
      },
    ],
    ['/apis/storage.k8s.io/v1/csinodes', { spec: { drivers: [{ name: 'd', nodeID: 'n' }] } }],
    [
      '/apis/storage.k8s.io/v1/volumeattachments',
      { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'p' } }, status: { attached: true } },
    ],
    ['/apis/storage.k8s.io/v1/volumeattributesclasses', { driverName: 'd', parameters: { a: 'b' } }],
    ['/apis/resource.k8s.io/v1/deviceclasses', { spec: {} }],
    [`${admission}/validatingwebhookconfigurations`, { webhooks: [hook] }],
    [`${admission}/mutatingwebhookconfigurations`, { webhooks: [hook, { ...hook, name: 'b.example.com' }] }],
    [
      `${admission}/validatingadmissionpolicies`,
      {
        spec: {
          matchConstraints: { resourceRules: [rule] },
          validations: [{ expression: 'true' }],
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        },
      },
    ],
    [
      `${admission}/validatingadmissionpolicybindings`,
      {
        spec: {
          policyName: 'p',
          validationActions: ['Deny'],
          paramRef: { name: 'n', namespace: 'm', parameterNotFoundAction: 'Allow' },
        },
      },
    ],
    [
      `${admission}/validatingadmissionpolicybindings`,
      {
        spec: {
          policyName: 'p',
          validationActions: ['Deny'],
          paramRef: {
            selector: {
              matchLabels: { b: 'c', a: 'b' },
              matchExpressions: [{ key: 'k', operator: 'In', values: ['v', 'w'] }],
            },
            parameterNotFoundAction: 'Allow',
          },
        },
      },
    ],
    [
      '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
      { spec: { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 9999, rules: [] } },
    ],
    [
      '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
      {
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 7,
            limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
          },
        },
      },
    ],
  ]

  it.each(clusterWide)('%s', async (path, object) => {
    const name = path.endsWith('csinodes') ? server.unique('node') : server.unique('one')
    const row = await print(path, { name, ...object })
    // A controller of a real server adds its condition when it gets to it.
    expect(
      path.endsWith('flowschemas') ? JSON.stringify(row).replace(/"(?:False|\?)"\]/, '"MISSING"]') : row,
    ).toMatchSnapshot('row')
  })
})

describe('the table of a custom resource', () => {
  const columns = [
    { name: 'Color', type: 'string', jsonPath: '.spec.color', description: 'What it looks like', priority: 1 },
    { name: 'Count', type: 'integer', jsonPath: '.spec.count', format: 'int32' },
    { name: 'Ratio', type: 'number', jsonPath: '.spec.ratio' },
    { name: 'On', type: 'boolean', jsonPath: '.spec.on' },
    { name: 'Since', type: 'date', jsonPath: '.spec.since' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'First', type: 'string', jsonPath: '.spec.list[0].name' },
    { name: 'Last', type: 'string', jsonPath: '.spec.list[-1:].name' },
    { name: 'All', type: 'string', jsonPath: '.spec.list[*].name' },
    { name: 'Map', type: 'string', jsonPath: '.spec.map' },
    { name: 'List', type: 'string', jsonPath: '.spec.list' },
    { name: 'Dotted', type: 'string', jsonPath: '.spec.map.a\\.b/c' },
    { name: 'Quoted', type: 'string', jsonPath: ".spec.map['a.b/c']" },
    { name: 'Escaped', type: 'string', jsonPath: ".spec.map['a\\.b/c']" },
    { name: 'Union', type: 'string', jsonPath: ".spec['color','count']" },
    { name: 'Slice', type: 'string', jsonPath: '.spec.list[1:3].name' },
    { name: 'Either', type: 'string', jsonPath: '.spec.list[?(@.name!="a")].name' },
    { name: 'Text', type: 'string', jsonPath: '.spec.count' },
    { name: 'Flag', type: 'string', jsonPath: '.spec.on' },
    { name: 'Wrong', type: 'integer', jsonPath: '.spec.color' },
    { name: 'Big', type: 'string', jsonPath: '.spec.list[?(@.size>5)].name' },
    { name: 'Has', type: 'string', jsonPath: '.spec.list[?(@.size)].name' },
    { name: 'Beyond', type: 'string', jsonPath: '.spec.list[9].name' },
    { name: 'Deep', type: 'string', jsonPath: '.spec..size' },
    { name: 'Null', type: 'string', jsonPath: '.spec.nothing' },
    { name: 'Named', type: 'string', jsonPath: '.metadata.name' },
    { name: 'Labelled', type: 'string', jsonPath: '.metadata.labels.x' },
  ]

  async function define(additionalPrinterColumns: readonly object[] | undefined): Promise<string> {
    const group = `${server.unique('tables')}.example.com`
    const name = `gadgets.${group}`
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    server.cleanUp(`${definitions}/${name}`)
    const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }
    await server.must('POST', definitions, {
      body: {
        metadata: { name },
        spec: {
          group,
          scope: 'Cluster',
          names: { plural: 'gadgets', kind: 'Gadget' },
          versions: [{ ...version, ...(additionalPrinterColumns && { additionalPrinterColumns }) }],
        },
      },
    })
    const path = `/apis/${group}/v1/gadgets`
    await server.until(path, ({ status }) => status === 200)
    return path
  }

  it('has the columns of its definition', async () => {
    const path = await define(columns)
    const apiVersion = path.slice('/apis/'.length, -'/gadgets'.length)
    const create = async (name: string, rest: object): Promise<void> => {
      await server.must('POST', path, {
        body: { apiVersion, kind: 'Gadget', metadata: { name, labels: { x: 'y' } }, ...rest },
      })
    }
    await create('empty', {})
    await create('full', {
      spec: {
        color: 'red',
        count: 3,
        ratio: 0.5,
        on: true,
        since: longAgo.replace('2001', '2100'),
        list: [{ name: 'a', size: 4 }, { name: 'b', size: 9 }, { name: 'c' }],
        map: { 'a.b/c': 'd', z: 1 },
        nothing: null,
      },
      status: {
        conditions: [
          { type: 'Other', status: 'False' },
          { type: 'Ready', status: 'True' },
        ],
      },
    })
    await create('odd', { spec: { color: 7, count: 2.7, ratio: 2, on: 'yes', since: 'yesterday', list: {}, map: [] } })
    const { body } = await server.call('GET', path, { accept, query: { includeObject: 'None' } })
    expect(at(body, 'columnDefinitions')).toMatchSnapshot('columns')
    expect(at(body, 'rows')).toMatchSnapshot('rows')
  })

  it('has names and ages without columns', async () => {
    const path = await define(undefined)
    const apiVersion = path.slice('/apis/'.length, -'/gadgets'.length)
    await server.must('POST', path, { body: { apiVersion, kind: 'Gadget', metadata: { name: 'a' } } })
    const { body } = await server.call('GET', `${path}/a`, { accept, query: { includeObject: 'None' } })
    expect(at(body, 'columnDefinitions')).toMatchSnapshot()
    expect(ageless(at(body, 'rows') ?? null)).toEqual([{ cells: ['a', 'AGE'], object: null }])
  })

  it('and the table of its definition show the creation time', async () => {
    const path = await define([])
    const name = path.slice('/apis/'.length, -'/v1/gadgets'.length)
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.${name}`
    const established = await server.until(definition, ({ body }) => JSON.stringify(body).includes('"Established"'))
    expect(established.status).toBe(200)
    expect(cellsOf(await server.call('GET', definition, { accept }))).toMatchSnapshot()
  })
})
