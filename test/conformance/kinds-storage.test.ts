/** Classes of storage and what drivers report: what is filled in, refused, and may not change. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { outcomeOf, tryChange, tryCreate } from './outcome.ts'
import { openServer } from './server.ts'

const server = openServer()
let namespace = ''
beforeAll(async () => {
  namespace = await server.namespace()
})

const pathOf = (plural: string): string =>
  `/apis/storage.k8s.io/v1/${plural === 'csistoragecapacities' ? `namespaces/${namespace}/${plural}` : plural}`

const provisioner = 'csi.example.com'
const driver = { name: provisioner, nodeID: 'n' }
const source = { persistentVolumeName: 'v' }
const attachment = { attacher: provisioner, nodeName: 'n', source }

describe('a new object', () => {
  it.each<[string, string, JsonObject]>([
    ['storage class', 'storageclasses', { provisioner }],
    [
      'storage class that says all',
      'storageclasses',
      {
        provisioner,
        parameters: { a: 'b' },
        reclaimPolicy: 'Retain',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowVolumeExpansion: true,
        mountOptions: ['ro'],
        allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
      },
    ],
    ['driver', 'csidrivers', {}],
    [
      'driver of ephemeral volumes',
      'csidrivers',
      { spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral'], tokenRequests: [{ audience: 'a' }] } },
    ],
    [
      'node of drivers',
      'csinodes',
      { spec: { drivers: [{ ...driver, topologyKeys: ['zone'], allocatable: { count: 3 } }] } },
    ],
    ['node of no drivers', 'csinodes', {}],
    ['attachment', 'volumeattachments', { spec: attachment, status: { attached: true } }],
    [
      'capacity',
      'csistoragecapacities',
      { storageClassName: 'c', capacity: '1500Mi', nodeTopology: { matchLabels: { zone: 'a' } } },
    ],
    ['attributes class', 'volumeattributesclasses', { driverName: provisioner, parameters: { iops: '1' } }],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('rejects', () => {
  it.each<[string, string, JsonObject]>([
    ['a storage class without a provisioner', 'storageclasses', {}],
    [
      'an invalid storage class',
      'storageclasses',
      { provisioner: 'A b', parameters: { '': 'x' }, reclaimPolicy: 'X', volumeBindingMode: 'Y' },
    ],
    [
      'a storage class of bad topologies',
      'storageclasses',
      {
        provisioner,
        allowedTopologies: [
          {
            matchLabelExpressions: [
              { key: 'a b', values: [] },
              { key: 'z', values: ['a', 'a'] },
              { key: 'z', values: ['b'] },
            ],
          },
        ],
      },
    ],
    ['a driver of a bad name', 'csidrivers', { metadata: { name: 'a.'.repeat(40) + 'b' } }],
    [
      'an invalid driver',
      'csidrivers',
      {
        spec: {
          volumeLifecycleModes: ['X'],
          fsGroupPolicy: 'Y',
          tokenRequests: [{ audience: 'a', expirationSeconds: 1 }, { audience: 'a' }],
        },
      },
    ],
    ['a node of the same driver twice', 'csinodes', { spec: { drivers: [driver, driver] } }],
    [
      'a node of bad drivers',
      'csinodes',
      { spec: { drivers: [{ name: 'A_', nodeID: '', topologyKeys: ['a b', ''], allocatable: { count: -1 } }] } },
    ],
    ['an empty attachment', 'volumeattachments', { spec: { source: {} } }],
    [
      'an invalid attachment',
      'volumeattachments',
      { spec: { attacher: 'A_', nodeName: 'B_', source: { persistentVolumeName: 'C_' } } },
    ],
    [
      'an attachment of two sources',
      'volumeattachments',
      {
        spec: {
          ...attachment,
          source: {
            ...source,
            inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: { driver: provisioner, volumeHandle: 'x' } },
          },
        },
      },
    ],
    ['a capacity of no class', 'csistoragecapacities', { capacity: '-1', maximumVolumeSize: '-2' }],
    [
      'a capacity of bad topology',
      'csistoragecapacities',
      { storageClassName: 'A_', nodeTopology: { matchLabels: { 'a b': 'c' } } },
    ],
    ['an attributes class without a driver', 'volumeattributesclasses', {}],
    ['an attributes class without parameters', 'volumeattributesclasses', { driverName: 'A_', parameters: {} }],
  ])('%s', async (_what, plural, body) => {
    expect(await tryCreate(server, pathOf(plural), body)).toMatchSnapshot()
  })
})

describe('a change', () => {
  it.each<[string, string, JsonObject, JsonObject]>([
    [
      'of a storage class',
      'storageclasses',
      { provisioner },
      {
        provisioner: 'other.example.com',
        parameters: { a: 'b' },
        reclaimPolicy: 'Retain',
        volumeBindingMode: 'WaitForFirstConsumer',
      },
    ],
    [
      'of the expansion of a storage class',
      'storageclasses',
      { provisioner },
      { allowVolumeExpansion: true, mountOptions: ['ro'] },
    ],
    [
      'of a driver',
      'csidrivers',
      {},
      {
        spec: {
          attachRequired: false,
          storageCapacity: true,
          requiresRepublish: true,
          volumeLifecycleModes: ['Ephemeral'],
          podInfoOnMount: true,
          fsGroupPolicy: 'File',
          seLinuxMount: true,
        },
      },
    ],
    [
      'of a driver on a node',
      'csinodes',
      { spec: { drivers: [driver] } },
      { spec: { drivers: [{ ...driver, nodeID: 'other' }] } },
    ],
    [
      'of the drivers of a node',
      'csinodes',
      { spec: { drivers: [driver] } },
      { spec: { drivers: [driver, { name: 'two.example.com', nodeID: 'n' }] } },
    ],
    ['of an attachment', 'volumeattachments', { spec: attachment }, { spec: { nodeName: 'other' } }],
    [
      'of a capacity',
      'csistoragecapacities',
      { storageClassName: 'c', capacity: '1' },
      { capacity: '2', maximumVolumeSize: '1' },
    ],
    [
      'of the class of a capacity',
      'csistoragecapacities',
      { storageClassName: 'c', nodeTopology: {} },
      { storageClassName: 'd', nodeTopology: { matchLabels: { a: 'b' } } },
    ],
    [
      'of an attributes class',
      'volumeattributesclasses',
      { driverName: provisioner, parameters: { a: 'b' } },
      { driverName: 'other.example.com', parameters: { a: 'c' } },
    ],
  ])('%s', async (_what, plural, first, patch) => {
    expect(await tryChange(server, pathOf(plural), first, patch)).toMatchSnapshot()
  })
})

describe('the default storage class', () => {
  it('is set in claims without a class', async () => {
    const name = server.unique('class')
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
    await server.must('POST', pathOf('storageclasses'), {
      body: { metadata: { name, annotations }, provisioner, allowVolumeExpansion: true },
    })
    const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    // The real server learns of classes by watching them.
    const create = async (): Promise<JsonObject> =>
      await server.must('POST', `${claims}?dryRun=All`, { body: { metadata: { name: 'a' }, spec } })
    const wanted = (claim: JsonObject): boolean => (claim['spec'] as JsonObject)['storageClassName'] === name
    for (let attempt = 0; attempt < 500 && !wanted(await create()); attempt++) await server.call('GET', claims)
    const outcome = await tryCreate(server, claims, { spec })
    await server.call('DELETE', `${pathOf('storageclasses')}/${name}`)
    expect(outcome).toMatchSnapshot('no name')
    const none = await server.call('POST', `${claims}?dryRun=All`, {
      body: { metadata: { name: 'a' }, spec: { ...spec, storageClassName: '' } },
    })
    expect(outcomeOf(server, none)).toMatchSnapshot('an empty name')
  })
})
