import { describe, expect, it, onTestFinished } from 'vitest'
import { crdText } from '../../../test/platform-words.ts'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { createClient } from '../../client/create-client.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import type { Resource } from '../../kube/kind.ts'
import { ConfigMap, Namespace } from '../../kube/kinds.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { hostOperator } from '../../manager/hosting/host.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import type { Operator } from '../../operator/operator.ts'
import { Component } from '../catalogue/component.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { componentsOperator } from '../components/operator.ts'
import { Platform, type PlatformObject } from '../components/platform.ts'
import { DataScienceCluster, type DataScienceClusterObject } from './data-science-cluster.ts'
import { Kyma, type KymaObject } from './kyma.ts'
import { kymaOperator, openDataHubOperator } from './operators.ts'

const platformOperator = componentsOperator({ clock: systemClock, random: seededRandom(1) })
const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
const apiVersion = 'platform.muster.dev/v1alpha1'
const at = { name: 'default', namespace: 'kyma-system' }

/** The Platform's operator, with façades beside it. */
interface Cluster extends TestEnvironment {
  /** The writes of all façades. */
  readonly facadeWrites: string[]
  start(): Promise<void>
}

async function opened(...facades: readonly Operator[]): Promise<Cluster> {
  const testEnv = await openTestEnvironment(platformOperator)
  const { clock, server, client } = testEnv
  const random = seededRandom(2)
  const facadeWrites: string[] = []
  const served = facades.flatMap(({ kinds }) => kinds).filter(({ group }) => group !== Platform.group)
  for (const kind of served) await client.create(crds, asObject(asJson(kind.crd())))
  let ends: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    for (const end of ends) await end()
    ends = []
  }
  const start = async (): Promise<void> => {
    for (const operator of facades) {
      const transport = inProcessTransport(server)
      const own = createClient({
        transport: {
          ...transport,
          send(request) {
            const { method, path } = request
            if (method !== 'GET' && !path.includes('/events')) facadeWrites.push(`${method} ${path}`)
            return transport.send(request)
          },
        },
        clock,
        random,
      })
      const cache = createSharedCache({ client: own, clock, random })
      const host = hostOperator({ operator, client: own, cache, clock })
      const during = async (work: Promise<unknown>): Promise<void> => {
        let isDone = false
        const noting = work.finally(() => (isDone = true))
        await clock.until(() => isDone)
        await noting
      }
      await during(host.start())
      ends.push(async () => {
        await during(host.stop())
        cache.close()
        await own.close()
      })
    }
  }
  await start()
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: at.namespace } })
  onTestFinished(async () => {
    await stop()
    await testEnv.close()
  })
  const restart = async (): Promise<void> => {
    await stop()
    await testEnv.restart()
    await start()
  }
  return { ...testEnv, facadeWrites, start, restart }
}

/** The longest that a Kyma may name. */
const longChannel = 'f'.repeat(32)

async function publish({ client }: TestEnvironment, name: string, annotations: Record<string, string> = {}) {
  const text = `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\n`
  const version = { component: name, version: '1.0.0', source: { manifests: { text } } }
  const channels = ['stable', 'regular', longChannel].map((channel) => ({ name: channel, version: '1.0.0' }))
  const of = (kind: string, id: string, spec: JsonObject): UntypedObject => ({
    apiVersion,
    kind,
    metadata: { name: id, annotations },
    spec,
  })
  await client.create(ComponentVersion, of('ComponentVersion', `${name}-1.0.0`, version))
  await client.create(Component, of('Component', name, { channels }))
}

const apply = async ({ client }: TestEnvironment, resource: Resource, object: KubeObject): Promise<void> =>
  void (await client.apply(resource, object as UntypedObject, { fieldManager: 'kubectl', force: true }))
const installed = async ({ client }: TestEnvironment): Promise<readonly string[]> =>
  (await client.list(ConfigMap, { namespace: 'muster-system' })).items.map(({ metadata }) => metadata.name ?? '')
const platform = async ({ client }: TestEnvironment): Promise<PlatformObject> =>
  await client.get(Platform, { name: 'default' })
const settle = async (testEnv: TestEnvironment): Promise<void> => {
  for (let round = 0; round < 3; round++) await testEnv.settle(20_000)
}

const yaml = (text: string): KubeObject => asObject(readYaml(text) as JsonObject)

