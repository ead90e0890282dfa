/**
 * Stories of the Platform: the same on the embedded and on the real server. A case begins with an empty catalogue and no
 * Platform, and waits for effects, never for a time.
 */
import { expect } from 'vitest'
import type { Client } from '../src/client/client.ts'
import type { JsonObject } from '../src/kube/json.ts'
import { asObject } from '../src/kube/json-object.ts'
import { ConfigMap, Deployment, Namespace } from '../src/kube/kinds.ts'
import { findCondition } from '../src/kube/meta/condition.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { resourceOf, type TypedResource } from '../src/kube/typed-resource.ts'
import { readYaml } from '../src/kube/yaml/yaml.ts'
import { weekdays } from '../src/platform/components/platform.ts'
import { Component } from '../src/platform/catalogue/component.ts'
import { Installation } from '../src/platform/installation/installation.ts'
import { crds } from './embedded.ts'
import { find } from './operator-environment.ts'
import { configMapText, crdText, type PlatformWords } from './platform-words.ts'

export interface PlatformPlace extends PlatformWords {
  readonly client: Client
  /** The time of the manager. */
  readonly now: () => number
}

const system = (name: string) => ({ name, namespace: 'muster-system' })
const kindOf = (kind: string): TypedResource<UntypedObject> =>
  resourceOf('example.com/v1', kind, { plural: `${kind.toLowerCase()}s`, namespaced: true })
const objectOf = (kind: string, name: string): UntypedObject => ({
  apiVersion: 'example.com/v1',
  kind,
  metadata: { name, namespace: 'default' },
})
const deploymentText = (name: string, image: string): string => `---
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${name} } }
  template: { metadata: { labels: { app: ${name} } }, spec: { containers: [{ name: main, image: "${image}" }] } }
`
const twoChannels = {
  channels: [
    { name: 'stable', version: '1.0.0' },
    { name: 'fast', version: '1.1.0' },
  ],
}
const removed = { managementState: 'Removed' }
const parsed = (text: string): UntypedObject => asObject(readYaml(text) as JsonObject)

/** Installed by OLM and by hand, before there was a Platform. */
async function preinstallCodeFlare({ client, eventually }: PlatformPlace) {
  const Subscription: TypedResource<UntypedObject> = resourceOf('operators.coreos.com/v1alpha1', 'Subscription', {
    plural: 'subscriptions',
    namespaced: true,
  })
  const olm = crdText('Subscription').replaceAll('example.com', 'operators.coreos.com').replace('v1,', 'v1alpha1,')
  const subscription = { name: 'codeflare-operator', namespace: 'default' }
  await client.create(crds, parsed(olm))
  await client.create(crds, parsed(crdText('AppWrapper')), { fieldManager: 'olm' })
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'codeflare' } })
  const controller = { ...parsed(deploymentText('codeflare', 'codeflare:0.9')), metadata: at('codeflare') }
  await client.create(Deployment, controller, { fieldManager: 'kubectl-create' })
  const spec = { name: 'codeflare-operator', channel: 'stable', source: 'community-operators' }
  const apiVersion = 'operators.coreos.com/v1alpha1'
  await eventually(async () => {
    await client.create(Subscription, { apiVersion, kind: 'Subscription', metadata: subscription, spec })
  })
  return {
    read: async () => [
      (await client.get(crds, { name: 'appwrappers.example.com' })).metadata,
      (await client.get(Deployment, at('codeflare'))).spec,
      (await client.get(Subscription, subscription)).metadata.resourceVersion,
    ],
    async uninstall() {
      await client.delete(Subscription, subscription)
      await client.delete(Deployment, at('codeflare'))
      await client.delete(crds, { name: 'appwrappers.example.com' })
      await client.delete(crds, { name: 'subscriptions.operators.coreos.com' })
    },
  }
}

const at = (name: string) => ({ name, namespace: 'codeflare' })

