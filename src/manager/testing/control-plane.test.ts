import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps, widgetCrd, widgets } from '../../../test/embedded.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { startTestControlPlane, type TestControlPlane, type TestControlPlaneOptions } from './control-plane.ts'

async function start(options?: TestControlPlaneOptions): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(options)
  onTestFinished(() => plane.stop())
  return plane
}

async function clientOf(kubeconfig: string): Promise<Client> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-plane-'))
  const file = path.join(folder, 'kubeconfig')
  await writeFile(file, kubeconfig)
  const client = await connect({ kubeconfig: file })
  onTestFinished(async () => {
    await client.close()
    await rm(folder, { recursive: true })
  })
  return client
}

describe('a test control plane', () => {
  it('serves an administrator, and other users as RBAC says', async () => {
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default' } }
    const plane = await start({ objects: [widget, widgetCrd()] })
    const admin = await clientOf(plane.kubeconfig)
    await admin.create(configMaps, configMap('a'))
    expect((await admin.list(widgets)).items).toHaveLength(1)
    const ada = await clientOf(plane.kubeconfigOf({ name: 'ada', groups: ['dev'] }))
    await expect(ada.list(configMaps)).rejects.toMatchObject({
      message: expect.stringContaining('User "ada"') as string,
    })
  })

  it('has the controllers of a cluster, unless it is to be what envtest starts', async () => {
    const accounts = { group: '', version: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true }
    const whole = await clientOf((await start()).kubeconfig)
    const alone = await clientOf((await start({ controllerManager: false })).kubeconfig)
    expect((await whole.list(accounts, { namespace: 'default' })).items).toHaveLength(1)
    expect((await alone.list(accounts, { namespace: 'default' })).items).toHaveLength(0)
  })

  it('names the object that it cannot create', async () => {
    const object = { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'g' } }
    await expect(startTestControlPlane({ objects: [object] })).rejects.toThrow('example.com/v1 Gadget: no such kind')
  })
})
