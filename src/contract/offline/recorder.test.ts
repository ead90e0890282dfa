import { describe, expect, it } from 'vitest'
import { configMap, configMaps, deployments, embedded } from '../../../test/embedded.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { actionOf, type RecordedMutation } from '../declaration/mutation.ts'
import { outputFiles } from '../directory/output-directory.ts'
import { recording } from './recorder.ts'
import { foldersOf, readOutputResources } from '../declaration/resource-list.ts'

const declared = readOutputResources(
  {
    configurationResources: {
      exactResources: [{ group: '', version: 'v1', resource: 'configmaps', namespace: 'default', name: 'a' }],
      generatedNameResources: [
        { group: '', version: 'v1', resource: 'configmaps', namespace: 'default', name: 'made-' },
      ],
    },
    managementResources: { kindResources: [{ group: 'apps', version: 'v1', resource: 'deployments' }] },
    userWorkloadResources: {
      exactResources: [{ group: '', version: 'v1', resource: 'configmaps', namespace: 'default', name: 'a' }],
      eventingNamespaces: ['default'],
    },
  },
  'test',
)

function recorded() {
  const { server, clock } = embedded()
  const mutations: RecordedMutation[] = []
  const transport = recording({
    transport: inProcessTransport(server),
    controller: 'c',
    record(mutation) {
      mutations.push(mutation)
      return foldersOf(declared, mutation).length > 0
    },
  })
  return { mutations, client: createClient({ transport, clock }) }
}

describe('a recorder', () => {
  it('records each mutating request under its contract name', async () => {
    const { mutations, client } = recorded()
    const ref = { namespace: 'default', name: 'a' }
    await client.create(configMaps, configMap('a', { k: 'v' }))
    await client.patch(configMaps, ref, [{ op: 'test', path: '/data/k', value: 'v' }], { type: 'json' })
    await client.patch(configMaps, ref, { data: { k: 'w' } }, { type: 'merge', fieldManager: 'me' })
    await client.update(configMaps, { ...(await client.get(configMaps, ref)) })
    await client.apply(configMaps, configMap('a', { x: 'y' }), { fieldManager: 'me', force: true })
    await client.delete(configMaps, ref, { propagation: 'Foreground' })
    const { metadata: _, ...rest } = configMap('x', {})
    await client.create(configMaps, { ...rest, metadata: { generateName: 'made-', namespace: 'default' } })
    expect(mutations.map(actionOf)).toEqual(['Create', 'Patch', 'Patch', 'Update', 'Apply', 'Delete', 'Create'])
    expect(mutations[1]).toMatchObject({
      patchType: 'application/json-patch+json',
      body: '- op: test\n  path: /data/k\n  value: v\n',
    })
    expect(mutations[2]).toMatchObject({
      patchType: 'application/merge-patch+json',
      fieldManager: 'me',
      body: '{"data":{"k":"w"}}',
    })
    expect(mutations[4]).toMatchObject({ fieldManager: 'me', options: { fieldManager: 'me', force: true } })
    expect(mutations[5]!.body).toBe('apiVersion: v1\nkind: DeleteOptions\npropagationPolicy: Foreground\n')
    expect(mutations[6]).toMatchObject({ name: '', generateName: 'made-' })
  })

  it('records the query of a Delete as its options, including preconditions', async () => {
    const { mutations, client } = recorded()
    const { uid } = (await client.create(configMaps, configMap('a', {}))).metadata
    const query = `dryRun=All&gracePeriodSeconds=3&propagationPolicy=Orphan&resourceVersion=7&uid=${uid}&timeout=3s`
    await client.request({ method: 'DELETE', path: `/api/v1/namespaces/default/configmaps/a?${query}` })
    expect(mutations[1]!.options).toEqual({
      dryRun: ['All'],
      gracePeriodSeconds: 3,
      propagationPolicy: 'Orphan',
      preconditions: { resourceVersion: '7', uid },
    })
  })

  it('rejects undeclared writes, and records them separately', async () => {
    const { mutations, client } = recorded()
    await expect(client.create(configMaps, configMap('b', {}))).rejects.toThrow(/does not declare it/)
    await expect(client.list(configMaps)).resolves.toMatchObject({ items: [] })
    const placed = mutations.map((mutation) => ({
      mutation,
      folders: foldersOf(declared, mutation),
      content: undefined,
    }))
    const files = [...outputFiles({ mutations: placed, results: [] }).keys()]
    expect(files.filter((name) => name.includes('-body-')).map((name) => name.split('/')[0])).toEqual(['Unspecified'])
  })

  it('assigns writes to clusters by their declaration: by kind, by name, by prefix, for events by namespace', () => {
    const at = (
      resource: string,
      name: string,
      generateName = '',
      group = '',
      namespace = 'default',
    ): RecordedMutation => ({
      verb: 'Create',
      type: { group, version: 'v9', resource },
      namespace,
      name,
      generateName,
      controller: '',
      body: '',
      options: {},
    })
    expect(foldersOf(declared, at('configmaps', 'a'))).toEqual(['Configuration', 'UserWorkload'])
    expect(foldersOf(declared, at('configmaps', 'a', '', '', 'other'))).toEqual([])
    expect(foldersOf(declared, at('configmaps', '', 'made-'))).toEqual(['Configuration'])
    expect(foldersOf(declared, at('configmaps', '', 'made-by-'))).toEqual([])
    expect(foldersOf(declared, at('configmaps', 'made-x7k2p'))).toEqual(['Configuration'])
    expect(foldersOf(declared, at('configmaps', 'made-by-hand'))).toEqual([])
    expect(foldersOf(declared, at(deployments.plural, 'any', '', 'apps'))).toEqual(['Management'])
    expect(foldersOf(declared, at('events', 'any'))).toEqual(['UserWorkload'])
    expect(foldersOf(declared, at('events', 'any', '', 'events.k8s.io'))).toEqual(['UserWorkload'])
    expect(foldersOf(declared, at('events', 'any', '', '', 'other'))).toEqual([])
  })
})
