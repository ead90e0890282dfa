import { beforeEach, describe, expect, it } from 'vitest'
import {
  configMapOf,
  expectConfigMapsProtected,
  expectControllersFree,
  expectWaysOut,
  expectWorkloadsProtected,
  protectionOf,
} from '../../../test/protection.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap, Namespace } from '../../kube/kinds.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { protectionKinds, protectionObjects, type ProtectionMode } from './protection-policy.ts'

let client: Client
const namespace = 'default'
const registration = 'admissionregistration.k8s.io/v1'
const [policies, bindings] = protectionKinds.map(({ kind }) =>
  resourceOf(registration, kind, {
    plural: kind.endsWith('Binding') ? 'validatingadmissionpolicybindings' : 'validatingadmissionpolicies',
    namespaced: false,
  }),
)

const protect = async (mode: ProtectionMode): Promise<void> => {
  const [policy, binding] = protectionObjects(mode)
  await client.create(policies!, policy!)
  await client.create(bindings!, binding!)
}

beforeEach(() => {
  client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
})

describe('installed objects', () => {
  it('are not edited or deleted by people', async () => {
    await protect('Deny')
    await expectConfigMapsProtected({ client, namespace })
  })

  it('that are workloads have replicas and resources that people may set', async () => {
    await protect('Deny')
    await expectWorkloadsProtected({ client, namespace })
  })

  it('may be edited and deleted after an annotation says so', async () => {
    await protect('Deny')
    await expectWaysOut({ client, namespace })
  })

  it('are free for the controllers of the cluster', async () => {
    await protect('Deny')
    await expectControllersFree({ client, namespace }, [
      'system:serviceaccount:kube-system:generic-garbage-collector',
      'system:serviceaccount:kube-system:namespace-controller',
      'system:kube-controller-manager',
      'system:apiserver',
      'system:node:a',
    ])
  })

  it('do not keep their namespace from being deleted', async () => {
    await protect('Deny')
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    await client.create(ConfigMap, configMapOf('shop', 'a'))
    await client.delete(Namespace, { name: 'shop' })
    await expect
      .poll(() => client.get(Namespace, { name: 'shop' }).catch((error: unknown) => String(error)), { timeout: 5000 })
      .toContain('not found')
  })

  it('are only warned about where the Platform says so', async () => {
    await protect('Warn')
    await client.create(ConfigMap, configMapOf(namespace, 'a'))
    await client.patch(ConfigMap, { name: 'a', namespace }, { data: { key: 'y' } }, { type: 'merge' })
    await client.delete(ConfigMap, { name: 'a', namespace })
    await expect(client.get(ConfigMap, { name: 'a', namespace })).rejects.toThrow('not found')
  })
})

it('the protection of one namespace leaves others alone', async () => {
  const [policy, binding] = protectionOf('Deny', 'default')
  await client.create(policies!, policy!)
  await client.create(bindings!, binding!)
  await expectConfigMapsProtected({ client, namespace })
  await expectWorkloadsProtected({ client, namespace })
  await expectWaysOut({ client, namespace })
  await client.create(ConfigMap, configMapOf('kube-system', 'a'))
  await client.delete(ConfigMap, { name: 'a', namespace: 'kube-system' })
})
