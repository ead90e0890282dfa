import { describe, expect, it } from 'vitest'
import { crds, embedded, widget, widgetCrd, widgets, watching } from '../../../test/embedded.ts'

const at = { namespace: 'default', name: 'w' }

async function withWidgets(): Promise<ReturnType<typeof embedded>> {
  const cluster = embedded()
  await cluster.client.create(crds, widgetCrd())
  return cluster
}

describe('custom resources', () => {
  it('are served, discovered and established the moment their definition is created', async () => {
    const { client } = embedded()
    await expect(client.list(widgets)).rejects.toMatchObject({ name: 'KindNotServed' })
    const created = await client.create(crds, widgetCrd())
    expect(created).toMatchObject({ metadata: { generation: 1 }, status: { conditions: null, storedVersions: ['v1'] } })
    expect(await client.get(crds, { name: 'widgets.example.com' })).toMatchObject({
      status: {
        storedVersions: ['v1'],
        acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        conditions: [
          { type: 'NamesAccepted', status: 'True' },
          { type: 'Established', status: 'True' },
        ],
      },
    })
    client.discovery.invalidate()
    expect(await client.discovery.resourceFor(widgets)).toMatchObject({ plural: 'widgets', namespaced: true })
    expect((await client.list(widgets)).kind).toBe('WidgetList')
  })

  it('are defaulted and pruned by their schema, and rejected if a type is wrong', async () => {
    const { client } = await withWidgets()
    const created = await client.create(widgets, widget('w', { colour: 'red', free: { any: { thing: 1 } } }))
    expect(created['spec']).toEqual({ replicas: 1, free: { any: { thing: 1 } } })
    expect(created.metadata.generation).toBe(1)
    await expect(client.create(widgets, widget('x', { replicas: 'many' }))).rejects.toMatchObject({ name: 'Invalid' })
  })

  it('have status and scale endpoints if the definition enables them', async () => {
    const { client } = await withWidgets()
    const created = await client.create(widgets, { ...widget('w'), status: { ready: true } })
    expect(created).not.toHaveProperty('status')
    const status = await client.patch(
      widgets,
      at,
      { status: { ready: true }, spec: { replicas: 9 } },
      { type: 'merge', subresource: 'status' },
    )
    expect(status).toMatchObject({ status: { ready: true }, spec: { replicas: 1 }, metadata: { generation: 1 } })
    expect((await client.setScale(widgets, at, 3)).spec.replicas).toBe(3)
    expect((await client.get(widgets, at)).metadata.generation).toBe(2)
  })

  it('support the selectable fields of their definition', async () => {
    const { client } = await withWidgets()
    await client.create(widgets, widget('red', { color: 'red' }))
    await client.create(widgets, widget('blue', { color: 'blue' }))
    const { items } = await client.list(widgets, { fieldSelector: 'spec.color=red' })
    expect(items.map(({ metadata, kind }) => [metadata.name, kind])).toEqual([['red', 'Widget']])
    await expect(client.list(widgets, { fieldSelector: 'spec.size=1' })).rejects.toThrow(
      'field label not supported: spec.size',
    )
  })

  it('require a resourceVersion for an update', async () => {
    const { client } = await withWidgets()
    await client.create(widgets, widget('w'))
    await expect(client.update(widgets, widget('w'))).rejects.toThrow(
      'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )
  })

  it('are deleted with their definition, which ends their watches', async () => {
    const { client, clock } = await withWidgets()
    await client.create(widgets, widget('w', {}, { finalizers: ['example.com/hold'] }))
    const watcher = watching(client, widgets)
    await clock.settle()
    await client.delete(crds, { name: 'widgets.example.com' })
    await clock.settle()
    // A finalizer keeps the object, and the object keeps the definition.
    expect((await client.get(crds, { name: 'widgets.example.com' })).metadata.deletionTimestamp).toBeDefined()
    await client.patch(widgets, at, { metadata: { finalizers: null } }, { type: 'merge' })
    await clock.settle()
    expect(watcher.events).toEqual(['ADDED w', 'MODIFIED w', 'DELETED w'])
    expect(watcher.ended()).toBe(true)
    await expect(client.list(widgets)).rejects.toMatchObject({ name: 'KindNotServed' })
    await expect(client.get(crds, { name: 'widgets.example.com' })).rejects.toMatchObject({ name: 'NotFound' })
  })

  it('are not served under names of other kinds', async () => {
    const { client } = await withWidgets()
    const other = structuredClone(widgetCrd()) as unknown as {
      metadata: { name: string }
      spec: { names: { plural: string } }
    }
    other.metadata.name = 'gadgets.example.com'
    other.spec.names.plural = 'gadgets'
    await client.create(crds, other as unknown as ReturnType<typeof widgetCrd>)
    expect(await client.get(crds, { name: 'gadgets.example.com' })).toMatchObject({
      status: { conditions: [{ type: 'NamesAccepted', status: 'False' }, { status: 'False' }] },
    })
    await expect(client.list({ ...widgets, plural: 'gadgets' })).rejects.toMatchObject({ name: 'KindNotServed' })
  })

  it('need a valid definition', async () => {
    const { client } = embedded()
    const wrong = { ...widgetCrd(), metadata: { name: 'wrong' } }
    await expect(client.create(crds, wrong)).rejects.toThrow('must be spec.names.plural+"."+spec.group')
  })
})
