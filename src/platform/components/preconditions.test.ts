/** What holds back a component, what it says, and that it goes on by itself once the cause is gone. */
import { describe, expect, it } from 'vitest'
import { configMapText, crdText, platformEnvironment } from '../../../test/platform-environment.ts'
import { ConfigMap, Namespace, Secret } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import { Installation } from '../installation/installation.ts'
import { maintenanceAt } from './maintenance.ts'
import type { MaintenanceWindow } from './platform.ts'

const crds: TypedResource<UntypedObject> = resourceOf('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
const Event: TypedResource<UntypedObject> = resourceOf('v1', 'Event')
const crd = (kind: string): UntypedObject => crdObject(kind, 'example.com', 'v1')
function crdObject(kind: string, group: string, version: string): UntypedObject {
  const singular = kind.toLowerCase()
  const names = { kind, plural: `${singular}s`, singular }
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const versions = [{ name: version, served: true, storage: true, schema }]
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions },
  }
}

describe('an operator that is installed already', () => {
  it('by Helm is recognised, too', async () => {
    const env = await platformEnvironment()
    await env.publish('web', '1.0.0')
    await env.list('web', '1.0.0', { preinstalled: { helmReleases: ['web'] } })
    const labels = { owner: 'helm', name: 'web', status: 'deployed', version: '1' }
    const metadata = { name: 'sh.helm.release.v1.web.v1', namespace: 'default', labels }
    await env.client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'helm.sh/release.v1' })
    await env.declare([{ name: 'web' }])
    expect(await env.said('web')).toContain('by other means: Helm release default/web.')
    await env.client.delete(Secret, metadata)
    await env.settle(60_000)
    expect(await env.component('web')).toMatchObject({ state: 'Ready' })
    await env.change({ components: [{ name: 'web', managementState: 'Unmanaged' }] })
    expect(await env.said('web')).toContain('ConfigMap muster-system/web, let go by the Platform.')
    await env.client.delete(ConfigMap, { name: 'web', namespace: 'muster-system' })
    await env.settle(60_000)
    expect(await env.said('web')).toContain('Error NotInstalled')
  })

  it('is recognised by a ClusterServiceVersion, and by the owner of its CRDs', async () => {
    const env = await platformEnvironment()
    await env.publish('csv', '1.0.0')
    await env.list('csv', '1.0.0', { preinstalled: { olmPackages: ['csv-operator'] } })
    const olm = 'operators.coreos.com/v1alpha1'
    await env.client.create(crds, crdObject('ClusterServiceVersion', 'operators.coreos.com', 'v1alpha1'))
    const ServiceVersion = resourceOf(olm, 'ClusterServiceVersion', {
      plural: 'clusterserviceversions',
      namespaced: true,
    })
    await env.settle()
    for (const [name, labels] of [
      ['csv-operator.v1.2.3', {}],
      ['renamed.v1', { 'operators.coreos.com/csv-operator.default': '' }],
      ['csv-operator.v1.2.2', { 'olm.copiedFrom': 'operators' }],
    ] as const) {
      const metadata = { name, namespace: 'default', labels }
      await env.client.create(ServiceVersion, { apiVersion: olm, kind: 'ClusterServiceVersion', metadata })
    }
    const release = { 'meta.helm.sh/release-name': 'tanks', 'meta.helm.sh/release-namespace': 'shop' }
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } } as const
    const { uid } = (await env.client.create(Namespace, shop)).metadata
    const owned = { apiVersion: 'v1', kind: 'Namespace', name: 'shop', uid: uid! }
    for (const [kind, metadata] of [
      ['Helmed', { annotations: release }],
      ['Labelled', { labels: { 'olm.managed': 'true' } }],
      ['Owned', { ownerReferences: [owned] }],
    ] as const) {
      const name = kind.toLowerCase()
      await env.offer(name, '1.0.0', { crds: [`${name}s.example.com`] }, crdText(kind))
      const object = crd(kind)
      await env.client.create(crds, { ...object, metadata: { ...object.metadata, ...metadata } })
    }
    await env.declare([{ name: 'csv' }, { name: 'helmed' }, { name: 'labelled' }, { name: 'owned' }])
    expect(await env.said('csv')).toContain(
      ': ClusterServiceVersion default/csv-operator.v1.2.3 of OLM; ClusterServiceVersion default/renamed.v1 of OLM.',
    )
    expect(await env.said('helmed')).toContain('CRD helmeds.example.com, of Helm release shop/tanks.')
    expect(await env.said('labelled')).toContain('CRD labelleds.example.com, of an operator of OLM.')
    expect(await env.said('owned')).toContain('CRD owneds.example.com, owned by Namespace shop.')
  })

  it('and left alone must be there: what is missing is named, and an object of another owner is, too', async () => {
    const env = await platformEnvironment()
    await env.offer('tanks', '1.0.0', { crds: ['tanks.example.com'] }, crdText('Tank'))
    await env.offer('queue', '1.0.0')
    const metadata = { name: 'queue', namespace: 'muster-system' }
    await env.client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'muster-system' } })
    const foreign = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: 'theirs' } } as const
    await env.client.create(ConfigMap, foreign, { fieldManager: 'kubectl' })
    const left = { managementState: 'Unmanaged' }
    await env.declare([{ name: 'tansk', ...left }, { name: 'tanks', ...left }, { name: 'queue' }])
    expect(await env.said('tansk')).toContain('Error ComponentNotFound: There is no Component tansk.')
    expect(await env.said('tanks')).toContain('Error NotInstalled')
    expect((await env.platform()).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'TanksReady', status: 'False', reason: 'NotInstalled' }),
    )
    const said = await env.said('queue')
    expect(said).toContain('belongs to the field manager kubectl')
    expect(said).toContain('managementState: Adopt takes such objects over, Unmanaged leaves the component alone')
    await env.change({ components: [{ name: 'queue', managementState: 'Adopt' }] })
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
  })
})

