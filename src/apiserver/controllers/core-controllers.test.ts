import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { configMap, configMaps, crds, embedded, namespaces, widgetCrd } from '../../../test/embedded.ts'
import type { DeleteOptions } from '../../client/client.ts'

type Cluster = ReturnType<typeof embedded>

const at = (name: string, namespace = 'default'): { readonly namespace: string; readonly name: string } => ({
  namespace,
  name,
})

async function owned({ client }: Cluster, name: string, ...owners: readonly string[]): Promise<void> {
  const ownerReferences = await Promise.all(
    owners.map(async (owner) => {
      const { uid } = (await client.get(configMaps, at(owner))).metadata
      return { apiVersion: 'v1', kind: 'ConfigMap', name: owner, uid, blockOwnerDeletion: true }
    }),
  )
  await client.create(configMaps, configMap(name, {}, { ownerReferences }))
}

async function names({ client }: Cluster): Promise<readonly (string | undefined)[]> {
  return (await client.list(configMaps)).items.map(({ metadata }) => metadata.name)
}

/** `root` owns `child`, which owns `grandchild`; `shared` belongs to `root` and `other`. */
async function family(): Promise<Cluster> {
  const cluster = embedded()
  await cluster.client.create(configMaps, configMap('root'))
  await cluster.client.create(configMaps, configMap('other'))
  await owned(cluster, 'child', 'root')
  await owned(cluster, 'grandchild', 'child')
  await owned(cluster, 'shared', 'root', 'other')
  return cluster
}

describe('garbage collection', () => {
  it.each<DeleteOptions>([{}, { propagation: 'Background' }, { propagation: 'Foreground' }])(
    'deletes objects without owners, generation by generation: %o',
    async (options) => {
      const cluster = await family()
      await cluster.client.delete(configMaps, at('root'), options)
      await cluster.clock.settle()
      expect(await names(cluster)).toEqual(['other', 'shared'])
      const { metadata } = await cluster.client.get(configMaps, at('shared'))
      expect(metadata.ownerReferences?.map(({ name }) => name)).toEqual(['other'])
    },
  )

  it('orphans dependents on request', async () => {
    const cluster = await family()
    await cluster.client.delete(configMaps, at('root'), { propagation: 'Orphan' })
    await cluster.clock.settle()
    expect(await names(cluster)).toEqual(['child', 'grandchild', 'other', 'shared'])
    expect((await cluster.client.get(configMaps, at('child'))).metadata.ownerReferences).toBeUndefined()
  })

  it('keeps an owner deleted in the foreground until its dependents are gone', async () => {
    const cluster = await family()
    const hold = { metadata: { finalizers: ['example.com/hold'] } }
    await cluster.client.patch(configMaps, at('child'), hold, { type: 'merge' })
    await cluster.client.delete(configMaps, at('root'), { propagation: 'Foreground' })
    await cluster.clock.settle()
    expect((await cluster.client.get(configMaps, at('root'))).metadata.finalizers).toEqual(['foregroundDeletion'])
    await cluster.client.patch(configMaps, at('child'), { metadata: { finalizers: null } }, { type: 'merge' })
    await cluster.clock.settle()
    expect(await names(cluster)).toEqual(['other', 'shared'])
  })

  it('deletes an object whose owner does not exist', async () => {
    const cluster = embedded()
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'ghost', uid: 'no-such-uid' }]
    await cluster.client.create(configMaps, configMap('a', {}, { ownerReferences }))
    await cluster.clock.settle()
    expect(await names(cluster)).toEqual([])
  })
})

describe('namespaces', () => {
  it('are emptied before they are removed, and accept no new objects meanwhile', async () => {
    const { client, clock } = embedded()
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    await client.create(configMaps, configMap('free', {}, { namespace: 'team' }))
    await client.create(configMaps, configMap('held', {}, { namespace: 'team', finalizers: ['example.com/hold'] }))
    await client.delete(namespaces, { name: 'team' })
    await clock.settle()
    expect(await client.get(namespaces, { name: 'team' })).toMatchObject({ status: { phase: 'Terminating' } })
    expect((await client.list(configMaps)).items.map(({ metadata }) => metadata.name)).toEqual(['held'])
    await expect(client.create(configMaps, configMap('late', {}, { namespace: 'team' }))).rejects.toThrow(
      'configmaps "late" is forbidden: unable to create new content in namespace team because it is being terminated',
    )
    await client.patch(configMaps, at('held', 'team'), { metadata: { finalizers: null } }, { type: 'merge' })
    await clock.settle()
    await expect(client.get(namespaces, { name: 'team' })).rejects.toMatchObject({ name: 'NotFound' })
  })
})

