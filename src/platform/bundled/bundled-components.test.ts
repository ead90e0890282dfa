import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { hostComponent, publishBundled } from '../../../test/bundled-components.ts'
import { platformEnvironment } from '../../../test/platform-environment.ts'
import { Deployment } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { DataScienceCluster } from '../facade/data-science-cluster.ts'
import { openDataHubOperator } from '../facade/operators.ts'
import { Installation } from '../installation/installation.ts'
import { bundledComponents } from './bundled-components.ts'

const own = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly name: string
  readonly version: string
  readonly exports: object
}
const PriorityClass: TypedResource<UntypedObject> = resourceOf('scheduling.k8s.io/v1', 'PriorityClass')
const Notice: TypedResource<UntypedObject> = resourceOf('bundled.platform.muster.dev/v1', 'Notice', {
  plural: 'notices',
  namespaced: false,
})

it('the façade of Open Data Hub is an operator that one field switches on, with the rights that it needs', async () => {
  const env = await platformEnvironment()
  await publishBundled(env, bundledComponents())
  await env.declare([{ name: 'open-data-hub' }])
  await env.shows('open-data-hub', { state: 'Ready' })
  const at = { name: 'muster-open-data-hub', namespace: 'muster-system' }
  const [container] = (await env.client.get(Deployment, at)).spec.template.spec!.containers
  const [command, module = ''] = container?.args ?? []
  expect([command, container?.image]).toEqual(['run', `muster-dev/muster:${own.version}`])
  expect(Object.keys(own.exports).map((part) => part.replace('.', own.name))).toContain(module)

  await hostComponent(env, openDataHubOperator, 'datascienceclusters.datasciencecluster.opendatahub.io')
  const components = { 'priority-classes': { managementState: 'Managed' } }
  await env.client.create(DataScienceCluster, {
    apiVersion: 'datasciencecluster.opendatahub.io/v2',
    kind: 'DataScienceCluster',
    metadata: { name: 'default-dsc' },
    spec: { components },
  })
  await env.settle(60_000)
  await env.shows('priority-classes', { state: 'Ready' })
  expect((await env.client.get(DataScienceCluster, { name: 'default-dsc' })).status).toMatchObject({
    phase: 'Ready',
    installedComponents: { 'priority-classes': true },
  })
  // It waits for the DataScienceCluster of the user.
  await env.change({ components: [{ name: 'open-data-hub', managementState: 'Removed' }] })
  await env.says('open-data-hub', 'Deleting', 'DataScienceCluster default-dsc')
  await env.client.delete(DataScienceCluster, { name: 'default-dsc' })
  await env.shows('open-data-hub', { state: 'Removed' })
})

it('the bundled components are installed together, and removed without a trace but their namespaces', async () => {
  const env = await platformEnvironment()
  await publishBundled(env, bundledComponents())
  const names = bundledComponents()
    .filter(({ kind }) => kind === 'Component')
    .map(({ metadata }) => metadata.name!)
  await env.declare(names.map((name) => ({ name })))
  const { status } = await env.platform()
  expect(status?.components?.map(({ name, state }) => `${name} ${state}`)).toEqual(names.map((name) => `${name} Ready`))
  expect(await env.client.get(PriorityClass, { name: 'platform-high' })).toMatchObject({ value: 10_000 })
  expect(await env.client.get(Notice, { name: 'welcome' })).toBeDefined()
  await env.change({ components: [] })
  const after = (await env.platform()).status
  expect(after?.state).toBe('Ready')
  expect(after?.components ?? []).toEqual([])
  expect((await env.client.list(Installation)).items).toEqual([])
  await expect(env.client.get(PriorityClass, { name: 'platform-high' })).rejects.toThrow('not found')
})