describe('requirements', () => {
  it('are installed first, and removed last', async () => {
    const env = await platformEnvironment()
    await env.offer('base', '1.0.0')
    await env.offer('top', '1.0.0', { requires: [{ component: 'base', version: '>=1.0' }] })
    await env.declare([{ name: 'top' }])
    expect(await env.said('top')).toBe(
      'Error RequirementMissing: It requires component base >=1.0, which is not switched on. Add it to spec.components.',
    )
    await env.change({ components: [{ name: 'top' }, { name: 'base' }] })
    expect((await env.platform()).status?.state).toBe('Ready')
    await env.change({ components: [{ name: 'top' }, { name: 'base', managementState: 'Removed' }] })
    expect(await env.said('base')).toContain('Warning RequiredByOthers: It is required by top.')
    expect(await env.client.get(ConfigMap, { name: 'base', namespace: 'muster-system' })).toBeDefined()
    await env.change({ components: [] })
    expect((await env.client.list(Installation)).items).toEqual([])
  })

  it('are named when their version does not fit, and when they lead back', async () => {
    const env = await platformEnvironment()
    await env.offer('base', '1.0.0', { requires: [{ component: 'loop' }] })
    await env.offer('loop', '1.0.0', { requires: [{ component: 'base' }] })
    await env.offer('old', '1.0.0')
    await env.offer('top', '1.0.0', { requires: [{ component: 'old', version: '>=2' }] })
    await env.offer('vague', '1.0.0', { requires: [{ component: 'old', version: 'not a range' }] })
    const names = ['base', 'loop', 'old', 'top', 'vague']
    await env.declare(names.map((name) => ({ name })))
    expect(await env.said('vague')).toBe(
      'Error InvalidRequirement: requires of ComponentVersion vague-1.0.0: the version "not a range" of component old is no range, ' +
        'such as >=1.2 <2. Publish a version with a valid one.',
    )
    expect(await env.said('base')).toContain(
      'Error RequirementCircle: Components require each other: base → loop → base.',
    )
    expect(await env.said('loop')).toContain('loop → base → loop')
    expect(await env.said('top')).toContain(
      'Error RequirementVersion: It requires component old >=2; installed is 1.0.0.',
    )
    expect(await env.component('old')).toMatchObject({ state: 'Ready' })
  })

  it('may be kinds that another operator serves; it goes on when they are there', async () => {
    const env = await platformEnvironment()
    const kind = { apiVersion: 'example.com/v1', kind: 'Tank', providedBy: 'the tank operator' }
    await env.offer('top', '1.0.0', { requires: [{ kind }] })
    await env.declare([{ name: 'top' }])
    expect(await env.said('top')).toBe(
      'Error PrerequisiteMissing: The cluster does not serve Tank of example.com/v1. Install the tank operator; it goes on by itself.',
    )
    await env.client.create(crds, crd('Tank'))
    await env.settle(60_000)
    expect(await env.component('top')).toMatchObject({ state: 'Ready' })
  })

  it('on one CRD by two components are refused for the second', async () => {
    const env = await platformEnvironment()
    await env.offer('alpha', '1.0.0', { crds: ['tanks.example.com'] }, crdText('Tank'))
    await env.offer('beta', '1.0.0', { crds: ['tanks.example.com'] }, crdText('Tank'))
    await env.declare([{ name: 'beta' }, { name: 'alpha' }])
    expect(await env.component('alpha')).toMatchObject({ state: 'Ready' })
    expect(await env.said('beta')).toContain(
      'Error CrdConflict: CRD tanks.example.com belongs to component alpha, too.',
    )
  })
})

