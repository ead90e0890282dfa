import { describe, expect, it, onTestFinished } from 'vitest'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { configMap, configMaps, watching } from '../../../test/embedded.ts'
import { memcached as operator } from '../../../test/examples.ts'
import { harbourCoordinator, harbourOperator, pier, Ship, ship } from '../../../test/coordinator-operator.ts'
import { type RenderInput, site, siteOperator } from '../../../test/task-operator.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { fail } from '../../operator/failure.ts'
import { defineTask } from '../../operator/task/task.ts'
import { readInputs } from '../directory/input-directory.ts'
import { outputFiles } from '../directory/output-directory.ts'
import {
  fillOfflineServer,
  type OfflineServer,
  openOfflineServer,
  openOfflineWorld,
  type OfflineWorld,
} from './offline-world.ts'

const input = fileURLToPath(new URL('../../../examples/memcached/tests/creates/input-dir', import.meta.url))

const read = async (): Promise<readonly UntypedObject[]> => await readInputs(input, operator, { strict: true })
const open = async (objects: readonly UntypedObject[], seed = 1): Promise<OfflineWorld> =>
  await openOfflineWorld({ operator, objects, seed })
const written = async (world: OfflineWorld): Promise<ReadonlyMap<string, string>> => outputFiles(await world.run())

/** What the server has of everything that the operator reads or writes, versions and owners included. */
const left = async ({ client }: OfflineWorld): Promise<unknown> =>
  await Promise.all([...operator.inputs, ...operator.outputs].map((resource) => client.list(resource)))

function larger(object: UntypedObject): UntypedObject {
  return object.kind === 'Memcached' ? { ...object, spec: { size: 7 } } : object
}

describe('embedded clusters of one process', () => {
  it('are independent of earlier ones', async () => {
    const first = await open(await read())
    const [files, objects] = [await written(first), await left(first)]

    // The same names, and nothing else of it.
    const between = await open((await read()).map(larger), 2)
    expect(await written(between)).not.toEqual(files)

    const last = await open(await read())
    expect(await written(last)).toEqual(files)
    expect(await left(last)).toEqual(objects)
  })

  it('do not see writes of others', async () => {
    const [one, two] = [await open(await read()), await open(await read())]
    await one.run()
    const deployments = operator.outputs.find(({ kind }) => kind === 'Deployment')!
    expect((await one.client.list(deployments)).items).toHaveLength(1)
    expect((await two.client.list(deployments)).items).toEqual([])
    // Nor does a second run find what the first has made of the inputs that they share.
    const shared = await read()
    const [third, fourth] = [await open(shared), await open(shared)]
    expect(await written(third)).toEqual(await written(fourth))
  })
})

describe('an operator with a task', () => {
  it('waits for it, once for all CRs, and goes on', async () => {
    const ran: string[] = []
    const render = defineTask({
      name: 'render',
      async run({ chart }: RenderInput) {
        ran.push(chart)
        await sleepFor(5)
        return chart === 'web' ? 'rendered' : fail('NoSuchChart', `there is no chart ${chart}`)
      },
    })
    const objects = [site('a'), site('b'), site('c', 'none'), site('d', 'none')]
    const world = await openOfflineWorld({ operator: siteOperator(render), objects })
    const { ledgers, results } = await world.run()
    expect(ran).toEqual(['web', 'none'])
    expect(ledgers.map(({ key, failure }) => [key, failure?.reason])).toEqual([
      ['default/a', undefined],
      ['default/b', undefined],
      ['default/c', 'NoSuchChart'],
      ['default/d', 'NoSuchChart'],
    ])
    expect(results).toMatchObject([{ status: 'Failed' }])
    expect((await world.client.get(configMaps, { namespace: 'default', name: 'b-sites' }))['data']).toEqual({
      text: 'rendered',
    })
  })
})

describe('an operator with a coordinator', () => {
  const objects = [pier('one', 10), ship('a', { length: 6 }), ship('b', { length: 6 })]

  it('reads the decisions that a fresh list leads to', async () => {
    const world = await openOfflineWorld({ operator: harbourOperator(), objects })
    const { results } = await world.run()
    expect(results).toMatchObject([{ status: 'Succeeded' }])
    const { items } = await world.client.list(Ship)
    expect(items.map(({ metadata, status }) => [metadata.name, status?.isDocked])).toEqual([
      ['a', true],
      ['b', false],
    ])
  })

  it('fails where it fails', async () => {
    const coordinator = harbourCoordinator({
      onDecide() {
        throw new Error('no harbour master')
      },
    })
    const world = await openOfflineWorld({ operator: harbourOperator(coordinator), objects })
    const { results } = await world.run()
    expect(results[0]).toMatchObject({ status: 'Failed' })
    expect(results[0]?.errors[0]).toContain('no harbour master')
  })
})

