/** The Platform on an embedded cluster: components are switched on and off, upgraded, kept and left alone. */
import { describe, expect, it } from 'vitest'
import {
  configMapText,
  crdText,
  type PlatformEnvironment,
  platformEnvironment,
} from '../../../test/platform-environment.ts'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { findCondition } from '../../kube/meta/condition.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { Installation } from '../installation/installation.ts'
import { Platform } from './platform.ts'

const system = (name: string) => ({ name, namespace: 'muster-system' })
const Tank: TypedResource<UntypedObject> = resourceOf('example.com/v1', 'Tank', { plural: 'tanks', namespaced: true })
const ClusterTank: TypedResource<UntypedObject> = { ...Tank, namespaced: false }
const tank = (name: string, finalizers: readonly string[] = []): UntypedObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Tank',
  metadata: { name, namespace: 'default', finalizers: [...finalizers] },
})
const defaultTank = { apiVersion: 'example.com/v1', kind: 'Tank', metadata: { name: 'main', namespace: 'default' } }
const operatorText = (version: string): string => `${crdText('Tank')}---
apiVersion: apps/v1
kind: Deployment
metadata: { name: tanks }
spec:
  replicas: 1
  selector: { matchLabels: { app: tanks } }
  template: { metadata: { labels: { app: tanks } }, spec: { containers: [{ name: tanks, image: "tanks:${version}" }] } }
`
const image = async ({ client }: Pick<PlatformEnvironment, 'client'>): Promise<string | undefined> =>
  (await client.get(Deployment, system('tanks'))).spec?.template.spec?.containers[0]?.image

describe('a component', () => {
  it('is installed when it is switched on, nothing is written at rest, and it is removed when it is switched off', async () => {
    const env = await platformEnvironment()
    await env.offer('queue', '1.0.0')
    await env.declare([{ name: 'queue' }])
    expect((await env.platform()).status).toMatchObject({
      state: 'Ready',
      components: [{ name: 'queue', state: 'Ready', version: '1.0.0', installation: 'muster-system/queue' }],
    })
    expect((await env.platform()).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'QueueReady', status: 'True' }),
    )
    expect(await env.client.get(ConfigMap, system('queue'))).toMatchObject({ data: { key: '1.0.0' } })
    const { length } = env.writes
    await env.clock.advance(24 * 3_600_000)
    await env.restart()
    await env.settle(60_000)
    expect(env.writes.slice(length)).toEqual([])
    await env.change({ components: [{ name: 'queue', managementState: 'Removed' }] })
    expect(await env.component('queue')).toMatchObject({ state: 'Removed' })
    expect((await env.client.list(Installation)).items).toEqual([])
    await expect(env.client.get(ConfigMap, system('queue'))).rejects.toThrow('not found')
    expect((await env.platform()).status?.state).toBe('Ready')
  })

  it('gets the values of the Platform over its own', async () => {
    const env = await platformEnvironment()
    const files = {
      'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'templates/a.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: web }\ndata: {{ .Values.data | toJson }}\n',
    }
    await env.offer('web', '1.0.0', {
      source: { chart: { files } },
      values: { data: { a: '1', b: '1' } },
      namespace: 'web',
    })
    await env.declare([{ name: 'web', values: { data: { b: '2' } } }])
    expect(await env.said('web')).toBe('Ready Ready: It is installed and ready.')
    expect(await env.client.get(ConfigMap, { name: 'web', namespace: 'web' })).toMatchObject({
      data: { a: '1', b: '2' },
    })
    // Text in the wrong place is named, and what is installed stays as it is.
    await env.change({ components: [{ name: 'web', values: 5 }] })
    expect(await env.said('web')).toBe(
      'Error InvalidValues: values of web in spec.components of the Platform is no object. Write name: value pairs, or leave it out. Nothing was changed.',
    )
    expect(await env.client.get(ConfigMap, { name: 'web', namespace: 'web' })).toMatchObject({ data: { b: '2' } })
  })

  it('that is unknown, or has no such channel, is named; the others go on', async () => {
    const env = await platformEnvironment()
    await env.offer('queue', '1.0.0')
    await env.declare([{ name: 'quue' }, { name: 'queue' }])
    expect(await env.said('quue')).toBe('Error ComponentNotFound: There is no Component quue. Known components: queue.')
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
    await env.change({ components: [{ name: 'queue', channel: 'nightly' }] })
    expect(await env.said('queue')).toBe('Error ChannelNotFound: It has no channel nightly. Its channels: stable.')
    expect(await env.component('queue')).toMatchObject({ version: '1.0.0' })
  })

  it('in preview needs a Platform that allows it', async () => {
    const env = await platformEnvironment()
    await env.publish('queue', '1.0.0')
    await env.list('queue', '1.0.0', { preview: true })
    await env.declare([{ name: 'queue' }])
    expect(await env.said('queue')).toContain('Error PreviewNotAllowed')
    await env.change({ preview: true })
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
  })

  it('whose object a user deletes is put right; what users set on a Deployment is kept', async () => {
    const env = await platformEnvironment()
    await env.offer('tanks', '1.0.0', {}, operatorText('1.0.0'))
    await env.declare([{ name: 'tanks' }], { protection: 'Off' })
    await env.client.setScale(Deployment, system('tanks'), 3)
    const resources = { limits: { memory: '1Gi' } }
    const containers = [{ name: 'tanks', image: 'other:1', resources }]
    await env.client.patch(
      Deployment,
      system('tanks'),
      { spec: { template: { spec: { containers } } } },
      { type: 'strategic', fieldManager: 'kubectl' },
    )
    await env.settle(60_000)
    expect((await env.client.get(Deployment, system('tanks'))).spec).toMatchObject({
      replicas: 3,
      template: { spec: { containers: [{ image: 'tanks:1.0.0', resources }] } },
    })
    await env.client.delete(Deployment, system('tanks'))
    await env.settle(60_000)
    expect(await image(env)).toBe('tanks:1.0.0')
  })
})