describe('conflicts', () => {
  it('with objects that are there hold back an upgrade; they are left alone, and it goes on when they are gone', async () => {
    const env = await platformEnvironment()
    const AppWrapper = resourceOf('example.com/v1', 'AppWrapper', { plural: 'appwrappers', namespaced: true })
    await env.client.create(crds, crd('AppWrapper'))
    await env.settle()
    const metadata = { name: 'job', namespace: 'default' }
    await env.client.create(AppWrapper, { apiVersion: 'example.com/v1', kind: 'AppWrapper', metadata })
    const conflicts = [{ apiVersion: 'example.com/v1', kind: 'AppWrapper', message: 'Recreate them as RayClusters.' }]
    await env.offer('ray', '2.0.0')
    await env.offer('other', '1.0.0', { conflicts: [{ apiVersion: 'example.com/v1', kind: 'Absent' }] })
    await env.declare([{ name: 'ray' }, { name: 'other' }])
    expect((await env.platform()).status?.state).toBe('Ready')
    await env.publish('ray', '3.0.0', { conflicts })
    await env.move('ray', '3.0.0')
    expect(await env.said('ray')).toBe(
      'Warning ConflictingObjects: Version 3.0.0 cannot run beside objects of AppWrapper of example.com/v1: AppWrapper default/job. ' +
        'They were left as they are. Recreate them as RayClusters. It goes on by itself when they are gone.',
    )
    expect(await env.component('ray')).toMatchObject({ version: '2.0.0', target: '3.0.0' })
    await env.client.delete(AppWrapper, metadata)
    await env.settle(60_000)
    expect(await env.component('ray')).toMatchObject({ state: 'Ready', version: '3.0.0' })
  })
})

describe('an upgrade', () => {
  it('with a downtime says that no maintenance window is declared, and begins in one', async () => {
    const env = await platformEnvironment()
    const downtime = { requiresDowntime: true }
    await env.offer('queue', '1.0.0', downtime)
    await env.declare([{ name: 'queue' }])
    await env.publish('queue', '1.1.0', downtime)
    await env.move('queue', '1.1.0')
    expect(await env.said('queue')).toContain('Warning WaitsForMaintenance')
    const hour = (more: number): string => new Date(env.clock.now() + more * 3_600_000).toISOString().slice(11, 16)
    await env.change({ maintenance: { windows: [{ begin: hour(3), end: hour(5) }] } })
    expect(await env.component('queue')).toMatchObject({
      state: 'Ready',
      version: '1.0.0',
      target: '1.1.0',
      maintenance: true,
    })
    expect((await env.platform()).status?.state).toBe('Ready')
    await env.clock.advance(3.5 * 3_600_000)
    await env.settle(60_000)
    const upgraded = await env.component('queue')
    expect(upgraded).toMatchObject({ state: 'Ready', version: '1.1.0' })
    expect(upgraded).not.toHaveProperty('maintenance')
  })
})

