/** Components that cannot be installed: the status names cause and cure, others go on, and it mends by itself. */
import { describe, expect, it } from 'vitest'
import { configMapText, crdText, platformEnvironment } from '../../../test/platform-environment.ts'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { Installation } from '../installation/installation.ts'

const system = (name: string) => ({ name, namespace: 'muster-system' })
const ClusterRoleBinding: TypedResource<UntypedObject> = resourceOf(
  'rbac.authorization.k8s.io/v1',
  'ClusterRoleBinding',
)
const crds: TypedResource<UntypedObject> = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
const rbac = { apiGroup: 'rbac.authorization.k8s.io' }

const deployment = (failing: boolean): string => `---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  progressDeadlineSeconds: 60
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web }, annotations: { simulated.muster.dev/fail-image-pull: "${failing}" } }
    spec: { containers: [{ name: web, image: "web:1" }] }
`

describe('a component', () => {
  it('whose image does not exist is in error, names the object, and can be removed; others are ready', async () => {
    const env = await platformEnvironment()
    await env.offer('web', '1.0.0', { timeout: '2m' }, deployment(true))
    await env.offer('queue', '1.0.0')
    await env.declare([{ name: 'web' }, { name: 'queue' }])
    await env.clock.advance(600_000)
    expect(await env.component('web')).toMatchObject({ state: 'Error', target: '1.0.0' })
    expect(await env.component('web')).not.toHaveProperty('version')
    expect(await env.said('web')).toContain('Deployment muster-system/web')
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
    expect((await env.platform()).status?.state).toBe('Error')
    await env.change({ components: [{ name: 'queue' }] })
    expect((await env.platform()).status?.state).toBe('Ready')
    await expect(env.client.get(Deployment, system('web'))).rejects.toThrow('not found')
  })

  it('whose upgrade fails keeps its last version running, with a warning', async () => {
    const env = await platformEnvironment()
    await env.offer('web', '1.0.0', { timeout: '2m' }, deployment(false))
    await env.declare([{ name: 'web' }])
    await env.publish('web', '1.1.0', { timeout: '2m' }, deployment(true))
    await env.move('web', '1.1.0')
    await env.clock.advance(150_000)
    expect(await env.component('web')).toMatchObject({ state: 'Warning' })
    expect(await env.said('web')).toContain('Revision 1 is active again. Attempt 3 of 4 follows at ')
    expect(await env.component('web')).toMatchObject({ version: '1.0.0', target: '1.1.0' })
    // The way back is no downgrade: 1.1.0 was never healthy.
    await env.move('web', '1.0.0')
    expect(await env.said('web')).toBe('Ready Ready: It is installed and ready.')
    expect(await env.component('web')).toMatchObject({ version: '1.0.0' })
    expect(await env.component('web')).not.toHaveProperty('target')
  })

  it('whose default resource the CRD refuses is in error, and says so', async () => {
    const env = await platformEnvironment()
    const strict = crdText('Tank').replace(
      'x-kubernetes-preserve-unknown-fields: true',
      'properties: { spec: { type: object, required: [size], properties: { size: { type: integer } } } }, required: [spec]',
    )
    const defaultResource = {
      apiVersion: 'example.com/v1',
      kind: 'Tank',
      metadata: { name: 'main', namespace: 'default' },
      spec: {},
    }
    await env.offer('tanks', '1.0.0', { defaultResource }, strict)
    await env.declare([{ name: 'tanks' }])
    expect(await env.component('tanks')).toMatchObject({ state: 'Error' })
    expect(await env.said('tanks')).toContain('spec.size')
  })

  it('that is left alone says why its default resources are not there; others go on', async () => {
    const env = await platformEnvironment()
    const strict = crdText('Tank').replace('x-kubernetes-preserve-unknown-fields: true', 'required: [spec]')
    await env.client.create(crds, asObject(readYaml(strict) as JsonObject))
    const preinstalled = (kind: string) => ({
      crds: ['tanks.example.com'],
      defaultResources: [{ apiVersion: 'example.com/v1', kind, metadata: { name: 'main', namespace: 'default' } }],
    })
    await env.list('refused', '1.0.0', { preinstalled: preinstalled('Tank') })
    await env.list('unserved', '1.0.0', { preinstalled: preinstalled('Basin') })
    await env.offer('queue', '1.0.0')
    const alone = { managementState: 'Unmanaged' }
    await env.declare([{ name: 'refused', ...alone }, { name: 'unserved', ...alone }, { name: 'queue' }])
    expect(await env.said('refused')).toMatch(/^Warning DefaultResources: .*spec: Required value/)
    expect(await env.said('unserved')).toMatch(/^Warning DefaultResources: .*does not serve Basin of example.com\/v1/)
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
    await env.client.create(crds, asObject(readYaml(crdText('Basin')) as JsonObject))
    await env.settle(60_000)
    expect(await env.component('unserved')).toMatchObject({ state: 'Unmanaged' })
    await env.change({ components: [] })
    expect((await env.client.list(Installation)).items).toEqual([])
  })

  it('whose version is withdrawn stays installed, as it was, and can still be removed', async () => {
    const env = await platformEnvironment()
    await env.offer('queue', '1.0.0')
    await env.declare([{ name: 'queue' }], { protection: 'Off' })
    await env.client.delete(ComponentVersion, { name: 'queue-1.0.0' })
    await env.settle(60_000)
    expect(await env.said('queue')).toContain('Error VersionNotFound')
    await env.client.delete(ConfigMap, system('queue'))
    await env.settle(60_000)
    expect(await env.client.get(ConfigMap, system('queue'))).toMatchObject({ data: { key: '1.0.0' } })
    await env.change({ components: [] })
    expect((await env.client.list(Installation)).items).toEqual([])
    await expect(env.client.get(ConfigMap, system('queue'))).rejects.toThrow('not found')
  })

  it('whose account lacks a right names it, and goes on when the right is granted', async () => {
    const env = await platformEnvironment()
    await env.offer('queue', '1.0.0', { serviceAccountName: 'queue' })
    await env.declare([{ name: 'queue' }])
    expect(await env.said('queue')).toMatch(/^Error Forbidden: .* cannot patch/)
    await env.client.create(ClusterRoleBinding, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'queue' },
      roleRef: { ...rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...system('queue') }],
    })
    await env.clock.advance(600_000)
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
  })

  it('whose Installation a user changes or deletes is put right', async () => {
    const env = await platformEnvironment()
    await env.offer('queue', '1.0.0')
    await env.declare([{ name: 'queue' }])
    const wrong = { source: { manifests: { text: configMapText('queue', 'mine') } } }
    await env.client.patch(Installation, system('queue'), { spec: wrong }, { type: 'merge', fieldManager: 'kubectl' })
    await env.settle(60_000)
    expect(await env.client.get(ConfigMap, system('queue'))).toMatchObject({ data: { key: '1.0.0' } })
    const { uid = '' } = (await env.client.get(Installation, system('queue'))).metadata
    await env.client.delete(Installation, system('queue'), { preconditions: { uid } })
    await env.settle(60_000)
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
    expect(await env.client.get(ConfigMap, system('queue'))).toMatchObject({ data: { key: '1.0.0' } })
  })
})