describe('a component with its own kind', () => {
  it('leaves its default resource to users: it is theirs to delete, and stays when it is no longer declared', async () => {
    const env = await platformEnvironment()
    await env.publish('tanks', '1.0.0', { defaultResource: defaultTank }, operatorText('1.0.0'))
    await env.publish('tanks', '1.1.0', { defaultResource: defaultTank }, operatorText('1.1.0'))
    await env.publish('tanks', '1.2.0', {}, operatorText('1.2.0'))
    await env.list('tanks', '1.0.0')
    await env.declare([{ name: 'tanks' }])
    const main = { name: 'main', namespace: 'default' }
    const { uid } = (await env.client.get(Tank, main)).metadata
    const entry = { name: 'tanks', customResourcePolicy: 'Ignore' }
    await env.change({ components: [entry] })
    expect((await env.client.get(Tank, main)).metadata.uid).toBe(uid)
    await env.change({ components: [{ name: 'tanks', customResourcePolicy: 'CreateAndDelete' }] })
    // The protection lets users delete it, and it is not created again, not with an upgrade either.
    await env.client.delete(Tank, main)
    await env.settle(60_000)
    await env.move('tanks', '1.1.0')
    expect(await image(env)).toBe('tanks:1.1.0')
    expect((await env.client.list(Tank)).items).toEqual([])
    // Removed and switched on again it begins anew.
    await env.change({ components: [{ name: 'tanks', managementState: 'Removed' }] })
    await env.change({ components: [{ name: 'tanks', managementState: 'Managed' }] })
    const again = (await env.client.get(Tank, main)).metadata
    await env.move('tanks', '1.2.0')
    expect(await env.component('tanks')).toMatchObject({ state: 'Ready', version: '1.2.0' })
    expect((await env.client.get(Tank, main)).metadata.uid).toBe(again.uid)
    await env.change({ components: [] })
    expect(await env.said('tanks')).toContain('Objects of users would be deleted with their CRD: Tank default/main.')
    await env.client.delete(Tank, main)
    await env.settle(60_000)
    expect((await env.client.list(Installation)).items).toEqual([])
  })

  it('with the policy Ignore has no default resource, and none of the users’ is deleted', async () => {
    const env = await platformEnvironment()
    await env.offer('tanks', '1.0.0', { defaultResource: defaultTank }, operatorText('1.0.0'))
    const entry = { name: 'tanks', customResourcePolicy: 'Ignore' }
    await env.declare([entry])
    const names = ['a', 'b', 'c']
    for (const name of names) await env.client.create(Tank, tank(name))
    await env.change({ components: [{ ...entry, managementState: 'Removed' }] })
    for (const name of names) {
      expect(await env.component('tanks')).toMatchObject({ state: 'Deleting' })
      await env.client.delete(Tank, { name, namespace: 'default' })
      await env.settle(60_000)
    }
    expect(await env.component('tanks')).toMatchObject({ state: 'Removed' })
  })

  it('of cluster scope is waited for, too', async () => {
    const env = await platformEnvironment()
    await env.offer('tanks', '1.0.0', {}, crdText('Tank', 'Cluster'))
    await env.declare([{ name: 'tanks' }])
    const { namespace: _, ...metadata } = tank('mine').metadata
    await env.client.create(ClusterTank, { ...tank('mine'), metadata })
    await env.change({ components: [] })
    expect(await env.said('tanks')).toContain('Tank mine')
    await env.client.delete(ClusterTank, { name: 'mine' })
    await env.settle(60_000)
    expect(await env.component('tanks')).toBeUndefined()
  })

  it('is upgraded while its removal waits, if it is switched on again, and gets a new default resource', async () => {
    const env = await platformEnvironment()
    const held = { ...defaultTank, metadata: { ...defaultTank.metadata, finalizers: ['example.com/hold'] } }
    await env.publish('tanks', '1.0.0', { defaultResource: held }, operatorText('1.0.0'))
    await env.publish('tanks', '2.0.0', { defaultResource: defaultTank }, operatorText('2.0.0'))
    const channels = [
      { name: 'stable', version: '1.0.0' },
      { name: 'fast', version: '2.0.0' },
    ]
    await env.list('tanks', '1.0.0', { channels })
    await env.declare([{ name: 'tanks' }])
    const before = await env.client.get(Tank, { name: 'main', namespace: 'default' })
    await env.change({ components: [{ name: 'tanks', managementState: 'Removed' }] })
    expect(await env.said('tanks')).toContain('Tank default/main')
    await env.change({ components: [{ name: 'tanks', managementState: 'Managed', channel: 'fast' }] })
    expect(await image(env)).toBe('tanks:2.0.0')
    await env.client.patch(
      Tank,
      { name: 'main', namespace: 'default' },
      { metadata: { finalizers: null } },
      { type: 'merge', fieldManager: 'kubectl' },
    )
    await env.settle(60_000)
    expect(await env.component('tanks')).toMatchObject({ state: 'Ready', version: '2.0.0' })
    const after = await env.client.get(Tank, { name: 'main', namespace: 'default' })
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
  })
})