describe('run levels', () => {
  const stuck = configMapText('low', '1').replace('metadata:', 'immutable: "no"\nmetadata:')

  it('wait for the lower one, then go on after a time; a component that is off does not count', async () => {
    const env = await platformEnvironment()
    await env.publish('low', '1.0.0', {}, stuck)
    await env.list('low', '1.0.0', { runLevel: 20 })
    await env.publish('off', '1.0.0', {}, stuck)
    await env.list('off', '1.0.0', { runLevel: 10 })
    await env.offer('high', '1.0.0')
    const components = [{ name: 'low' }, { name: 'high' }, { name: 'off', managementState: 'Removed' }]
    await env.declare(components, { runLevelTimeout: '10m' })
    expect(await env.said('high')).toContain('Processing WaitsForRunLevel: Run level 99 waits for level 20: low; until')
    await env.clock.advance(10 * 60_000)
    await env.settle(60_000)
    expect(await env.component('high')).toMatchObject({ state: 'Ready' })
    expect(await env.component('low')).toMatchObject({ state: 'Error' })
    const reason = 'RunLevelTimeoutExceeded'
    const message = 'Run level 20 was not ready within 10m: low. Higher levels went on without it.'
    const { status } = await env.platform()
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'RunLevels', reason, message }))
    expect(status?.runLevels).toMatchObject([{ level: 20, timedOut: true }])
    const events = (await env.client.list(Event)).items.filter((one) => one['reason'] === reason)
    expect(events).toEqual([expect.objectContaining({ message })])
  })
})

describe('maintenance windows', () => {
  const window = (begin: string, end: string, more: Partial<MaintenanceWindow> = {}): MaintenanceWindow => ({
    days: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'],
    begin,
    end,
    offset: '+00:00',
    ...more,
  })
  const at = (text: string): number => Date.parse(text)

  // 2026-11-18 is a Wednesday.
  it.each([
    ['inside', window('22:00', '04:00'), '2026-11-18T23:00:00Z', true, '2026-11-19T03:40:00.001Z'],
    [
      'after midnight, by the day it began',
      window('22:00', '04:00', { days: ['Tue'] }),
      '2026-11-18T01:00:00Z',
      true,
      '2026-11-18T03:40:00.001Z',
    ],
    [
      'too close to its end',
      window('22:00', '04:00', { days: ['Tue'] }),
      '2026-11-18T03:50:00Z',
      false,
      '2026-11-24T22:00:00.000Z',
    ],
    ['before it', window('22:00', '23:00'), '2026-11-18T01:00:00Z', false, '2026-11-18T22:00:00.000Z'],
    [
      'with an offset',
      window('00:30', '02:00', { days: ['Thu'], offset: '+02:00' }),
      '2026-11-18T22:45:00Z',
      true,
      '2026-11-18T23:40:00.001Z',
    ],
    [
      'in the first half of one that is shorter than 20 minutes',
      window('22:00', '22:10'),
      '2026-11-18T22:04:00Z',
      true,
      '2026-11-18T22:05:00.001Z',
    ],
    ['in the second half of it', window('22:00', '22:10'), '2026-11-18T22:06:00Z', false, '2026-11-19T22:00:00.000Z'],
    ['all day', window('00:00', '00:00'), '2026-11-18T12:00:00Z', true, '2026-11-18T23:40:00.001Z'],
  ])('%s', (_, one, now, isOpen, changesAt) => {
    const found = maintenanceAt([one], at(now))
    expect(found.isOpen).toBe(isOpen)
    expect(new Date(found.changesAt ?? 0).toISOString()).toBe(changesAt)
  })

  it('none are never open', () => expect(maintenanceAt([], 0)).toEqual({ isOpen: false, changesAt: undefined }))
})
