/** Budgets, autoscalers, roles, priorities and runtimes: what is filled in, refused, and may not change. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { outcomeOf, tryChange, tryCreate } from './outcome.ts'
import { openServer } from './server.ts'

const server = openServer()
let namespace = ''
beforeAll(async () => {
  namespace = await server.namespace()
})

const rbac = 'rbac.authorization.k8s.io/v1'
const groups: Readonly<Record<string, string>> = {
  poddisruptionbudgets: 'policy/v1',
  horizontalpodautoscalers: 'autoscaling/v2',
  'v1/horizontalpodautoscalers': 'autoscaling/v1',
  roles: rbac,
  rolebindings: rbac,
  clusterroles: rbac,
  clusterrolebindings: rbac,
  priorityclasses: 'scheduling.k8s.io/v1',
  runtimeclasses: 'node.k8s.io/v1',
}
const clustered = new Set(['clusterroles', 'clusterrolebindings', 'priorityclasses', 'runtimeclasses'])
const pathOf = (plural: string): string => {
  const resource = plural.replace('v1/', '')
  return `/apis/${groups[plural]}/${clustered.has(plural) ? plural : `namespaces/${namespace}/${resource}`}`
}

const selector = { matchLabels: { app: 'web' } }
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const scaled = (spec: JsonObject): JsonObject => ({ spec: { scaleTargetRef, maxReplicas: 5, ...spec } })
const target = { type: 'Utilization', averageUtilization: 50 }
const byCpu = { type: 'Resource', resource: { name: 'cpu', target } }
const amount = { type: 'AverageValue', averageValue: '1500m' }
const metric = { name: 'm', selector: { matchLabels: { a: 'b' } } }
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }

describe('a new object', () => {
  it.each<[string, string, JsonObject]>([
    ['budget', 'poddisruptionbudgets', { spec: { minAvailable: 1, selector } }],
    [
      'budget in percent',
      'poddisruptionbudgets',
      { spec: { maxUnavailable: '25%', selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
    ],
    ['budget of nothing', 'poddisruptionbudgets', {}],
    ['autoscaler', 'horizontalpodautoscalers', scaled({})],
    ['autoscaler by CPU', 'horizontalpodautoscalers', scaled({ minReplicas: 2, metrics: [byCpu] })],
    [
      'autoscaler by everything',
      'horizontalpodautoscalers',
      scaled({
        metrics: [
          { type: 'Pods', pods: { metric, target: amount } },
          {
            type: 'Object',
            object: { metric, describedObject: scaleTargetRef, target: { type: 'Value', value: '2k' } },
          },
          { type: 'External', external: { metric, target: amount } },
          { type: 'ContainerResource', containerResource: { name: 'memory', container: 'c', target } },
        ],
      }),
    ],
    [
      'autoscaler of a behaviour',
      'horizontalpodautoscalers',
      scaled({
        behavior: {
          scaleDown: { stabilizationWindowSeconds: 60 },
          scaleUp: { policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }] },
        },
      }),
    ],
    ['autoscaler of version 1', 'v1/horizontalpodautoscalers', scaled({ targetCPUUtilizationPercentage: 70 })],
    ['autoscaler of version 1 without target', 'v1/horizontalpodautoscalers', scaled({})],
    ['role', 'roles', { rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }],
    ['role of nothing', 'roles', {}],
    [
      'cluster role',
      'clusterroles',
      {
        rules: [{ nonResourceURLs: ['/healthz/*'], verbs: ['get'] }],
        aggregationRule: { clusterRoleSelectors: [selector] },
      },
    ],
    [
      'role binding',
      'rolebindings',
      {
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'ServiceAccount', name: 's' },
          { kind: 'Group', name: 'g' },
        ],
        roleRef: { kind: 'Role', name: 'r' },
      },
    ],
    [
      'cluster role binding',
      'clusterrolebindings',
      {
        subjects: [{ kind: 'ServiceAccount', name: 's', namespace: 'n' }],
        roleRef: { kind: 'ClusterRole', name: 'view' },
      },
    ],
    ['priority', 'priorityclasses', { value: 1000 }],
    ['priority of nothing', 'priorityclasses', {}],
    [
      'runtime',
      'runtimeclasses',
      {
        handler: 'gvisor',
        overhead: { podFixed: { cpu: '0.25' } },
        scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'x' }] },
      },
    ],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('rejects', () => {
  it.each<[string, string, JsonObject]>([
    ['a budget with both fields', 'poddisruptionbudgets', { spec: { minAvailable: 1, maxUnavailable: 1 } }],
    ['a budget below zero', 'poddisruptionbudgets', { spec: { minAvailable: -1 } }],
    ['a budget over 100 percent', 'poddisruptionbudgets', { spec: { maxUnavailable: '101%' } }],
    ['a budget of half a percent', 'poddisruptionbudgets', { spec: { maxUnavailable: '0.5%' } }],
    [
      'a budget of bad selector and policy',
      'poddisruptionbudgets',
      {
        spec: {
          selector: {
            matchExpressions: [
              { key: 'a', operator: 'In' },
              { key: 'b', operator: 'Exists', values: ['c'] },
              { key: 'd e', operator: 'X' },
            ],
          },
          unhealthyPodEvictionPolicy: 'X',
        },
      },
    ],
    ['an empty autoscaler', 'horizontalpodautoscalers', {}],
    ['an autoscaler from 5 to 3', 'horizontalpodautoscalers', scaled({ minReplicas: 5, maxReplicas: 3 })],
    ['an autoscaler to zero', 'horizontalpodautoscalers', scaled({ minReplicas: 0, maxReplicas: 0 })],
    [
      'an autoscaler of a bad target',
      'horizontalpodautoscalers',
      scaled({ scaleTargetRef: { kind: 'a/b', name: 'c%d' } }),
    ],
    [
      'an autoscaler of metrics without source',
      'horizontalpodautoscalers',
      scaled({ metrics: [{ type: 'Resource' }, { type: 'X' }, { type: '' }] }),
    ],
    [
      'an autoscaler of metrics of two sources',
      'horizontalpodautoscalers',
      scaled({ metrics: [{ ...byCpu, pods: { metric, target: amount } }] }),
    ],
    [
      'an autoscaler of metrics without target',
      'horizontalpodautoscalers',
      scaled({
        metrics: [
          { type: 'Resource', resource: { name: '', target: { type: '' } } },
          { type: 'Pods', pods: { metric: { name: '' }, target: { type: 'X' } } },
          { type: 'External', external: { metric, target: { type: 'Value' } } },
          {
            type: 'Object',
            object: { metric, describedObject: { kind: '', name: '' }, target: { type: 'Value', value: '-1' } },
          },
        ],
      }),
    ],
    [
      'an autoscaler of metrics of two targets',
      'horizontalpodautoscalers',
      scaled({
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 0, averageValue: '1' } },
          },
          { type: 'External', external: { metric, target: { type: 'Value', value: '1', averageValue: '1' } } },
        ],
      }),
    ],
    [
      'an autoscaler of a bad behaviour',
      'horizontalpodautoscalers',
      scaled({
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 5000,
            selectPolicy: 'X',
            policies: [
              { type: 'X', value: 0, periodSeconds: 0 },
              { type: 'Pods', value: 1, periodSeconds: 5000 },
            ],
          },
          scaleDown: { policies: [] },
        },
      }),
    ],
    [
      'an autoscaler of version 1 with an invalid percentage',
      'v1/horizontalpodautoscalers',
      scaled({ targetCPUUtilizationPercentage: 0 }),
    ],
    ['a role without verbs', 'roles', { rules: [{ apiGroups: [''], resources: ['pods'], verbs: [] }] }],
    ['a role of no resources', 'roles', { rules: [{ apiGroups: [], resources: [], verbs: ['get'] }] }],
    ['a role of URLs', 'roles', { rules: [{ nonResourceURLs: ['/x'], verbs: ['get'] }] }],
    [
      'a cluster role of URLs and resources',
      'clusterroles',
      { rules: [{ nonResourceURLs: ['/x'], apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
    ],
    ['a cluster role of bad aggregation', 'clusterroles', { aggregationRule: { clusterRoleSelectors: [] } }],
    [
      'a cluster role of a bad selector',
      'clusterroles',
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'a b': '' } }] } },
    ],
    ['an empty binding', 'rolebindings', {}],
    ['a binding to another kind', 'rolebindings', { roleRef: { kind: 'Pod', name: 'a/b', apiGroup: 'x' } }],
    ['a cluster binding to a role', 'clusterrolebindings', { roleRef: { kind: 'Role', name: 'r' } }],
    [
      'a binding of bad subjects',
      'rolebindings',
      {
        roleRef,
        subjects: [
          { kind: 'X', name: 'a' },
          { kind: 'User', name: '' },
          { kind: 'User', name: 'u', apiGroup: 'x' },
          { kind: 'ServiceAccount', name: 'A', apiGroup: 'y' },
        ],
      },
    ],
    [
      'a cluster binding of an account of no namespace',
      'clusterrolebindings',
      { roleRef, subjects: [{ kind: 'ServiceAccount', name: 's' }] },
    ],
    ['a priority of the system', 'priorityclasses', { metadata: { name: 'system-mine' }, value: 1 }],
    ['a priority too high', 'priorityclasses', { value: 1_000_000_001 }],
    ['a priority of an unknown policy', 'priorityclasses', { value: 1, preemptionPolicy: 'X' }],
    ['a runtime without handler', 'runtimeclasses', {}],
    [
      'a runtime of a bad handler',
      'runtimeclasses',
      {
        handler: 'A.b',
        overhead: { podFixed: { x: '1' } },
        scheduling: { nodeSelector: { 'a b': 'c' }, tolerations: [{ operator: 'Exists', value: 'x' }] },
      },
    ],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('a change', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      'of a budget',
      'poddisruptionbudgets',
      { spec: { minAvailable: 1, selector } },
      { spec: { minAvailable: 2, selector: { matchLabels: { x: 'y' } } } },
    ],
    [
      'of a budget from one to the other',
      'poddisruptionbudgets',
      { spec: { minAvailable: 1, selector } },
      { spec: { maxUnavailable: 2 } },
    ],
    [
      'of an autoscaler',
      'horizontalpodautoscalers',
      scaled({}),
      { spec: { minReplicas: null, maxReplicas: 9, metrics: null } },
    ],
    ['of what a binding binds', 'rolebindings', { roleRef }, { roleRef: { name: 'edit' } }],
    ['of who a binding binds', 'rolebindings', { roleRef }, { subjects: [{ kind: 'User', name: 'u' }] }],
    ['of what a cluster binding binds', 'clusterrolebindings', { roleRef }, { roleRef: { name: 'edit' } }],
    ['of the value of a priority', 'priorityclasses', { value: 1 }, { value: 2, preemptionPolicy: 'Never' }],
    ['of the description of a priority', 'priorityclasses', { value: 1 }, { description: 'x', globalDefault: false }],
    ['of the handler of a runtime', 'runtimeclasses', { handler: 'a' }, { handler: 'b' }],
  ])('%s', async (_what, plural, first, patch) => {
    expect(await tryChange(server, pathOf(plural), first, patch)).toMatchSnapshot()
  })
})

describe('the two versions of an autoscaler', () => {
  const at = async (version: string, name: string): Promise<unknown> =>
    outcomeOf(
      server,
      await server.call('GET', `/apis/autoscaling/${version}/namespaces/${namespace}/horizontalpodautoscalers/${name}`),
    )

  it.each<[string, JsonObject]>([
    ['cpu', scaled({ minReplicas: 2, metrics: [byCpu] })],
    [
      'all',
      scaled({
        metrics: [
          { type: 'Pods', pods: { metric, target: amount } },
          byCpu,
          { type: 'Resource', resource: { name: 'memory', target: amount } },
        ],
        behavior: { scaleDown: { selectPolicy: 'Disabled' } },
      }),
    ],
    ['none', scaled({ metrics: [{ type: 'External', external: { metric, target: amount } }] })],
  ])('show fields of version 2: %s', async (name, body) => {
    const path = pathOf('horizontalpodautoscalers')
    await server.must('POST', path, { body: { ...body, metadata: { name } } })
    expect(await at('v1', name)).toMatchSnapshot('v1')
    expect(await at('v2', name)).toMatchSnapshot('v2')
  })

  it('show fields of version 1', async () => {
    const name = 'old'
    const path = pathOf('v1/horizontalpodautoscalers')
    await server.must('POST', path, { body: { metadata: { name }, ...scaled({ targetCPUUtilizationPercentage: 70 }) } })
    expect(await at('v1', name)).toMatchSnapshot('v1')
    expect(await at('v2', name)).toMatchSnapshot('v2')
    const patch = { body: { spec: { targetCPUUtilizationPercentage: 60 } }, type: 'application/merge-patch+json' }
    await server.must('PATCH', `${path}/${name}`, patch)
    expect(await at('v2', name)).toMatchSnapshot('changed')
  })

  it('show the status written at either version', async () => {
    const name = 'told'
    const path = pathOf('horizontalpodautoscalers')
    const created = await server.must('POST', path, { body: { metadata: { name }, ...scaled({}) } })
    const time = '2020-01-01T00:00:00Z'
    const status = {
      currentReplicas: 1,
      desiredReplicas: 2,
      lastScaleTime: time,
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 40, averageValue: '100m' } } },
      ],
      conditions: [{ type: 'AbleToScale', status: 'True', reason: 'r', message: 'm', lastTransitionTime: time }],
    }
    await server.must('PUT', `${path}/${name}/status`, { body: { ...created, status } })
    expect(await at('v1', name)).toMatchSnapshot('v1')
    expect(await at('v2', name)).toMatchSnapshot('v2')
  })
})
