/** The protection of installed objects, as the real kube-apiserver evaluates it. */
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { ConfigMap, Namespace } from '../../src/kube/kinds.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { resourceOf } from '../../src/kube/typed-resource.ts'
import {
  configMapOf,
  expectConfigMapsProtected,
  expectControllersFree,
  expectWaysOut,
  expectWorkloadsProtected,
  protectionOf,
} from '../protection.ts'
import { kubectlFor } from './kubectl/kubectl.ts'

const registration = 'admissionregistration.k8s.io/v1'
const kinds = [
  resourceOf(registration, 'ValidatingAdmissionPolicy', {
    plural: 'validatingadmissionpolicies',
    namespaced: false,
  }),
  resourceOf(registration, 'ValidatingAdmissionPolicyBinding'),
]
const namespace = `protection-${crypto.randomUUID().slice(0, 8)}`
/** A policy is asked some time after it is written. */
const patienceMs = 60_000

let client: Client
let policy: UntypedObject

beforeAll(async () => {
  const connection = await connectionFromKubeconfig(inject('cluster').kubeconfig)
  client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const objects = protectionOf('Deny', namespace)
  policy = await client.create(kinds[0]!, objects[0]!)
  await client.create(kinds[1]!, objects[1]!)
  await client.create(ConfigMap, configMapOf(namespace, 'canary'))
  const edit = async (): Promise<string> =>
    await client
      .patch(ConfigMap, { name: 'canary', namespace }, { data: { key: 'y' } }, { type: 'merge', dryRun: true })
      .then(
        () => 'accepted',
        (error: unknown) => String(error),
      )
  const isAsked = async (): Promise<void> => {
    const seen = await edit()
    if (!seen.includes('is managed by Installation shops/web')) throw new Error(seen)
  }
  await vi.waitFor(isAsked, patienceMs)
})
afterAll(async () => {
  for (const kind of kinds.toReversed()) await client.delete(kind, { name: policy.metadata.name! })
  // The server has no controllers that would empty the namespace.
  const { items } = await client.list(ConfigMap, { namespace })
  for (const { metadata } of items)
    await client.delete(ConfigMap, { name: metadata.name, namespace }, { preconditions: { uid: metadata.uid! } })
  await client.delete(Namespace, { name: namespace })
  await client.close()
})

describe('installed objects on kube-apiserver', () => {
  it('are not edited or deleted by people', { timeout: 60_000 }, async () => {
    await expectConfigMapsProtected({ client, namespace })
  })

  it('that are workloads have replicas and resources that people may set', { timeout: 60_000 }, async () => {
    await expectWorkloadsProtected({ client, namespace })
  })

  it('may be edited and deleted after an annotation says so', { timeout: 60_000 }, async () => {
    await expectWaysOut({ client, namespace })
  })

  it('are free for the controllers of the cluster', { timeout: 60_000 }, async () => {
    await expectControllersFree({ client, namespace }, [
      'system:serviceaccount:kube-system:generic-garbage-collector',
      'system:kube-controller-manager',
    ])
  })

  it('answer kubectl with a command that works', { timeout: 60_000 }, async () => {
    const kubectl = await kubectlFor(inject('cluster'))
    onTestFinished(() => kubectl.close())
    await client.create(ConfigMap, configMapOf(namespace, 'web'))
    const at = `configmap web -n ${namespace}`
    const [deleted = '', ...others] = await kubectl.transcript([
      `delete ${at}`,
      `delete ${at} --force --grace-period=0`,
      `patch ${at} --type=merge -p '{"data":{"key":"y"}}'`,
      `label ${at} platform.muster.dev/installation-`,
      `label ${at} more=x`,
    ])
    for (const seen of [deleted, ...others.slice(0, 3)]) expect(seen).toContain('is managed by Installation shops/web')
    expect(others[3]).toContain('configmap/web labeled')
    const [, command = ''] = /kubectl (annotate \S+ -n \S+ \S+ \S+=REASON)/.exec(deleted) ?? []
    const after = await kubectl.transcript([
      command,
      `patch ${at} --type=merge -p '{"data":{"key":"y"}}'`,
      `delete ${at}`,
    ])
    expect(after.map((seen) => seen.split('\n')[1])).toEqual([
      'configmap/web annotated',
      'configmap/web patched',
      `configmap "web" deleted from ${namespace} namespace`,
    ])
  })
})