/** As projects publish it: nested fields, devFlags, components that the catalogue does not have. */
const cluster = (apiGroupVersion: string, states: Readonly<Record<string, string>>): KubeObject =>
  yaml(`
apiVersion: datasciencecluster.opendatahub.io/${apiGroupVersion}
kind: DataScienceCluster
metadata:
  name: default-dsc
  labels: { app.kubernetes.io/name: datasciencecluster, app.kubernetes.io/created-by: opendatahub-operator }
spec:
  components:
    codeflare: { managementState: ${states['codeflare'] ?? 'Removed'} }
    ray: { managementState: ${states['ray'] ?? 'Removed'} }
    dashboard: {}
    kserve:
      managementState: Removed
      nim: { managementState: Managed }
      devFlags: { manifests: [{ uri: https://example.com/kserve.tgz }] }
`)

const kyma = (modules: string, more = ''): KubeObject =>
  yaml(`
apiVersion: operator.kyma-project.io/v1beta2
kind: Kyma
metadata: { name: default, namespace: kyma-system, labels: { operator.kyma-project.io/managed-by: kyma } }
spec:
  channel: regular
  ${more}
  modules: ${modules}
`)

describe('a DataScienceCluster', () => {
  const read = async ({ client }: TestEnvironment): Promise<DataScienceClusterObject> =>
    await client.get(DataScienceCluster, { name: 'default-dsc' })

  it('switches components on and off, at both versions, and shows their state', async () => {
    const testEnv = await opened(openDataHubOperator)
    await publish(testEnv, 'codeflare')
    await publish(testEnv, 'ray')
    const v1 = { ...DataScienceCluster, version: 'v1' }
    await apply(testEnv, v1, cluster('v1', { codeflare: 'Managed', ray: 'Managed' }))
    await settle(testEnv)
    expect(await installed(testEnv)).toEqual(expect.arrayContaining(['codeflare', 'ray']))
    const { status, spec } = await read(testEnv)
    expect(spec.components?.['kserve']).toHaveProperty('devFlags')
    expect(status).toMatchObject({
      phase: 'Ready',
      components: {
        codeflare: { managementState: 'Managed', releases: [{ name: 'codeflare', version: '1.0.0' }] },
        dashboard: { managementState: 'Removed' },
      },
      installedComponents: { codeflare: true, ray: true, dashboard: false, kserve: false },
    })
    const find = (type: string) => findCondition(status?.conditions, type)
    expect(find('CodeFlareReady')).toMatchObject({ status: 'True' })
    expect(find('KserveReady')).toMatchObject({ status: 'False', reason: 'Removed' })
    expect(find('ComponentsReady')).toMatchObject({ status: 'True' })
    expect(find('Accepted')?.message).toContain('spec.components.kserve.nim, spec.components.kserve.devFlags')

    const { facadeWrites, writes } = testEnv
    const before = [facadeWrites.length, writes.length]
    await testEnv.clock.advance(2 * 3_600_000)
    await testEnv.restart()
    await settle(testEnv)
    expect(facadeWrites.slice(before[0])).toEqual([])
    expect(testEnv.writes.slice(before[1])).toEqual([])

    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    expect(await installed(testEnv)).not.toContain('codeflare')
    const after = (await read(testEnv)).status
    expect(after).toMatchObject({ phase: 'Ready', installedComponents: { codeflare: false, ray: true } })
    expect(findCondition(after?.conditions, 'CodeFlareReady')).toMatchObject({ status: 'False', reason: 'Removed' })
  })

  it('is not ready while a component is not, and says why', async () => {
    const testEnv = await opened(openDataHubOperator)
    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    const { status } = await read(testEnv)
    expect(status?.phase).toBe('Not Ready')
    expect(findCondition(status?.conditions, 'Ready')).toMatchObject({ status: 'False' })
    expect(findCondition(status?.conditions, 'Ready')?.message).toContain('ray: ')
  })

  it('passes on that a component which it leaves alone is missing, or degraded, and that it is mended', async () => {
    const testEnv = await opened(openDataHubOperator)
    const { client } = testEnv
    const plural = { plural: 'kueues', namespaced: false }
    const Kueue: TypedResource<UntypedObject> = resourceOf('kueue.openshift.io/v1', 'Kueue', plural)
    const preinstalled = {
      crds: ['kueues.kueue.openshift.io'],
      health: [{ apiVersion: 'kueue.openshift.io/v1', kind: 'Kueue' }],
    }
    await client.create(
      Component,
      asObject({ apiVersion, kind: 'Component', metadata: { name: 'kueue' }, spec: { preinstalled } }),
    )
    const object = cluster('v2', {}) as KubeObject & { spec: { components: Record<string, JsonObject> } }
    object.spec.components['kueue'] = { managementState: 'Unmanaged' }
    await apply(testEnv, DataScienceCluster, object)
    const shown = async () => {
      await settle(testEnv)
      const { status } = await read(testEnv)
      const { status: isReady, message } = findCondition(status?.conditions, 'KueueReady') ?? {}
      return `${status?.phase}: ${isReady} ${message}`
    }
    expect(await shown()).toMatch(/^Not Ready: False It is Unmanaged, and not installed\./)
    const text = crdText('Kueue', 'Cluster').replaceAll('example.com', 'kueue.openshift.io')
    await client.create(crds, yaml(text) as UntypedObject, { fieldManager: 'olm' })
    expect(await shown()).toMatch(/^Ready: True/)
    const degraded = async (status: string): Promise<void> => {
      const conditions = [{ type: 'Degraded', status, reason: 'Probe', message: 'no certificate' }]
      const live = {
        apiVersion: 'kueue.openshift.io/v1',
        kind: 'Kueue',
        metadata: { name: 'cluster' },
        status: { conditions },
      }
      await client.apply(Kueue, live, { fieldManager: 'kueue' })
    }
    await degraded('True')
    expect(await shown()).toMatch(/^Not Ready: False .*Kueue cluster: Degraded: no certificate$/)
    await degraded('False')
    expect(await shown()).toMatch(/^Ready: True/)
  })

  it('finds a component by another name that its Component declares', async () => {
    const testEnv = await opened(openDataHubOperator)
    await publish(testEnv, 'cluster-queue', { 'platform.muster.dev/open-data-hub-names': 'kueue, Ray' })
    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    expect(await installed(testEnv)).toContain('cluster-queue')
    expect((await read(testEnv)).status?.installedComponents).toMatchObject({ ray: true })
  })

  it('leaves entries of a person in the Platform alone, and takes only its own with it', async () => {
    const testEnv = await opened(openDataHubOperator)
    for (const name of ['ray', 'mine']) await publish(testEnv, name)
    const own = {
      apiVersion,
      kind: 'Platform',
      metadata: { name: 'default' },
      spec: { components: [{ name: 'mine' }] },
    }
    await apply(testEnv, Platform, own)
    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    expect(await installed(testEnv)).toEqual(expect.arrayContaining(['mine', 'ray']))
    await testEnv.client.delete(DataScienceCluster, { name: 'default-dsc' })
    await settle(testEnv)
    await expect(read(testEnv)).rejects.toThrow('not found')
    expect(await installed(testEnv)).toContain('mine')
    expect(await installed(testEnv)).not.toContain('ray')
    const { spec, metadata } = await platform(testEnv)
    expect(spec.components.map(({ name }) => name)).toEqual(['mine'])
    expect(metadata.annotations ?? {}).toEqual({})
  })

  it('lets a person have a component taken over: that is no conflict', async () => {
    const testEnv = await opened(openDataHubOperator)
    await publish(testEnv, 'ray')
    const components = [{ name: 'ray', managementState: 'Adopt' }]
    const own = { apiVersion, kind: 'Platform', metadata: { name: 'default' }, spec: { components } }
    await apply(testEnv, Platform, own)
    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    const { status } = await read(testEnv)
    expect(status).toMatchObject({ phase: 'Ready', installedComponents: { ray: true } })
    expect(findCondition(status?.conditions, 'Accepted')).toMatchObject({ status: 'True' })
    expect((await platform(testEnv)).spec.components[0]).toMatchObject({ managementState: 'Adopt' })
  })

  it('is one in a cluster: a second one changes nothing, and follows when the first one goes', async () => {
    const testEnv = await opened(openDataHubOperator)
    for (const name of ['ray', 'codeflare']) await publish(testEnv, name)
    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    const second = cluster('v2', { codeflare: 'Managed' })
    await apply(testEnv, DataScienceCluster, { ...second, metadata: { name: 'other' } })
    await settle(testEnv)
    const other = await testEnv.client.get(DataScienceCluster, { name: 'other' })
    expect(findCondition(other.status?.conditions, 'Reconciled')).toMatchObject({ status: 'False', reason: 'NotOurs' })
    expect(await installed(testEnv)).not.toContain('codeflare')
    await testEnv.client.delete(DataScienceCluster, { name: 'default-dsc' })
    for (let round = 0; round < 4; round++) await testEnv.settle(300_000)
    expect(await installed(testEnv)).toContain('codeflare')
  })
})

