/** What a namespace holds at most, what pods in it ask for, and which of them go first. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { putCluster, until } from './admission.ts'
import { outcomeOf, tryCreate } from './outcome.ts'
import { at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'

const podsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`
const container = (resources: object = {}, name = 'c'): JsonObject => ({ name, image: 'i', resources }) as JsonObject
const pod = (spec: object = {}, metadata: object = {}): JsonObject => ({
  metadata: { name: 'a', ...metadata },
  spec: { containers: [container()], ...spec },
})

describe('the priority of a pod', () => {
  const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'
  const priorityOf = async (spec: object): Promise<Json> => {
    const outcome = (await tryCreate(server, podsOf('default'), pod(spec))) as JsonObject
    const { priority, preemptionPolicy, priorityClassName } = (outcome['spec'] ?? {}) as JsonObject
    return outcome['spec']
      ? server.maskedJson({
          priority: priority!,
          preemptionPolicy: preemptionPolicy!,
          priorityClassName: priorityClassName ?? null,
        })
      : outcome
  }

  it.each<readonly [string, object]>([
    ['nothing', {}],
    ['a system class', { priorityClassName: 'system-node-critical' }],
    ['a missing class', { priorityClassName: 'nothing' }],
    ['an explicit number', { priority: 7 }],
    ['the number of its class', { priority: 0 }],
    ['an explicit preemption policy', { preemptionPolicy: 'Never' }],
  ])('with %s', async (_what, spec) => {
    expect(await priorityOf(spec)).toMatchSnapshot()
  })

  it('is that of its class', async () => {
    const name = server.unique('class')
    await putCluster(server, classes, { metadata: { name }, value: 5, preemptionPolicy: 'Never' })
    await until(async () => {
      const answer = await server.call('POST', `${podsOf('default')}?dryRun=All`, {
        body: pod({ priorityClassName: name }),
      })
      return answer.status === 201
    }, 'the class is known')
    expect(await priorityOf({ priorityClassName: name })).toMatchSnapshot('first')
    expect(await priorityOf({ priorityClassName: name, priority: 5, preemptionPolicy: 'Never' })).toMatchSnapshot(
      'second',
    )
    expect(await priorityOf({ priorityClassName: name, priority: 4 })).toMatchSnapshot('third')
    expect(await priorityOf({ priorityClassName: name, preemptionPolicy: 'PreemptLowerPriority' })).toMatchSnapshot(
      'fourth',
    )
  })

  it('is kept when an update omits it', async () => {
    const namespace = await server.namespace()
    const made = await server.must('POST', podsOf(namespace), { body: pod() })
    const { priority: _priority, preemptionPolicy: _policy, ...spec } = made['spec'] as JsonObject
    const updated = await server.must('PUT', `${podsOf(namespace)}/a`, { body: { ...made, spec } })
    expect(at(updated, 'spec', 'priority')).toBe(0)
    expect(at(updated, 'spec', 'preemptionPolicy')).toBe('PreemptLowerPriority')
  })
})

describe('a limit range', () => {
  /** A namespace where the limits hold. */
  const limited = async (...limits: readonly object[]): Promise<string> => {
    const namespace = await server.namespace()
    const probe = { type: 'PersistentVolumeClaim', max: { storage: '1' } }
    const isOfClaims = limits.some((one) => (one as JsonObject)['type'] === probe.type)
    await server.must('POST', `/api/v1/namespaces/${namespace}/limitranges`, {
      body: { metadata: { name: 'limits' }, spec: { limits: isOfClaims ? limits : [...limits, probe] } },
    })
    const claim = {
      metadata: { name: 'a' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2' } } },
    }
    await until(async () => {
      const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims?dryRun=All`
      return (await server.call('POST', path, { body: claim })).status === 403
    }, 'the limits hold')
    return namespace
  }
  const resourcesOf = async (namespace: string, spec: object): Promise<Json> => {
    const outcome = (await tryCreate(server, podsOf(namespace), pod(spec))) as JsonObject
    if (!outcome['spec']) return outcome
    const containers = [
      ...((at(outcome, 'spec', 'initContainers') ?? []) as Json[]),
      ...(at(outcome, 'spec', 'containers') as Json[]),
    ]
    return {
      resources: containers.map((one) => at(one, 'resources') ?? null),
      annotations: at(outcome, 'metadata', 'annotations') ?? null,
    }
  }

  it('sets default requests and limits of containers', async () => {
    const namespace = await limited({
      type: 'Container',
      default: { cpu: '500m', memory: '1Gi' },
      defaultRequest: { cpu: '250m' },
    })
    expect(await resourcesOf(namespace, {})).toMatchSnapshot('first')
    expect(
      await resourcesOf(namespace, {
        containers: [container({ limits: { cpu: '2' } }), container({ requests: { memory: '1Mi' } }, 'd')],
        initContainers: [container({}, 'i')],
      }),
    ).toMatchSnapshot('second')
  })

  it.each<readonly [string, object]>([
    ['nothing', {}],
    ['less than the minimum', { requests: { cpu: '50m' }, limits: { cpu: '100m' } }],
    ['more than the maximum', { requests: { cpu: '1' }, limits: { cpu: '3' } }],
    ['the minimum and maximum', { requests: { cpu: '100m' }, limits: { cpu: '200m' } }],
    ['too little for its ratio', { requests: { cpu: '100m' }, limits: { cpu: '500m' } }],
  ])('limits a container that requests %s', async (_what, resources) => {
    const namespace = await limited({
      type: 'Container',
      min: { cpu: '100m' },
      max: { cpu: '2' },
      maxLimitRequestRatio: { cpu: '4' },
    })
    expect(await resourcesOf(namespace, { containers: [container(resources)] })).toMatchSnapshot()
  })

  it('limits a pod by the sum of its containers', async () => {
    const namespace = await limited({ type: 'Pod', min: { memory: '1Mi' }, max: { memory: '1Gi' } })
    const half = { requests: { memory: '600Mi' }, limits: { memory: '600Mi' } }
    expect(await resourcesOf(namespace, { containers: [container(half)] })).toMatchSnapshot('first')
    expect(await resourcesOf(namespace, { containers: [container(half), container(half, 'd')] })).toMatchSnapshot(
      'second',
    )
    expect(await resourcesOf(namespace, {})).toMatchSnapshot('third')
  })

  it('limits a claim', async () => {
    const namespace = await limited({ type: 'PersistentVolumeClaim', min: { storage: '5' }, max: { storage: '1Gi' } })
    const claim = (storage: string): JsonObject => ({
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
    })
    const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`
    expect([await tryCreate(server, path, claim('1')), await tryCreate(server, path, claim('2Gi'))]).toMatchSnapshot()
  })
})