const stories: Readonly<Record<string, (place: PlatformPlace) => Promise<void>>> = {
  'a component is removed only when no user has an object of its kind': async (place) => {
    const { client } = place
    const Tank = kindOf('Tank')
    const defaultResource = objectOf('Tank', 'main') as unknown as JsonObject
    const text = crdText('Tank') + deploymentText('tanks', 'tanks:1')
    await place.offer('tanks', '1.0.0', { defaultResource, crds: ['tanks.example.com'] }, text)
    await place.declare([{ name: 'tanks' }])
    await place.shows('tanks', { state: 'Ready', version: '1.0.0' })
    await client.get(Tank, { name: 'main', namespace: 'default' })
    await client.create(Tank, objectOf('Tank', 'mine'))
    await place.change({ components: [{ name: 'tanks', ...removed }] })
    await place.says('tanks', 'Deleting', 'Tank default/mine')
    await place.state('Processing')
    for (const name of ['main', 'mine']) await client.get(Tank, { name, namespace: 'default' })
    await client.get(Deployment, system('tanks'))
    await client.delete(Tank, { name: 'mine', namespace: 'default' })
    await place.shows('tanks', { state: 'Removed' })
    await place.state('Ready')
    expect(await find(client, Deployment, system('tanks'))).toBeUndefined()
    expect(await find(client, crds, { name: 'tanks.example.com' })).toBeUndefined()
  },

  'a component that becomes Unmanaged keeps its objects, and is taken back; without its entry they stay': async (
    place,
  ) => {
    const { client } = place
    await place.offer('parcel', '1.0.0')
    await place.declare([{ name: 'parcel' }])
    await place.shows('parcel', { state: 'Ready' })
    const { uid } = (await client.get(ConfigMap, system('parcel'))).metadata
    const manage = (managementState: string) => place.change({ components: [{ name: 'parcel', managementState }] })
    await manage('Unmanaged')
    await place.shows('parcel', { state: 'Unmanaged' })
    await place.state('Ready')
    await place.gone(Installation, system('parcel'))
    const left = (await client.get(ConfigMap, system('parcel'))).metadata
    expect([left.uid, left.labels]).toEqual([uid, undefined])

    await manage('Managed')
    await place.shows('parcel', { state: 'Ready', version: '1.0.0' })
    const back = (await client.get(ConfigMap, system('parcel'))).metadata
    expect(back).toMatchObject({ uid, labels: { 'platform.muster.dev/installation': 'muster-system.parcel' } })

    await manage('Unmanaged')
    await place.shows('parcel', { state: 'Unmanaged' })
    await place.gone(Installation, system('parcel'))
    await place.change({ components: [] })
    await place.eventually(async () => expect(await place.component('parcel')).toBeUndefined())
    expect((await client.get(ConfigMap, system('parcel'))).metadata.uid).toBe(uid)
    await client.delete(ConfigMap, system('parcel'))
  },

  'a component follows its channel to a newer version, and never back': async (place) => {
    const { client } = place
    await place.publish('web', '1.0.0', {}, deploymentText('web-old', 'web:1.0.0'))
    await place.publish('web', '1.1.0', {}, deploymentText('web-new', 'web:1.1.0'))
    await place.list('web', '1.0.0', twoChannels)
    await place.declare([{ name: 'web' }])
    await place.shows('web', { state: 'Ready', version: '1.0.0', channel: 'stable' })
    await place.change({ components: [{ name: 'web', channel: 'fast' }] })
    await place.shows('web', { state: 'Ready', version: '1.1.0', channel: 'fast' })
    await client.get(Deployment, system('web-new'))
    await place.gone(Deployment, system('web-old'))
    await place.change({ components: [{ name: 'web' }] })
    await place.shows('web', { state: 'Warning', reason: 'Downgrade', version: '1.1.0', target: '1.0.0' })
    await place.state('Warning')
    await client.get(Deployment, system('web-new'))
  },

  'a channel that names an unknown version is an error, until it is published': async (place) => {
    await place.offer('queue', '1.0.0')
    await place.declare([{ name: 'queue' }])
    await place.shows('queue', { state: 'Ready' })
    await place.move('queue', '1.2.0')
    await place.says('queue', 'Error VersionNotFound: Channel stable names version 1.2.0, which is not published')
    await place.state('Error')
    await place.eventually(async () => {
      const { status } = await place.client.get(Component, { name: 'queue' })
      expect(findCondition(status?.conditions, 'Ready')).toMatchObject({ status: 'False', reason: 'VersionNotFound' })
    })
    await place.publish('queue', '1.2.0')
    await place.shows('queue', { state: 'Ready', version: '1.2.0' })
    await place.state('Ready')
  },

  'an upgrade with a downtime waits for a window or its waiver, and others for acknowledgements': async (place) => {
    const downtime = { requiresDowntime: true }
    await place.offer('disk', '1.0.0', downtime)
    await place.declare([{ name: 'disk' }])
    await place.shows('disk', { state: 'Ready', version: '1.0.0' })
    // Three days from now, whatever the time is.
    const days = [weekdays[(new Date(place.now()).getUTCDay() + 3) % 7]!]
    await place.change({ maintenance: { windows: [{ days, begin: '10:00', end: '14:00' }] } })
    await place.publish('disk', '1.1.0', downtime)
    await place.move('disk', '1.1.0')
    await place.shows('disk', { state: 'Ready', version: '1.0.0', target: '1.1.0', maintenance: true })
    await place.state('Ready')
    await place.change({ maintenance: { skip: true } })
    await place.shows('disk', { state: 'Ready', version: '1.1.0' })
    expect(await place.component('disk')).not.toHaveProperty('maintenance')

    const acknowledgements = [
      { key: 'disk-2-data', message: 'disks are emptied' },
      { key: 'disk-2-api', message: 'v1 is gone' },
    ]
    await place.publish('disk', '2.0.0', { acknowledgements })
    await place.move('disk', '2.0.0')
    await place.says('disk', 'Warning AcknowledgementRequired', 'disk-2-data (disks are emptied)', 'disk-2-api')
    await place.change({ acknowledged: ['disk-2-data'] })
    await place.says('disk', 'needs an acknowledgement: disk-2-api (v1 is gone).')
    await place.shows('disk', { state: 'Warning', version: '1.1.0' })
    await place.change({ acknowledged: ['disk-2-data', 'disk-2-api'] })
    await place.shows('disk', { state: 'Ready', version: '2.0.0' })
  },

  'a mandatory component is installed although it is not listed, and held until it is removed': async (place) => {
    const { client } = place
    const text = configMapText('audit', '1').replace('name: audit', 'name: audit, finalizers: [example.com/hold]')
    await place.publish('audit', '1.0.0', {}, text)
    await place.list('audit', '1.0.0', { channels: [], mandatory: { version: '1.0.0' } })
    await place.declare([])
    await place.shows('audit', { state: 'Ready', version: '1.0.0' })
    expect((await place.platform()).spec.components).toEqual([])
    expect(await place.component('audit')).not.toHaveProperty('channel')
    // An entry cannot switch it off, and that is said.
    await place.change({ components: [{ name: 'audit', ...removed }] })
    await place.says(
      'audit',
      'Warning Mandatory: It is mandatory, and runs in version 1.0.0: managementState: Removed in',
    )
    await place.change({ components: [] })
    await place.shows('audit', { state: 'Ready' })
    await client.delete(Component, { name: 'audit' })
    await place.shows('audit', { state: 'Deleting' })
    await place.eventually(async () => {
      const { status } = await client.get(Component, { name: 'audit' })
      expect(JSON.stringify(status?.conditions)).toContain('Installation muster-system/audit still runs. It is being')
    })
    const unheld = { metadata: { finalizers: null } }
    await client.patch(ConfigMap, system('audit'), unheld, { type: 'merge', fieldManager: 'kubectl' })
    await place.gone(Component, { name: 'audit' })
    expect(await find(client, Installation, system('audit'))).toBeUndefined()
    expect(await find(client, ConfigMap, system('audit'))).toBeUndefined()
  },

  'CodeFlare that is there already is left alone, with three ways out; one field installs it, Removed takes it away':
    async (place) => {
      const { client } = place
      const text = configMapText('codeflare', 'ours') + crdText('AppWrapper')
      await place.publish('codeflare', '1.0.0', { crds: ['appwrappers.example.com'], namespace: 'codeflare' }, text)
      await place.list('codeflare', '1.0.0', { preinstalled: { olmPackages: ['codeflare-operator'] } })
      const theirs = await preinstallCodeFlare(place)
      const before = await theirs.read()
      await place.declare([{ name: 'codeflare' }])
      await place.says(
        'codeflare',
        'Error Preinstalled: It is installed already, by other means',
        'Subscription default/codeflare-operator of OLM',
        'CRD appwrappers.example.com, written by olm',
        'managementState: Adopt',
        'managementState: Unmanaged',
        'uninstall it',
      )
      expect(await theirs.read()).toEqual(before)
      expect(await find(client, Installation, system('codeflare'))).toBeUndefined()

      await place.change({ components: [{ name: 'codeflare', managementState: 'Unmanaged' }] })
      await place.shows('codeflare', { state: 'Unmanaged' })
      await place.state('Ready')
      expect(await theirs.read()).toEqual(before)
      await theirs.uninstall()
      await place.says('codeflare', 'Error NotInstalled: It is Unmanaged, and not installed.')

      await place.change({ components: [{ name: 'codeflare', managementState: 'Managed' }] })
      await place.shows('codeflare', { state: 'Ready', version: '1.0.0' })
      expect((await client.get(ConfigMap, at('codeflare'))).data).toEqual({ key: 'ours' })
      await place.change({ components: [{ name: 'codeflare', managementState: 'Unmanaged' }] })
      await place.says('codeflare', 'Unmanaged Unmanaged: It is left alone: CRD appwrappers.example.com, let go by the')
      await place.change({ components: [{ name: 'codeflare', managementState: 'Managed' }] })
      await place.shows('codeflare', { state: 'Ready' })
      await place.change({ components: [{ name: 'codeflare', ...removed }] })
      await place.shows('codeflare', { state: 'Removed' })
      expect(await find(client, ConfigMap, at('codeflare'))).toBeUndefined()
      expect(await find(client, crds, { name: 'appwrappers.example.com' })).toBeUndefined()
    },

  'an Unmanaged component must be there, gets its default objects once, and passes on what its operator reports':
    async (place) => {
      const { client } = place
      const [Pump, Basin] = [kindOf('Pump'), kindOf('Basin')]
      const inDefault = (name: string) => ({ name, namespace: 'default' })
      const report = async (type: string, status: string, message: string): Promise<void> => {
        const conditions = [{ type, status, reason: 'Probe', message, lastTransitionTime: '2026-01-01T00:00:00Z' }]
        await client.patch(
          Pump,
          inDefault('cluster'),
          { status: { conditions } },
          { type: 'merge', fieldManager: 'pumps' },
        )
      }
      await place.publish('pumps', '1.0.0')
      await place.list('pumps', '1.0.0', {
        preinstalled: {
          crds: ['pumps.example.com'],
          health: [{ apiVersion: 'example.com/v1', kind: 'Pump' }],
          defaultResources: [objectOf('Basin', 'default') as unknown as JsonObject],
        },
      })
      await place.declare([{ name: 'pumps', managementState: 'Unmanaged' }])
      await place.says('pumps', 'Error NotInstalled: It is Unmanaged, and not installed.')
      await place.state('Error')

      for (const kind of ['Pump', 'Basin']) await client.create(crds, parsed(crdText(kind)), { fieldManager: 'olm' })
      await place.shows('pumps', { state: 'Unmanaged' })
      await place.state('Ready')
      await place.eventually(async () => void (await client.get(Basin, inDefault('default'))))

      // They belong to users, who may delete them.
      await client.delete(Basin, inDefault('default'))
      await place.eventually(async () => {
        await client.apply(Pump, objectOf('Pump', 'cluster'), { fieldManager: 'pumps' })
      })
      await report('Degraded', 'True', 'the webhook does not answer')
      await place.says(
        'pumps',
        'Warning Degraded: It is left alone, and reports a problem: Pump default/cluster: Degraded: the',
      )
      await place.state('Warning')
      await report('Ready', 'False', 'starting')
      await place.says('pumps', 'Processing Probe', 'Pump default/cluster: starting')
      await report('Ready', 'True', '')
      await place.shows('pumps', { state: 'Unmanaged' })
      await place.state('Ready')
      expect(await find(client, Basin, inDefault('default'))).toBeUndefined()

      await client.create(Basin, objectOf('Basin', 'mine'))
      await place.change({ components: [{ name: 'pumps', ...removed }] })
      await place.shows('pumps', { state: 'Removed' })
      await place.gone(Installation, system('pumps.defaults'))
      await client.get(Basin, inDefault('mine'))
      for (const kind of ['pumps', 'basins']) await client.delete(crds, { name: `${kind}.example.com` })
    },

  'an operator of another owner is taken over by Adopt, and by nothing else': async (place) => {
    const { client } = place
    const text = crdText('Valve') + configMapText('valves', 'ours')
    await place.offer('valves', '1.0.0', { crds: ['valves.example.com'] }, text)
    const { metadata } = await client.create(crds, parsed(crdText('Valve')), { fieldManager: 'kubectl-create' })
    await place.declare([{ name: 'valves' }])
    await place.says('valves', 'Error Preinstalled', 'CRD valves.example.com, written by kubectl-create')
    expect((await client.get(crds, { name: 'valves.example.com' })).metadata.labels).toBeUndefined()
    await place.change({ components: [{ name: 'valves', managementState: 'Adopt' }] })
    await place.shows('valves', { state: 'Ready', version: '1.0.0' })
    const adopted = (await client.get(crds, { name: 'valves.example.com' })).metadata
    expect(adopted).toMatchObject({
      uid: metadata.uid,
      labels: { 'platform.muster.dev/installation': 'muster-system.valves' },
    })
    await place.change({ components: [{ name: 'valves' }] })
    await place.shows('valves', { state: 'Ready', managementState: 'Managed' })
  },
}

export const platformCases: readonly {
  readonly title: string
  readonly expectStory: (place: PlatformPlace) => Promise<void>
}[] = Object.entries(stories).map(([title, expectStory]) => ({ title, expectStory }))