describe('loaded objects behave as in their original cluster', () => {
  const helm = {
    manager: 'helm',
    operation: 'Apply',
    apiVersion: 'v1',
    time: '2025-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { 'f:color': {}, 'f:size': {} }, 'f:metadata': { 'f:labels': { 'f:tier': {} } } },
  }
  const gathered = (name: string, tier: string, version: string): object =>
    configMap(
      name,
      { color: 'red', size: '1' },
      { labels: { tier }, uid: `u-${name}`, resourceVersion: version, managedFields: [helm] },
    )

  async function ground(): Promise<OfflineServer> {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-world-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // One by itself, others in a list: their versions are those of another cluster.
    writeFileSync(path.join(folder, 'a.yaml'), JSON.stringify(gathered('a', 'front', '910000')))
    const items = [gathered('b', 'back', '120'), gathered('c', 'front', '55')]
    writeFileSync(path.join(folder, 'list.json'), JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMapList', items }))
    const made = await openOfflineServer({})
    await fillOfflineServer(made, folder)
    return made
  }
  const namesOf = (objects: readonly UntypedObject[]): readonly string[] =>
    objects.map(({ metadata }) => metadata.name ?? '').toSorted()
  const tier = (name: string, value: string): UntypedObject => configMap(name, {}, { labels: { tier: value } })
  const mine = { fieldManager: 'mine', force: true }

  it('selectors match them, and a watch continues from the list', async () => {
    const { client, clock } = await ground()
    const front = { labelSelector: 'tier in (front)' }
    const found = await client.list(configMaps, front)
    expect(namesOf(found.items)).toEqual(['a', 'c'])
    const field = await client.list(configMaps, { fieldSelector: 'metadata.name=b' })
    expect(namesOf(field.items)).toEqual(['b'])

    const watcher = watching(client, configMaps, { ...front, resourceVersion: found.metadata.resourceVersion! })
    await client.apply(configMaps, tier('b', 'front'), mine)
    await client.apply(configMaps, tier('a', 'back'), mine)
    await client.apply(configMaps, configMap('c', { more: 'x' }), mine)
    await client.delete(configMaps, { namespace: 'default', name: 'c' })
    await clock.settle()
    watcher.stop()
    expect(watcher.events).toEqual(['ADDED b', 'DELETED a', 'MODIFIED c', 'DELETED c'])
  })

  it('caches hold and follow them', async () => {
    const { client, clock } = await ground()
    const cache = createSharedCache({ client, clock })
    onTestFinished(() => cache.close())
    const events: string[] = []
    const held = cache.subscribe(configMaps, {
      consumer: 'test',
      labels: 'tier=front',
      onEvent: ({ type, object }) => void events.push(`${type} ${object.metadata.name}`),
    })
    await clock.settle()
    await held.synced()
    expect(namesOf(held.list())).toEqual(['a', 'c'])
    await client.apply(configMaps, tier('b', 'front'), mine)
    await client.delete(configMaps, { namespace: 'default', name: 'a' })
    await clock.settle()
    expect(events.toSorted()).toEqual(['added a', 'added b', 'added c', 'deleted a'])
    expect(namesOf(held.list())).toEqual(['b', 'c'])
  })

  it('fields keep their owners: other managers conflict with them, and owners may release them', async () => {
    const { client } = await ground()
    const ref = { namespace: 'default', name: 'a' }
    expect((await client.get(configMaps, ref)).metadata).toMatchObject({ uid: 'u-a', managedFields: [helm] })

    await expect(client.apply(configMaps, configMap('a', { color: 'blue' }), { fieldManager: 'mine' })).rejects.toThrow(
      /conflict with "helm"[\s\S]*\.data\.color/,
    )
    const shared = await client.apply(configMaps, configMap('a', { shape: 'round' }), { fieldManager: 'mine' })
    expect(shared).toMatchObject({ data: { color: 'red', size: '1', shape: 'round' } })
    expect(shared.metadata.managedFields).toMatchObject([
      { manager: 'helm', operation: 'Apply', fieldsV1: helm.fieldsV1 },
      { manager: 'mine', operation: 'Apply', fieldsV1: { 'f:data': { 'f:shape': {} } } },
    ])

    // What its owner no longer applies is gone; what is another's stays.
    const less = configMap('a', { color: 'red' }, { labels: { tier: 'front' } })
    const given = await client.apply(configMaps, less, { fieldManager: 'helm' })
    expect(given['data']).toEqual({ color: 'red', shape: 'round' })
  })
})
