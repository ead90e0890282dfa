import { describe, expect, it } from 'vitest'
import type { Json } from '../kube/json.ts'
import { readResourceList, readRoot } from './discovery-document.ts'

const deployments = {
  resource: 'deployments',
  responseKind: { group: 'apps', version: 'v1', kind: 'Deployment' },
  scope: 'Namespaced',
  singularResource: 'deployment',
  verbs: ['get', 'list'],
  shortNames: ['deploy'],
  categories: ['all'],
  subresources: [
    { subresource: 'scale', responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' }, verbs: ['get'] },
    { subresource: 'status', verbs: ['get'] },
  ],
}

const read = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  verbs: ['get', 'list'],
  subresources: ['scale', 'status'],
}

function aggregated(...items: readonly Json[]): Json {
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items }
}

describe('the aggregated document', () => {
  it('yields every resource with its subresources, in the order of the server', () => {
    const versions = [
      { version: 'v1', freshness: 'Current', resources: [deployments] },
      { version: 'v1beta1', freshness: 'Current', resources: [deployments] },
    ]
    const root = readRoot(aggregated({ metadata: { name: 'apps' }, versions }))
    expect(root).toEqual({ form: 'aggregated', resources: [read, { ...read, version: 'v1beta1' }], down: new Set() })
  })

  it('names the versions whose server is unavailable, beside all others', () => {
    const down = { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale' }] }
    const up = { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources: [deployments] }] }
    expect(readRoot(aggregated(down, up))).toEqual({
      form: 'aggregated',
      resources: [read],
      down: new Set(['metrics.k8s.io/v1beta1']),
    })
  })

  it('skips invalid entries only', () => {
    const resources = [
      null,
      7,
      {},
      { resource: 'x', responseKind: null },
      { ...deployments, shortNames: 'no' },
      deployments,
    ]
    const root = readRoot(
      aggregated(
        null,
        { versions: {} },
        { metadata: { name: 'apps' }, versions: ['v1', { version: 'v1', resources }] },
      ),
    )
    expect(root).toMatchObject({ resources: [{ ...read, shortNames: [] }, read] })
  })
})

describe('the legacy documents', () => {
  it('yield group versions, the preferred one of each group first', () => {
    expect(readRoot({ kind: 'APIVersions', versions: ['v1'] })).toEqual({
      form: 'grouped',
      versions: [{ group: '', version: 'v1' }],
    })
    const groups = [
      {
        name: 'autoscaling',
        versions: [{ groupVersion: 'autoscaling/v1' }, { groupVersion: 'autoscaling/v2' }],
        preferredVersion: { groupVersion: 'autoscaling/v2' },
      },
      { name: 'apps', versions: [{ groupVersion: 'apps/v1' }], preferredVersion: { groupVersion: 'apps/v9' } },
      null,
    ]
    expect(readRoot({ kind: 'APIGroupList', groups })).toEqual({
      form: 'grouped',
      versions: [
        { group: 'autoscaling', version: 'v2' },
        { group: 'autoscaling', version: 'v1' },
        { group: 'apps', version: 'v1' },
      ],
    })
  })

  it('yield resources with their subresources', () => {
    const list = {
      kind: 'APIResourceList',
      resources: [
        {
          name: 'deployments',
          singularName: 'deployment',
          namespaced: true,
          kind: 'Deployment',
          verbs: ['get', 'list'],
          shortNames: ['deploy'],
          categories: ['all'],
        },
        { name: 'deployments/scale', kind: 'Scale', group: 'autoscaling', version: 'v1', namespaced: true, verbs: [] },
        { name: 'deployments/status', kind: 'Deployment', namespaced: true, verbs: [] },
        { name: 'nameless', kind: '' },
        null,
      ],
    }
    expect(readResourceList({ group: 'apps', version: 'v1' }, list)).toEqual([read])
    expect(readResourceList({ group: 'apps', version: 'v1' }, 'nonsense')).toEqual([])
  })
})

describe('anything else', () => {
  it('is not a discovery document', () => {
    for (const document of [null, 'x', [], {}, { kind: 'Status' }]) expect(readRoot(document)).toBeUndefined()
  })
})