describe('a ComponentVersion', () => {
  const url = 'oci://registry.example.com/charts/queue'
  const helm = { url: 'https://charts.example.com', chart: 'queue' }

  it('never changes, and neither does its source', async () => {
    const env = await platformEnvironment()
    await env.publish('queue', '1.0.0')
    const changed = { spec: { namespace: 'other' } }
    await expect(
      env.client.patch(ComponentVersion, { name: 'queue-1.0.0' }, changed, { type: 'merge' }),
    ).rejects.toThrow('a ComponentVersion is immutable: publish another version')
    const moving: readonly JsonObject[] = [
      { oci: { url } },
      { oci: { url, version: 'latest' } },
      { oci: { url, version: '>=1.0' } },
      { oci: { url, version: '1.0.0' }, interval: '10m' },
      { helm },
      { helm: { ...helm, version: '1.x' } },
      { manifests: { configMapRef: { name: 'a' } } },
    ]
    for (const source of moving)
      await expect(env.publish('queue', '1.1.0', { source })).rejects.toThrow('a ComponentVersion is immutable')
    const fixed: readonly JsonObject[] = [
      { oci: { url, version: 'v1.0.0-rc.1' } },
      { oci: { url, digest: `sha256:${'a'.repeat(64)}` } },
      { helm: { ...helm, version: '1.0.0' } },
    ]
    for (const [index, source] of fixed.entries()) await env.publish('queue', `2.0.${index}`, { source })
  })
})

describe('the Platform itself', () => {
  it('has one name', async () => {
    const env = await platformEnvironment()
    const other = {
      apiVersion: 'platform.muster.dev/v1alpha1',
      kind: 'Platform',
      metadata: { name: 'other' },
      spec: {},
    }
    await expect(env.client.create(Platform, other as never)).rejects.toThrow('its name is default')
  })

  it('keeps its namespace', async () => {
    const env = await platformEnvironment()
    await env.declare([])
    await expect(env.change({ namespace: 'elsewhere' })).rejects.toThrow('all components would be installed anew')
  })

  it('takes its components with it, those that require others first, and says what it waits for', async () => {
    const env = await platformEnvironment()
    await env.offer('base', '1.0.0', {}, configMapText('base', '1') + crdText('Tank'))
    await env.offer('top', '1.0.0', { requires: [{ component: 'base' }] })
    await env.declare([{ name: 'top' }, { name: 'base' }])
    expect((await env.platform()).status?.state).toBe('Ready')
    await env.client.create(Tank, tank('mine'))
    await env.client.delete(Platform, { name: 'default' })
    await env.settle(60_000)
    const { status } = await env.platform()
    expect(status).toMatchObject({ state: 'Deleting', components: [{ name: 'base', state: 'Deleting' }] })
    for (const type of ['BaseReady', 'Ready']) {
      const { message } = findCondition(status?.conditions, type) ?? {}
      expect(message).toContain('Objects of users would be deleted with their CRD: Tank default/mine.')
    }
    const { length } = env.writes
    await env.clock.advance(600_000)
    expect(env.writes.slice(length)).toEqual([])
    await env.client.delete(Tank, { name: 'mine', namespace: 'default' })
    await env.settle(60_000)
    await expect(env.platform()).rejects.toThrow('not found')
    expect((await env.client.list(Installation)).items).toEqual([])
    const deleted = env.writes.filter(({ method, path }) => method === 'DELETE' && path.includes('/configmaps/'))
    expect(deleted.map(({ path }) => path.split('/').at(-1)?.split('?')[0])).toEqual(['top', 'base'])
  })
})
