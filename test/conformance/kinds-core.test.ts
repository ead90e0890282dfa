/** The core group beside pods and services: what is filled in, refused, and may not change. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { outcomeOf, tryChange, tryCreate } from './outcome.ts'
import { at, openServer } from './server.ts'

const server = openServer()
let namespace = ''
beforeAll(async () => {
  namespace = await server.namespace()
})

/** Plurals with a `/` in front are of the cluster. */
const pathOf = (plural: string): string =>
  plural.startsWith('/') ? `/api/v1${plural}` : `/api/v1/namespaces/${namespace}/${plural}`

const hostPath = { path: '/data' }
const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath }
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const encode = (text: string): string => Buffer.from(text).toString('base64')
const address = { ip: '1.2.3.4' }

describe('a new object', () => {
  it.each<[string, string, JsonObject]>([
    ['config map', 'configmaps', { data: { k: 'v' }, binaryData: { b: encode('x') } }],
    ['config map of nothing', 'configmaps', { data: {} }],
    ['immutable config map', 'configmaps', { data: { k: '' }, immutable: true }],
    ['secret', 'secrets', { data: { k: encode('v') } }],
    ['secret in plain text', 'secrets', { data: { k: encode('v'), l: encode('w') }, stringData: { k: 'new', m: 'ü' } }],
    ['secret of nothing', 'secrets', {}],
    ['secret of an own type', 'secrets', { type: 'example.com/own' }],
    ['basic auth', 'secrets', { type: 'kubernetes.io/basic-auth', stringData: { username: 'u' } }],
    ['namespace', '/namespaces', { metadata: { labels: { a: 'b' } } }],
    ['namespace with a wrong label', '/namespaces', { metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } } }],
    ['namespace with finalizers', '/namespaces', { spec: { finalizers: ['example.com/own'] } }],
    ['service account', 'serviceaccounts', { secrets: [{ name: 's' }], imagePullSecrets: [{ name: 'p' }] }],
    ['endpoints', 'endpoints', { subsets: [{ addresses: [address], ports: [{ port: 80 }] }] }],
    ['endpoints of nothing', 'endpoints', {}],
    ['volume', '/persistentvolumes', { spec: volume }],
    [
      'volume of a class',
      '/persistentvolumes',
      {
        spec: {
          ...volume,
          hostPath: undefined,
          storageClassName: 'fast',
          persistentVolumeReclaimPolicy: 'Delete',
          csi: { driver: 'csi.example.com', volumeHandle: 'x' },
          claimRef: { namespace: 'n', name: 'c' },
        },
      },
    ],
    ['claim', 'persistentvolumeclaims', { spec: claim }],
    ['claim of no class', 'persistentvolumeclaims', { spec: { ...claim, storageClassName: '', volumeMode: 'Block' } }],
    [
      'claim from a source',
      'persistentvolumeclaims',
      {
        spec: { ...claim, dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' } },
      },
    ],
    [
      'claim from a reference',
      'persistentvolumeclaims',
      {
        spec: { ...claim, dataSourceRef: { kind: 'PersistentVolumeClaim', name: 's' } },
      },
    ],
    [
      'claim of odd size',
      'persistentvolumeclaims',
      { spec: { ...claim, resources: { requests: { storage: '1.5Gi' } } } },
    ],
    [
      'quota',
      'resourcequotas',
      { spec: { hard: { pods: '5', cpu: '1', 'requests.memory': '1024Mi', 'count/widgets.example.com': 3 } } },
    ],
    ['quota of a scope', 'resourcequotas', { spec: { hard: { pods: '5' }, scopes: ['BestEffort'] } }],
    [
      'limits',
      'limitranges',
      {
        spec: {
          limits: [{ type: 'Container', max: { cpu: '2' }, min: { memory: '1Mi' }, default: { memory: '2Mi' } }],
        },
      },
    ],
    ['limits of pods', 'limitranges', { spec: { limits: [{ type: 'Pod', max: { cpu: '2' } }] } }],
    ['event', 'events', { involvedObject: { kind: 'Pod', name: 'p' }, reason: 'r', message: 'm', type: 'Normal' }],
    [
      'node',
      '/nodes',
      {
        spec: { podCIDR: '10.1.0.0/24', taints: [{ key: 'a', effect: 'NoSchedule' }] },
        status: { capacity: { cpu: '4' } },
      },
    ],
  ])('%s', async (_what, plural, body) => {
    const event =
      plural === 'events' ? { involvedObject: { ...(body['involvedObject'] as JsonObject), namespace } } : {}
    expect(await tryCreate(server, pathOf(plural), { ...body, ...event })).toMatchSnapshot()
  })
})

