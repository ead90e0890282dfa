/** A program that keeps the contract, hosted on a real kube-apiserver; and inputs that are cut out of one. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createSharedCache } from '../../src/cache/shared-cache.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { bare } from '../../src/contract/external/load-program.ts'
import { hostProgram } from '../../src/contract/external/program-host.ts'
import { inputsOfCluster } from '../../src/contract/inputs.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import type { Ledger } from '../../src/operator/ledger.ts'
import { configMaps, namespaces } from '../embedded.ts'

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
  it('what a program in shell wants is applied as its own', async () => {
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

  it('its inputs are cut out of it, with its discovery', async () => {
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
