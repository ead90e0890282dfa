import { readFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { crds } from '../../../test/embedded.ts'
import { type PlatformEnvironment, platformEnvironment } from '../../../test/platform-environment.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import { Deployment } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { hostOperator } from '../../manager/hosting/host.ts'
import type { Operator } from '../../operator/operator.ts'
import { Component } from '../catalogue/component.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { DataScienceCluster } from '../facade/data-science-cluster.ts'
import { openDataHubOperator } from '../facade/operators.ts'
import { Installation } from '../installation/installation.ts'
import { bundledComponents } from './bundled-components.ts'

const kinds: readonly TypedResource[] = [Component, ComponentVersion]
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

/** As a Pod of the component does: as its service account. */
async function hosted(env: PlatformEnvironment, operator: Operator): Promise<void> {
  const { clock, server } = env
  const random = seededRandom(2)
  const user = `system:serviceaccount:muster-system:${operator.name}`
  const transport = inProcessTransport(server)
  const client = createClient({
    transport: {
      ...transport,
      send: (request) => transport.send({ ...request, headers: { ...request.headers, 'impersonate-user': user } }),
    },
    clock,
    random,
  })
  const cache = createSharedCache({ client, clock, random })
  const host = hostOperator({ operator, client, cache, clock })
  const during = async (work: Promise<unknown>): Promise<void> => {
    let isDone = false
    const noting = work.finally(() => (isDone = true))
    await clock.until(() => isDone)
    await noting
  }
  // What a manager does before it hosts a façade.
  await during(client.get(crds, { name: 'datascienceclusters.datasciencecluster.opendatahub.io' }))
  await during(host.start())
  onTestFinished(async () => {
    await during(host.stop())
    cache.close()
    await client.close()
  })
}

it('the façade of Open Data Hub is an operator that one field switches on, with the rights that it needs', async () => {
  const env = await platformEnvironment()
  for (const object of bundledComponents())
    await env.client.create(
      kinds.find(({ kind }) => kind === object.kind)!,
      object,
    )
  await env.declare([{ name: 'open-data-hub' }])
  await env.shows('open-data-hub', { state: 'Ready' })
  const at = { name: 'muster-open-data-hub', namespace: 'muster-system' }
  const [container] = (await env.client.get(Deployment, at)).spec.template.spec!.containers
  const [command, module = ''] = container?.args ?? []
  expect([command, container?.image]).toEqual(['run', `muster-dev/muster:${own.version}`])
  expect(Object.keys(own.exports).map((part) => part.replace('.', own.name))).toContain(module)

  await hosted(env, openDataHubOperator)
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
  for (const object of bundledComponents())
    await env.client.create(
      kinds.find(({ kind }) => kind === object.kind)!,
      object,
    )
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