describe('a Kyma', () => {
  const read = async ({ client }: TestEnvironment): Promise<KymaObject> => await client.get(Kyma, at)

  it('switches modules on and off, and shows their state', async () => {
    const testEnv = await opened(kymaOperator)
    for (const name of ['keda', 'serverless']) await publish(testEnv, name)
    await apply(
      testEnv,
      Kyma,
      kyma(`[{ name: keda, customResourcePolicy: Ignore }, { name: serverless, channel: ${longChannel} }]`),
    )
    await settle(testEnv)
    expect(await installed(testEnv)).toEqual(expect.arrayContaining(['keda', 'serverless']))
    const { status } = await read(testEnv)
    expect(status).toMatchObject({
      state: 'Ready',
      activeChannel: 'regular',
      modules: [
        { name: 'keda', channel: 'regular', version: '1.0.0', state: 'Ready' },
        { name: 'serverless', channel: longChannel, version: '1.0.0', state: 'Ready' },
      ],
      lastOperation: { operation: 'All modules are ready.' },
    })
    expect(findCondition(status?.conditions, 'Modules')).toMatchObject({ status: 'True', reason: 'Ready' })
    expect((await platform(testEnv)).spec.components[0]).toMatchObject({ customResourcePolicy: 'Ignore' })

    const { facadeWrites } = testEnv
    const before = facadeWrites.length
    await testEnv.clock.advance(2 * 3_600_000)
    await testEnv.restart()
    await settle(testEnv)
    expect(facadeWrites.slice(before)).toEqual([])

    await apply(testEnv, Kyma, kyma('[{ name: serverless, managed: false }]', 'skipMaintenanceWindows: true'))
    await settle(testEnv)
    expect(await installed(testEnv)).toContain('serverless')
    expect(await installed(testEnv)).not.toContain('keda')
    expect((await read(testEnv)).status).toMatchObject({
      state: 'Ready',
      modules: [{ name: 'serverless', state: 'Unmanaged' }],
    })
    expect((await platform(testEnv)).spec).toMatchObject({ channel: 'stable', maintenance: { skip: true } })
  })

  it('keeps a module off that another façade has switched on otherwise: the later one reports it, and nothing flaps', async () => {
    const testEnv = await opened(openDataHubOperator, kymaOperator)
    for (const name of ['ray', 'keda']) await publish(testEnv, name)
    await apply(testEnv, DataScienceCluster, cluster('v2', { ray: 'Managed' }))
    await settle(testEnv)
    await apply(testEnv, Kyma, kyma('[{ name: ray, managed: false }, { name: keda }]'))
    await settle(testEnv)
    const { status } = await read(testEnv)
    expect(findCondition(status?.conditions, 'Accepted')).toMatchObject({
      status: 'False',
      reason: 'FieldManagerConflict',
    })
    expect(findCondition(status?.conditions, 'Accepted')?.message).toContain('open-data-hub')
    expect(status).toMatchObject({
      state: 'Warning',
      modules: [
        { name: 'ray', state: 'Warning' },
        { name: 'keda', state: 'Ready' },
      ],
    })
    expect(await installed(testEnv)).toEqual(expect.arrayContaining(['ray', 'keda']))
    const { facadeWrites } = testEnv
    const before = facadeWrites.length
    await testEnv.clock.advance(2 * 3_600_000)
    expect(facadeWrites.slice(before)).toEqual([])
    // The other one lets go: it follows by itself.
    await testEnv.client.delete(DataScienceCluster, { name: 'default-dsc' })
    await settle(testEnv)
    expect((await read(testEnv)).status).toMatchObject({ state: 'Ready', modules: [{ state: 'Unmanaged' }, {}] })
  })
})