describe('a namespace that is being deleted', () => {
  const conditionsOf = (namespace: object): Readonly<Record<string, string>> => {
    const { conditions } = (
      namespace as { readonly status: { readonly conditions: readonly Readonly<Record<string, string>>[] } }
    ).status
    return Object.fromEntries(
      conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
    )
  }

  it('reports in conditions what is left in it, and by which finalizers', async () => {
    const { client, clock } = embedded()
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    await client.create(
      configMaps,
      configMap('a', {}, { namespace: 'team', finalizers: ['example.com/a', 'example.com/b'] }),
    )
    await client.create(configMaps, configMap('b', {}, { namespace: 'team', finalizers: ['example.com/b'] }))
    await client.delete(namespaces, { name: 'team' })
    await clock.settle()
    expect(conditionsOf(await client.get(namespaces, { name: 'team' }))).toEqual({
      NamespaceDeletionDiscoveryFailure: 'False ResourcesDiscovered: All resources successfully discovered',
      NamespaceDeletionGroupVersionParsingFailure:
        'False ParsedGroupVersions: All legacy kube types successfully parsed',
      NamespaceDeletionContentFailure:
        'False ContentDeleted: All content successfully deleted, may be waiting on finalization',
      NamespaceContentRemaining:
        'True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances',
      NamespaceFinalizersRemaining:
        'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances, example.com/b in 2 resource instances',
    })
    await client.patch(configMaps, at('a', 'team'), { metadata: { finalizers: ['example.com/a'] } }, { type: 'merge' })
    await clock.settle()
    expect(conditionsOf(await client.get(namespaces, { name: 'team' }))['NamespaceFinalizersRemaining']).toBe(
      'True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/a in 1 resource instances, example.com/b in 1 resource instances',
    )
  })

  it('keeps the finalizers of other controllers, and reports that its content is gone', async () => {
    const { client, clock } = embedded()
    const spec = { finalizers: ['example.com/hold', 'kubernetes'] }
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' }, spec })
    await client.create(configMaps, configMap('a', {}, { namespace: 'team' }))
    await client.delete(namespaces, { name: 'team' })
    await clock.settle()
    const left = await client.get(namespaces, { name: 'team' })
    expect(left).toMatchObject({ spec: { finalizers: ['example.com/hold'] }, status: { phase: 'Terminating' } })
    expect(conditionsOf(left)['NamespaceContentRemaining']).toBe(
      'False ContentRemoved: All content successfully removed',
    )
  })

  it('deletes its pods first', async () => {
    const { client, clock } = embedded()
    const pods = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    await client.create(configMaps, configMap('a', {}, { namespace: 'team' }))
    await client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'team', finalizers: ['example.com/hold'] },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })
    await client.delete(namespaces, { name: 'team' })
    await clock.settle()
    expect((await client.get(pods, at('p', 'team'))).metadata.deletionTimestamp).toBeDefined()
    expect((await client.get(configMaps, at('a', 'team'))).metadata.deletionTimestamp).toBeUndefined()
    await client.patch(pods, at('p', 'team'), { metadata: { finalizers: null } }, { type: 'merge' })
    await clock.settle()
    await expect(client.get(namespaces, { name: 'team' })).rejects.toMatchObject({ name: 'NotFound' })
  })
})

describe('the Service of the API server', () => {
  const endpoints = { group: '', version: 'v1', kind: 'Endpoints', plural: 'endpoints', namespaced: true }
  const ranges = {
    group: 'networking.k8s.io',
    version: 'v1',
    kind: 'ServiceCIDR',
    plural: 'servicecidrs',
    namespaced: false,
  }
  const services = { group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true }
  const slices = {
    group: 'discovery.k8s.io',
    version: 'v1',
    kind: 'EndpointSlice',
    plural: 'endpointslices',
    namespaced: true,
  }

  it('has endpoints and a slice, and is recreated when a client deletes it', async () => {
    const { client, clock } = embedded()
    const read = async (): Promise<readonly object[]> => [
      await client.get(services, at('kubernetes')),
      await client.get(endpoints, at('kubernetes')),
      await client.get(slices, at('kubernetes')),
      await client.get(ranges, { name: 'kubernetes' }),
    ]
    const expected = [
      { spec: { ports: [{ name: 'https', port: 443, targetPort: 6443 }] } },
      {
        metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
        subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] }],
      },
      {
        metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
        ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
      },
      { spec: { cidrs: ['10.0.0.0/16'] }, status: { conditions: [{ type: 'Ready', status: 'True' }] } },
    ]
    expect(await read()).toMatchObject(expected)
    for (const kind of [services, endpoints, slices]) await client.delete(kind, at('kubernetes'))
    await client.delete(ranges, { name: 'kubernetes' })
    await clock.settle()
    expect(await read()).toMatchObject(expected)
  })
})

describe('custom resource definitions', () => {
  it('reach a stable state, whichever names they request', async () => {
    const word = fc.constantFrom('ants', 'bees', 'cats')
    const kind = fc.constantFrom('Ant', 'Bee', 'Cat')
    const step = fc.record({
      plural: word,
      names: fc.record({
        kind,
        listKind: kind.map((one) => `${one}List`),
        singular: word,
        shortNames: fc.uniqueArray(word),
      }),
      does: fc.constantFrom('create', 'create', 'rename', 'delete'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        const { client, clock, raw } = embedded()
        const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
        for (const { plural, names: wanted, does } of steps) {
          const crd = widgetCrd() as unknown as { readonly spec: object }
          const name = `${plural}.example.com`
          const body = { ...crd, metadata: { name }, spec: { ...crd.spec, names: { ...wanted, plural } } }
          if (does === 'create') await raw('POST', path, { body })
          const headers = { 'content-type': 'application/merge-patch+json' }
          if (does === 'rename') await raw('PATCH', `${path}/${name}`, { headers, body: { spec: { names: wanted } } })
          if (does === 'delete') await raw('DELETE', `${path}/${name}`)
        }
        await clock.settle()
        const { items, metadata } = await client.list(crds)
        // A request is one write, and lets each of three definitions take a few steps.
        expect(Number(metadata.resourceVersion)).toBeLessThan(200 + steps.length * 20)
        const taken = items.flatMap((item) => {
          const { acceptedNames } = item['status'] as { readonly acceptedNames: { readonly kind: string } }
          return acceptedNames.kind === '' ? [] : [acceptedNames.kind]
        })
        expect(new Set(taken).size).toBe(taken.length)
      }),
      { numRuns: 40 },
    )
  })
})