describe('a quota', () => {
  /** A namespace where the quota holds. On a real server its controller writes the status: here it is the case. */
  const bounded = async (hard: JsonObject, used: JsonObject, spec: object = {}): Promise<string> => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/resourcequotas`
    await server.must('POST', path, { body: { metadata: { name: 'q' }, spec: { hard, ...spec } } })
    await server.must('PATCH', `${path}/q/status`, { type: merge, body: { status: { hard, used } } })
    const probe = { 'count/leases.coordination.k8s.io': '0' }
    await server.must('POST', path, { body: { metadata: { name: 'probe' }, spec: { hard: probe } } })
    await server.must('PATCH', `${path}/probe/status`, { type: merge, body: { status: { hard: probe, used: probe } } })
    await until(async () => {
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases?dryRun=All`
      return (await server.call('POST', leases, { body: { metadata: { name: 'a' }, spec: {} } })).status === 403
    }, 'the quota holds')
    return namespace
  }
  const usedIn = async (namespace: string): Promise<Json> =>
    at(await server.must('GET', `/api/v1/namespaces/${namespace}/resourcequotas/q`), 'status')!

  it('limits the number of objects, by old and new names', async () => {
    const hard = { configmaps: '1', 'count/configmaps': '5', 'count/deployments.apps': '0', secrets: '0' }
    const used = { configmaps: '0', 'count/configmaps': '0', 'count/deployments.apps': '0', secrets: '0' }
    const namespace = await bounded(hard, used)
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    expect(await usedIn(namespace)).toMatchSnapshot('first')
    expect(outcomeOf(server, await server.call('POST', path, { body: { metadata: { name: 'b' } } }))).toMatchSnapshot(
      'second',
    )
    expect(await tryCreate(server, `/api/v1/namespaces/${namespace}/secrets`, {})).toMatchSnapshot('third')
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [container()] } }
    const deployment = { spec: { selector: { matchLabels: { a: 'b' } }, template } }
    expect(
      await tryCreate(server, `/apis/apps/v1/namespaces/${namespace}/deployments`, deployment as unknown as JsonObject),
    ).toMatchSnapshot('fourth')
    // What is there already may change.
    await server.must('PATCH', `${path}/a`, { type: merge, body: { data: { x: '1' } } })
  })

  it('limits the requests of pods, which then are required', async () => {
    const hard = { pods: '2', 'requests.cpu': '1', 'limits.memory': '1Gi' }
    const namespace = await bounded(hard, { pods: '0', 'requests.cpu': '0', 'limits.memory': '0' })
    const resources = { requests: { cpu: '600m' }, limits: { memory: '512Mi' } }
    const path = podsOf(namespace)
    expect(await tryCreate(server, path, pod())).toMatchSnapshot('first')
    const partly = { initContainers: [container({ requests: { cpu: '1' } }, 'i')] }
    expect(await tryCreate(server, path, pod(partly))).toMatchSnapshot('second')
    await server.must('POST', path, { body: pod({ containers: [container(resources)] }) })
    expect(await usedIn(namespace)).toMatchSnapshot('third')
    const more = (cpu: string, memory: string): JsonObject =>
      pod({ containers: [container({ requests: { cpu }, limits: { memory } })] }, { name: 'b' })
    expect(await tryCreate(server, path, more('600m', '1Mi'))).toMatchSnapshot('fourth')
    expect(await tryCreate(server, path, more('600m', '600Mi'))).toMatchSnapshot('fifth')
    await server.must('POST', path, { body: more('400m', '512Mi') })
    const third = more('1m', '1')
    expect(await tryCreate(server, path, { ...third, metadata: { name: 'c' } })).toMatchSnapshot('sixth')
    expect(await usedIn(namespace)).toMatchSnapshot('seventh')
  })

  it('counts node ports and load balancers of services', async () => {
    const hard = { services: '5', 'services.nodeports': '1', 'services.loadbalancers': '1' }
    const namespace = await bounded(hard, { services: '0', 'services.nodeports': '0', 'services.loadbalancers': '0' })
    const path = `/api/v1/namespaces/${namespace}/services`
    const service = (type: string, ...ports: readonly number[]): JsonObject => ({
      spec: { type, ports: ports.map((port) => ({ port, name: `p${port}` })) },
    })
    expect(await tryCreate(server, path, service('NodePort', 1, 2))).toMatchSnapshot('first')
    await server.must('POST', path, { body: { metadata: { name: 'b' }, ...service('LoadBalancer', 1) } })
    expect(await usedIn(namespace)).toMatchSnapshot('second')
    expect(await tryCreate(server, path, service('LoadBalancer', 1))).toMatchSnapshot('third')
    await server.must('POST', path, { body: { metadata: { name: 'c' }, ...service('ClusterIP', 1) } })
    const changed = await server.call('PATCH', `${path}/c?dryRun=All`, {
      type: merge,
      body: { spec: { type: 'NodePort' } },
    })
    expect(outcomeOf(server, changed)).toMatchSnapshot('fourth')
  })

  it('counts storage by class', async () => {
    const hard = { 'requests.storage': '3Gi', 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi' }
    const namespace = await bounded(hard, {
      'requests.storage': '0',
      'gold.storageclass.storage.k8s.io/requests.storage': '0',
    })
    const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`
    const claim = (storage: string, storageClassName: string): JsonObject => ({
      spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } },
    })
    expect(await tryCreate(server, path, claim('2Gi', 'gold'))).toMatchSnapshot('first')
    await server.must('POST', path, { body: { metadata: { name: 'b' }, ...claim('2Gi', 'iron') } })
    expect(await tryCreate(server, path, claim('2Gi', 'gold'))).toMatchSnapshot('second')
    expect(await usedIn(namespace)).toMatchSnapshot('third')
  })

  it.each<readonly [string, object, object]>([
    ['that terminate', { scopes: ['Terminating'] }, { activeDeadlineSeconds: 5 }],
    ['that do not terminate', { scopes: ['NotTerminating'] }, {}],
    ['without requests', { scopes: ['BestEffort'] }, {}],
    ['with requests', { scopes: ['NotBestEffort'] }, { containers: [container({ requests: { cpu: '1' } })] }],
    [
      'of a priority',
      {
        scopeSelector: {
          matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['system-node-critical'] }],
        },
      },
      { priorityClassName: 'system-node-critical' },
    ],
  ])('may be restricted to pods %s', async (_which, spec, own) => {
    const namespace = await bounded({ pods: '0' }, { pods: '0' }, spec)
    const others = [
      {},
      { activeDeadlineSeconds: 5 },
      { containers: [container({ requests: { cpu: '1' } })] },
      { priorityClassName: 'system-cluster-critical' },
    ]
    const codes = []
    for (const one of [own, ...others]) {
      const outcome = (await tryCreate(server, podsOf(namespace), pod(one))) as JsonObject
      codes.push(outcome['code'] ?? 201)
    }
    expect(codes).toMatchSnapshot()
  })
})
