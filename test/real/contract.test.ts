/** A program that keeps the contract, hosted on a real kube-apiserver; and inputs that are cut out of one. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { createSharedCache } from '../../src/cache/shared-cache.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { bare } from '../../src/contract/external/load-program.ts'
import { hostProgram } from '../../src/contract/external/program-host.ts'
import { inputsOfCluster, inputsOfGather } from '../../src/contract/directory/inputs.ts'
import type { Json } from '../../src/kube/json.ts'
import { formatApiVersion, type Resource } from '../../src/kube/kind.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import type { Ledger } from '../../src/operator/ledger.ts'
import { configMaps, deployments, namespaces } from '../embedded.ts'
import { kubectlFor } from './kubectl/kubectl.ts'

const shell = fileURLToPath(new URL('../contract/shell-operator.sh', import.meta.url))
const wish: UntypedObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'wish', namespace: 'shop', labels: { answer: 'wanted' } },
  data: { size: '4' },
}
let client: Client

beforeAll(async () => {
  const connection = await connectionFromKubeconfig(inject('cluster').kubeconfig, { clock: systemClock })
  client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
  await client.apply(
    namespaces,
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
    { fieldManager: 'test' },
  )
  await client.apply(configMaps, wish, { fieldManager: 'test' })
})
afterAll(async () => {
  for (const name of ['wish', 'answer']) await client.delete(configMaps, { namespace: 'shop', name })
  await client.close()
})

describe('the contract on a real server', () => {
  it('the output of a shell program is applied with its own field manager', async () => {
    const cache = createSharedCache({ client })
    const ran = Promise.withResolvers<Ledger>()
    const host = hostProgram(
      { program: { command: shell } },
      { operator: bare('shell'), client, cache, onLedger: ran.resolve },
    )
    await host.start()
    expect(await ran.promise).toMatchObject({ entries: [{ operation: 'created' }] })
    await host.idle()
    const made = await client.get(configMaps, { namespace: 'shop', name: 'answer' })
    expect(made).toMatchObject({ data: { amount: '4' } })
    expect(made.metadata.managedFields).toMatchObject([{ manager: 'shell', operation: 'Apply' }])
    await host.stop()
    cache.close()
  })

  it('its inputs are extracted with its discovery', async () => {
    const exact = { group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name: 'wish' }
    const { selected, namespaces: kept, extra } = await inputsOfCluster(client, { exactResources: [exact] })
    expect(selected.get('configmaps.')?.objects).toMatchObject([{ kind: 'ConfigMap', metadata: { name: 'wish' } }])
    expect(kept).toMatchObject([{ kind: 'Namespace', metadata: { name: 'shop' } }])
    expect([...(extra ?? [])].map(([name, value]) => [name, (value as { kind: string }).kind])).toEqual([
      ['aggregated-discovery-api.yaml', 'APIGroupDiscoveryList'],
      ['aggregated-discovery-apis.yaml', 'APIGroupDiscoveryList'],
    ])
  })
})

describe('the output of kubectl cluster-info dump', () => {
  const core = (kind: string, plural: string): Resource => ({ ...configMaps, kind, plural })
  const [pods, services, events] = [core('Pod', 'pods'), core('Service', 'services'), core('Event', 'events')] as const
  const dumped = [pods, services, events, deployments]
  const namespace = 'dumped'
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name: 'WORD', value: 'pässword "one"\nand two' }] }] },
  }
  const ports = [
    { name: 'http', port: 80, targetPort: 'http' },
    { name: 'https', port: 443 },
  ]
  const made: readonly (readonly [Resource, string, object])[] = [
    [deployments, 'web', { spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template } }],
    [pods, 'web-1', template],
    [pods, 'web-2', { spec: { ...template.spec, nodeName: 'none' } }],
    [services, 'web', { spec: { selector: { app: 'web' }, ports } }],
    [events, 'web.1', { involvedObject: { kind: 'Pod', name: 'web-1', namespace }, reason: 'Seen', type: 'Normal' }],
  ]

  /** As a person finds it there: not who owns which field, which kubectl leaves out. */
  const shown = (object: UntypedObject): Json => {
    const { managedFields: _owners, ...metadata } = object.metadata
    return { ...object, metadata } as unknown as Json
  }

  it('is read as the objects of the server', { timeout: 60_000 }, async () => {
    const kubectl = await kubectlFor(inject('cluster'))
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-dump-'))
    onTestFinished(async () => {
      for (const [resource, name] of made) {
        await client.delete(resource, { namespace, name }, { gracePeriodSeconds: 0 })
      }
      rmSync(folder, { recursive: true, force: true })
      await kubectl.close()
    })
    const owner = { fieldManager: 'test' }
    await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, owner)
    for (const [resource, name, more] of made) {
      const metadata = { name, namespace, labels: { app: 'web' } }
      const object = { apiVersion: formatApiVersion(resource), kind: resource.kind, ...more, metadata }
      await client.apply(resource, object, owner)
    }

    const [said] = await kubectl.transcript([
      `cluster-info dump --namespaces ${namespace} --output-directory ${folder}`,
    ])
    expect(said).toContain('Cluster info dumped')
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(['nodes.json', namespace]))
    const kindResources = dumped.map(({ group, version, plural }) => ({ group, version, resource: plural }))
    const read = await inputsOfGather(folder, { kindResources }, { strict: true })
    for (const resource of dumped) {
      const names = made.filter(([each]) => each === resource).map(([, name]) => name)
      // The server has events of its own.
      const isMade = ({ metadata }: UntypedObject): boolean => names.includes(metadata.name ?? '')
      const { items } = await client.list(resource, { namespace })
      const kind = { apiVersion: formatApiVersion(resource), kind: resource.kind }
      const there = items.filter(isMade).map((item) => shown(Object.assign({}, item, kind)))
      expect(there).toHaveLength(names.length)
      const found = read.selected.get(`${resource.plural}.${resource.group}`)?.objects ?? []
      expect(found.filter(isMade).map(shown)).toEqual(there)
    }
  })
})
