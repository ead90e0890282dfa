import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { configMap, configMaps, crds, embedded, namespaces, widgetCrd } from '../../test/embedded.ts'
import type { DeleteOptions } from '../client/client.ts'

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
    'takes what nobody owns any more, generation by generation: %o',
    async (options) => {
      const cluster = await family()
      await cluster.client.delete(configMaps, at('root'), options)
      await cluster.clock.settle()
      expect(await names(cluster)).toEqual(['other', 'shared'])
      const { metadata } = await cluster.client.get(configMaps, at('shared'))
      expect(metadata.ownerReferences?.map(({ name }) => name)).toEqual(['other'])
    },
  )

  it('lets go of the dependents when they are to be orphaned', async () => {
    const cluster = await family()
    await cluster.client.delete(configMaps, at('root'), { propagation: 'Orphan' })
    await cluster.clock.settle()
    expect(await names(cluster)).toEqual(['child', 'grandchild', 'other', 'shared'])
    expect((await cluster.client.get(configMaps, at('child'))).metadata.ownerReferences).toBeUndefined()
  })

  it('keeps an owner that goes in the foreground until its dependents are gone', async () => {
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

  it('takes an object that names an owner which is not there', async () => {
    const cluster = embedded()
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'ghost', uid: 'no-such-uid' }]
    await cluster.client.create(configMaps, configMap('a', {}, { ownerReferences }))
    await cluster.clock.settle()
    expect(await names(cluster)).toEqual([])
  })
})

describe('namespaces', () => {
  it('are emptied before they go, and take nothing new meanwhile', async () => {
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

describe('custom resource definitions', () => {
  it('come to rest, whichever names they ask for', async () => {
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
