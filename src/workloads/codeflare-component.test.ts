import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { hostComponent, publishBundled } from '../../test/bundled-components.ts'
import { crds } from '../../test/embedded.ts'
import { platformEnvironment } from '../../test/platform-environment.ts'
import { ConfigMap, Deployment, Node, Secret, Service } from '../kube/kinds.ts'
import type { UntypedObject } from '../kube/object.ts'
import { registrationsOf } from '../manager/webhooks/registration.ts'
import { createCertificateAuthority } from '../pki/certificate-authority.ts'
import { AppWrapper } from './appwrapper/appwrapper.ts'
import { codeflareComponent } from './codeflare-component.ts'
import { workloadsOperator } from './workloads-operator.ts'

const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly name: string
  readonly exports: object
}
const namespace = 'muster-system'
const definition = 'appwrappers.workload.codeflare.dev'

const job: UntypedObject = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'training' },
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'main', image: 'training:1', resources: { requests: { cpu: '1' } } }],
      },
    },
  },
}

it('CodeFlare workloads are an operator that one field switches on and off, with the rights that it needs', async () => {
  const env = await platformEnvironment()
  const { client } = env
  await publishBundled(env, codeflareComponent())
  await env.declare([{ name: 'codeflare' }])
  await env.shows('codeflare', { state: 'Ready' })
  const { spec } = await client.get(Deployment, { name: 'workloads', namespace })
  const [command, module = '', ...more] = spec.template.spec!.containers[0]?.args ?? []
  expect([command, more]).toEqual(['run', ['--configmap', 'workloads']])
  expect(Object.keys(own.exports).map((part) => part.replace('.', own.name))).toContain(module)

  const component = await hostComponent(env, workloadsOperator, definition)
  const at = { name: 'training', namespace: 'default' }
  await client.create(Node, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n' },
    status: { capacity: { cpu: '4', memory: '8Gi', pods: '20' } },
  })
  await client.create(AppWrapper, {
    apiVersion: 'workload.codeflare.dev/v1beta2',
    kind: 'AppWrapper',
    metadata: at,
    spec: { components: [{ template: job }] },
  })
  await env.settle(60_000)
  expect((await client.get(AppWrapper, at)).status?.phase).toBe('Succeeded')
  await client.delete(AppWrapper, at)
  await env.settle(60_000)
  await env.gone(AppWrapper, at)

  // Its manager may register its webhooks at its Service, and the Platform leaves them as they are.
  const secret = { name: 'workloads-webhook-certificates', namespace }
  await component.patch(Secret, secret, { data: { key: 'QQ==' } }, { type: 'merge' })
  const validity = { from: Date.UTC(2026, 0, 2), until: Date.UTC(2060, 0, 1) }
  const { cert } = createCertificateAuthority({ commonName: 'ca', ...validity })
  const address = { service: { name: 'workloads-webhooks', namespace } }
  const registrations = registrationsOf('workloads', workloadsOperator, { address, bundle: cert, secret })
  expect(registrations).toHaveLength(3)
  for (const { resource, object } of registrations)
    await component.apply(resource, object, { fieldManager: 'muster-webhooks', force: true })
  // It may make the ConfigMap of its settings, which is no part of the Installation: people change it.
  const settings = { name: 'workloads', namespace }
  await component.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: settings, data: {} })
  await component.get(ConfigMap, settings)
  await env.settle(120_000)
  for (const one of registrations)
    expect(one.isCurrent(await client.get(one.resource, { name: one.object.metadata.name! }))).toBe(true)
  expect((await client.get(Secret, secret)).data).toEqual({ key: 'QQ==' })
  const { selector } = (await client.get(Service, { name: 'workloads-webhooks', namespace })).spec!
  expect(spec.template.metadata?.labels).toMatchObject(selector!)

  await env.change({ components: [{ name: 'codeflare', managementState: 'Removed' }] })
  await env.shows('codeflare', { state: 'Removed' })
  for (const name of [definition, 'quotasubtrees.quota.codeflare.dev']) await env.gone(crds, { name })
  for (const { resource, object } of registrations) await env.gone(resource, { name: object.metadata.name! })
  await env.gone(Deployment, { name: 'workloads', namespace })
})