describe('rejects', () => {
  const big = 'x'.repeat(1_100_000)
  it.each<[string, string, JsonObject]>([
    ['a config map with a bad key', 'configmaps', { data: { 'a b': 'v' } }],
    ['a config map with the key ..', 'configmaps', { data: { '..': 'v' } }],
    ['a config map with a key that starts with ..', 'configmaps', { data: { '..a': 'v' } }],
    ['a config map with the same key twice', 'configmaps', { data: { a: 'v' }, binaryData: { a: encode('x') } }],
    ['a config map that is too big', 'configmaps', { data: { a: big } }],
    ['a secret that is too big', 'secrets', { stringData: { a: big } }],
    ['a secret with a bad key', 'secrets', { data: { 'a/b': encode('v') } }],
    ['a TLS secret without key', 'secrets', { type: 'kubernetes.io/tls' }],
    ['a docker configuration that is missing', 'secrets', { type: 'kubernetes.io/dockerconfigjson' }],
    [
      'a docker configuration that is no JSON',
      'secrets',
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': 'x' } },
    ],
    ['an old docker configuration', 'secrets', { type: 'kubernetes.io/dockercfg' }],
    ['basic auth without a user', 'secrets', { type: 'kubernetes.io/basic-auth' }],
    ['an SSH key that is missing', 'secrets', { type: 'kubernetes.io/ssh-auth' }],
    ['a token without an account', 'secrets', { type: 'kubernetes.io/service-account-token' }],
    ['a namespace with an invalid finalizer', '/namespaces', { spec: { finalizers: ['own'] } }],
    ['endpoints without ports', 'endpoints', { subsets: [{ addresses: [] }] }],
    [
      'invalid endpoints',
      'endpoints',
      {
        subsets: [
          {
            addresses: [{ ip: 'x' }, { ip: '127.0.0.1', hostname: 'a.b', nodeName: 'A' }],
            ports: [
              { port: 0, protocol: 'X' },
              { name: 'B', port: 80 },
            ],
          },
        ],
      },
    ],
    ['an empty volume', '/persistentvolumes', {}],
    ['a volume of two sources', '/persistentvolumes', { spec: { ...volume, nfs: { server: 's', path: '/p' } } }],
    [
      'an invalid volume',
      '/persistentvolumes',
      {
        spec: {
          capacity: { cpu: '1' },
          accessModes: ['Sometimes'],
          hostPath: { path: '/a/../b' },
          volumeMode: 'X',
          persistentVolumeReclaimPolicy: 'X',
          storageClassName: 'A',
        },
      },
    ],
    ['a volume of negative size', '/persistentvolumes', { spec: { ...volume, capacity: { storage: '-1' } } }],
    [
      'a local volume without affinity',
      '/persistentvolumes',
      { spec: { ...volume, hostPath: undefined, local: { path: '/x' } } },
    ],
    [
      'a CSI volume without driver',
      '/persistentvolumes',
      { spec: { ...volume, hostPath: undefined, csi: { driver: '', volumeHandle: '' } } },
    ],
    [
      'an invalid NFS volume',
      '/persistentvolumes',
      { spec: { ...volume, hostPath: undefined, nfs: { server: '', path: 'x' } } },
    ],
    [
      'a volume with exclusive and other modes',
      '/persistentvolumes',
      { spec: { ...volume, accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] } },
    ],
    ['an empty claim', 'persistentvolumeclaims', {}],
    [
      'an invalid claim',
      'persistentvolumeclaims',
      {
        spec: {
          accessModes: ['X'],
          resources: { requests: { storage: '0' } },
          volumeMode: 'X',
          storageClassName: 'A',
          selector: { matchLabels: { 'a b': 'c' } },
        },
      },
    ],
    [
      'a claim from a bad source',
      'persistentvolumeclaims',
      { spec: { ...claim, dataSource: { kind: 'X', name: '' } } },
    ],
    [
      'a claim from two sources',
      'persistentvolumeclaims',
      {
        spec: {
          ...claim,
          dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
          dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
        },
      },
    ],
    ['a quota of unknown resources', 'resourcequotas', { spec: { hard: { widgets: '1' } } }],
    ['a quota of negative quantities', 'resourcequotas', { spec: { hard: { pods: '-1' } } }],
    ['a quota of fractional counts', 'resourcequotas', { spec: { hard: { pods: '500m' } } }],
    [
      'a quota of a scope that does not fit',
      'resourcequotas',
      { spec: { hard: { cpu: '1' }, scopes: ['BestEffort'] } },
    ],
    ['a quota of an unknown scope', 'resourcequotas', { spec: { hard: { pods: '1' }, scopes: ['X'] } }],
    [
      'a quota of opposite scopes',
      'resourcequotas',
      { spec: { hard: { pods: '1' }, scopes: ['BestEffort', 'NotBestEffort'] } },
    ],
    [
      'contradictory limits',
      'limitranges',
      { spec: { limits: [{ type: 'Container', min: { cpu: '2' }, max: { cpu: '1' } }] } },
    ],
    ['limits of unknown resources', 'limitranges', { spec: { limits: [{ type: 'X', max: { widgets: '1' } }] } }],
    [
      'duplicate limits',
      'limitranges',
      { spec: { limits: [{ type: 'Pod' }, { type: 'Pod', default: { cpu: '1' } }] } },
    ],
    ['limits of claims without storage', 'limitranges', { spec: { limits: [{ type: 'PersistentVolumeClaim' }] } }],
    [
      'limits with a small ratio',
      'limitranges',
      { spec: { limits: [{ type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } }] } },
    ],
    ['an event of another namespace', 'events', { involvedObject: { kind: 'Pod', name: 'p', namespace: 'other' } }],
    ['a node with bad taints', '/nodes', { spec: { taints: [{ key: 'a b', effect: 'X' }] } }],
    [
      'a node with the same taint twice',
      '/nodes',
      {
        spec: {
          taints: [
            { key: 'a', effect: 'NoExecute' },
            { key: 'a', effect: 'NoExecute' },
          ],
        },
      },
    ],
    ['a node with a bad range', '/nodes', { spec: { podCIDR: 'x', podCIDRs: ['x'] } }],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('a change', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    ['of the data of a config map', 'configmaps', { data: { a: 'b' } }, { data: { a: 'c' } }],
    [
      'of an immutable config map',
      'configmaps',
      { data: { a: 'b' }, immutable: true },
      { data: { a: 'c' }, binaryData: { x: '' }, immutable: false },
    ],
    [
      'of the labels of an immutable config map',
      'configmaps',
      { data: { a: 'b' }, immutable: true },
      { metadata: { labels: { x: 'y' } } },
    ],
    ['of the type of a secret', 'secrets', { type: 'a' }, { type: 'b' }],
    ['of a secret in plain text', 'secrets', { stringData: { a: 'b' } }, { stringData: { c: 'd' } }],
    [
      'of an immutable secret',
      'secrets',
      { stringData: { a: 'b' }, immutable: true },
      { data: { a: 'Yw==' }, immutable: null },
    ],
    [
      'of the source of a volume',
      '/persistentvolumes',
      { spec: volume },
      { spec: { hostPath: { path: '/other' }, volumeMode: 'Block' } },
    ],
    [
      'of the size of a volume',
      '/persistentvolumes',
      { spec: volume },
      { spec: { capacity: { storage: '2Gi' }, persistentVolumeReclaimPolicy: 'Delete' } },
    ],
    [
      'of the size of a claim that waits',
      'persistentvolumeclaims',
      { spec: claim },
      { spec: { resources: { requests: { storage: '2Gi' } } } },
    ],
    ['of the modes of a claim', 'persistentvolumeclaims', { spec: claim }, { spec: { accessModes: ['ReadOnlyMany'] } }],
    ['of the volume of a claim', 'persistentvolumeclaims', { spec: claim }, { spec: { volumeName: 'v' } }],
    ['of a claim to a class', 'persistentvolumeclaims', { spec: claim }, { spec: { storageClassName: 'fast' } }],
    [
      'of a quota',
      'resourcequotas',
      { spec: { hard: { pods: '1' } } },
      { spec: { hard: { pods: '2' }, scopes: ['Terminating'] } },
    ],
    [
      'of limits',
      'limitranges',
      { spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } },
      { spec: { limits: [{ type: 'Pod', max: { cpu: '1', memory: '1' }, min: { cpu: '5' } }] } },
    ],
    ['of the finalizers of a namespace', '/namespaces', {}, { spec: { finalizers: ['example.com/x'] } }],
    [
      'of the name label of a namespace',
      '/namespaces',
      {},
      { metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } } },
    ],
    [
      'of the range of a node',
      '/nodes',
      { spec: { podCIDR: '10.1.0.0/24' } },
      { spec: { podCIDR: '10.2.0.0/24', podCIDRs: ['10.2.0.0/24'] } },
    ],
    ['of the provider of a node', '/nodes', { spec: { providerID: 'a' } }, { spec: { providerID: 'b' } }],
    [
      'of endpoints',
      'endpoints',
      { subsets: [{ addresses: [address], ports: [{ port: 80 }] }] },
      { subsets: [{ addresses: [address], ports: [{ port: 0 }] }] },
    ],
  ])('%s', async (_what, plural, first, patch) => {
    expect(await tryChange(server, pathOf(plural), first, patch)).toMatchSnapshot()
  })

  it('of a claim is shown where it is immutable', async () => {
    const claims = pathOf('persistentvolumeclaims')
    const source = { kind: 'PersistentVolumeClaim', name: 's' }
    const spec = { ...claim, selector: { matchLabels: { a: 'b' } }, dataSource: source }
    await server.must('POST', claims, { body: { metadata: { name: 'shown' }, spec } })
    const body = { spec: { accessModes: ['ReadOnlyMany'], volumeName: 'v', selector: null, storageClassName: 'c' } }
    const type = 'application/merge-patch+json'
    const { body: refusal } = await server.call('PATCH', `${claims}/shown?dryRun=All`, { body, type })
    await server.call('PATCH', `${claims}/shown`, { body: { metadata: { finalizers: null } }, type })
    expect(at(refusal, 'message')).toMatchSnapshot()
  })

  it('may grow a bound claim, but not shrink it', async () => {
    const claims = pathOf('persistentvolumeclaims')
    const created = await server.must('POST', claims, { body: { metadata: { name: 'grow' }, spec: claim } })
    const status = { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] }
    const bound = await server.must('PUT', `${claims}/grow/status`, { body: { ...created, status } })
    for (const storage of ['2Gi', '512Mi']) {
      const body = { ...bound, spec: { ...(bound['spec'] as JsonObject), resources: { requests: { storage } } } }
      expect(outcomeOf(server, await server.call('PUT', `${claims}/grow?dryRun=All`, { body }))).toMatchSnapshot()
    }
  })
})
