import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import { type ServerListener, startListener } from '../../apiserver/http/listener.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { stringifyJson } from '../../kube/json.ts'
import { ClusterRoleBinding, Namespace, Secret, ServiceAccount } from '../../kube/kinds.ts'
import { embedded } from '../../../test/embedded.ts'
import type { ClusterSettings } from '../config/settings.ts'
import type { Reached } from './clusters.ts'
import { reachCluster } from './cluster-connection.ts'

const settings = { secret: 'clusters/west', secretKey: 'kubeconfig' } as ClusterSettings
const account = (name: string) => ({ name, namespace: 'default' })

let local: Client
/** The other cluster, and its administrator. */
let west: ServerListener
let admin: Client
let reached: Reached | undefined
beforeEach(async () => {
  local = embedded().client
  const server = createApiServer({ clock: systemClock })
  west = await startListener(server, { clock: systemClock })
  admin = createClient({ transport: inProcessTransport(server), clock: systemClock })
  await admin.create(ClusterRoleBinding, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'managers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:serviceaccounts' }],
  })
  await local.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'clusters' } })
})
afterEach(async () => {
  await reached?.client.close()
  reached = undefined
  await west.close()
})

/** A token is good for as long as its account is there. */
async function mint(name: string): Promise<string> {
  await admin.create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account(name) })
  return (await admin.createToken(account(name))).token
}

async function revoke(name: string): Promise<void> {
  await admin.delete(ServiceAccount, account(name))
}

function kubeconfig(token: string, server = west.url): string {
  return stringifyJson({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'west',
    contexts: [{ name: 'west', context: { cluster: 'west', user: 'manager' } }],
    clusters: [
      { name: 'west', cluster: { server, 'certificate-authority-data': Buffer.from(west.ca).toString('base64') } },
    ],
    users: [{ name: 'manager', user: { token } }],
  })
}

async function keep(text: string): Promise<void> {
  const metadata = { name: 'west', namespace: 'clusters' }
  const data = { kubeconfig: Buffer.from(text).toString('base64') }
  await local.apply(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data }, { fieldManager: 'test' })
}

async function reach(): Promise<Client> {
  reached = await reachCluster('west', settings, local, { clock: systemClock })
  return reached.client
}

describe('a cluster with a kubeconfig in a Secret', () => {
  it('uses the new content of the Secret when the server rejects the old one', async () => {
    await keep(kubeconfig(await mint('first')))
    const client = await reach()
    await client.get(Namespace, { name: 'default' })
    await keep(kubeconfig(await mint('second')))
    await revoke('first')
    // A burst: each of them is refused, one of them has it read again, and all of them are answered.
    const asked = Array.from({ length: 10 }, () => client.get(Namespace, { name: 'default' }))
    expect((await Promise.all(asked)).map(({ metadata }) => metadata.name)).toEqual(asked.map(() => 'default'))
  })

  it('is rejected until the Secret is renewed', async () => {
    await keep(kubeconfig(await mint('first')))
    const client = await reach()
    await revoke('first')
    await expect(client.get(Namespace, { name: 'default' })).rejects.toMatchObject({ name: 'Unauthorized' })
  })

  it('follows another server address, with the credentials for that one', async () => {
    await keep(kubeconfig(await mint('first')))
    const client = await reach()
    await revoke('first')
    await keep(kubeconfig('elsewhere', 'https://127.0.0.1:1'))
    const failing = client.get(Namespace, { name: 'default' }, { timeoutMs: 1000 })
    await expect(failing).rejects.toThrow('127.0.0.1:1')
    await expect(failing).rejects.not.toThrow('elsewhere')
    expect(reached?.address?.server).toBe('https://127.0.0.1:1')
  })

  it('reports what is missing in the Secret', async () => {
    await local.create(Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'west', namespace: 'clusters' },
    })
    await expect(reach()).rejects.toThrow('clusters.west.secretKey: Secret clusters/west has no key kubeconfig.')
  })
})
