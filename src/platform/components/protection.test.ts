/** The protection of what a Platform has installed, and components that are let go. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import type { KubeObject } from '../../kube/object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { openTestEnvironment, type TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Component } from '../catalogue/component.ts'
import { ComponentVersion } from '../catalogue/component-version.ts'
import { Installation } from '../installation/installation.ts'
import { componentsOperator } from './operator.ts'
import { type ComponentReport, Platform } from './platform.ts'

const operator = componentsOperator({ clock: systemClock, random: seededRandom(1) })
const policies = resourceOf('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', {
  plural: 'validatingadmissionpolicies',
  namespaced: false,
})
const bindings = resourceOf('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding')

const of = (kind: string, name: string, spec: JsonObject): KubeObject =>
  ({ apiVersion: 'platform.muster.dev/v1alpha1', kind, metadata: { name }, spec }) as KubeObject
const at = { name: 'queue', namespace: 'muster-system' }

/** A cluster with the component `queue` in this state. */
async function opened(spec: JsonObject = {}, state: JsonObject = {}): Promise<TestEnvironment> {
  const testEnv = await openTestEnvironment(operator)
  onTestFinished(() => testEnv.close())
  const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: queue }\ndata: { key: x }\n'
  const version = { component: 'queue', version: '1.0.0', source: { manifests: { text } } }
  await testEnv.create(ComponentVersion, of('ComponentVersion', 'queue-1.0.0', version))
  const channels = [{ name: 'stable', version: '1.0.0' }]
  await testEnv.create(Component, of('Component', 'queue', { channels }))
  await testEnv.create(Platform, of('Platform', 'default', { components: [{ name: 'queue', ...state }], ...spec }))
  await testEnv.settle(60_000)
  return testEnv
}

const change = async (testEnv: TestEnvironment, spec: JsonObject): Promise<void> => {
  await testEnv.client.patch(Platform, { name: 'default' }, { spec }, { type: 'merge', fieldManager: 'kubectl' })
  await testEnv.settle(60_000)
}
const manage = async (testEnv: TestEnvironment, managementState: string): Promise<void> =>
  await change(testEnv, { components: [{ name: 'queue', managementState }] })
const state = async ({
  client,
}: TestEnvironment): Promise<readonly [string | undefined, ComponentReport | undefined]> => {
  const { status } = await client.get(Platform, { name: 'default' })
  return [status?.state, status?.components?.[0]]
}
/** The metric of components that are left alone. */
const unmanaged = ({ ledgers }: TestEnvironment): number | undefined =>
  ledgers.findLast(({ gauges }) => gauges)?.gauges?.get('components_unmanaged')
const edit = async ({ client }: TestEnvironment, patch: JsonObject): Promise<unknown> =>
  await client.patch(ConfigMap, at, patch, { type: 'merge', fieldManager: 'kubectl' })
const actions = async ({ client }: TestEnvironment): Promise<unknown> =>
  (await client.list(bindings)).items.map(
    (one) => (one as { spec?: { validationActions?: unknown } }).spec?.validationActions,
  )

describe('a Platform protects what it has installed', () => {
  it('as it is told, and no longer when it is deleted', async () => {
    const testEnv = await opened()
    expect(await actions(testEnv)).toEqual([['Deny'], ['Deny']])
    await expect(edit(testEnv, { data: { key: 'y' } })).rejects.toThrow(
      'is managed by Installation muster-system/queue',
    )
    await expect(testEnv.client.delete(ConfigMap, at)).rejects.toThrow('is not to be deleted by hand')
    await change(testEnv, { protection: 'Warn' })
    expect(await actions(testEnv)).toEqual([
      ['Warn', 'Audit'],
      ['Warn', 'Audit'],
    ])
    await edit(testEnv, { data: { key: 'y' } })
    await testEnv.settle(60_000)
    expect((await testEnv.client.get(ConfigMap, at)).data).toEqual({ key: 'x' })
    await change(testEnv, { protection: 'Off' })
    expect([await actions(testEnv), (await testEnv.client.list(policies)).items]).toEqual([[], []])
    await change(testEnv, { protection: 'Deny' })
    await testEnv.client.delete(Platform, { name: 'default' })
    await testEnv.settle(60_000)
    expect((await testEnv.client.list(Platform)).items).toEqual([])
    expect([await actions(testEnv), (await testEnv.client.list(policies)).items]).toEqual([[], []])
    await expect(testEnv.client.get(ConfigMap, at)).rejects.toThrow('not found')
  })

  it('also while its process is away, and its Installations from being deleted', async () => {
    const testEnv = await opened()
    await testEnv.stop()
    await expect(edit(testEnv, { data: { key: 'y' } })).rejects.toThrow('is managed by Installation')
    await expect(testEnv.client.delete(Installation, at)).rejects.toThrow(
      'Installation muster-system/queue belongs to a Platform and is not to be deleted by hand.',
    )
    const annotations = { 'platform.muster.dev/break-glass': 'incident 12' }
    await testEnv.client.patch(Installation, at, { metadata: { annotations } }, { type: 'merge' })
    await testEnv.start()
    await testEnv.settle(60_000)
    expect(await state(testEnv)).toMatchObject(['Warning', { reason: 'BreakGlass', breakGlass: 'incident 12' }])
    await testEnv.client.delete(Installation, at)
    await testEnv.settle(60_000)
    // It is wanted, so it is installed again.
    expect(await state(testEnv)).toMatchObject(['Ready', { state: 'Ready' }])
    const events = (await testEnv.client.list(resourceOf('v1', 'Event'))).items.map((one) => asJson(one))
    const message = 'Installation muster-system/queue was taken out of protection: incident 12'
    expect(events.filter(({ reason }) => reason === 'BreakGlass')).toMatchObject([{ message, count: 1 }])
  })

  it('and names objects that were taken out of protection', async () => {
    const testEnv = await opened()
    await edit(testEnv, { metadata: { annotations: { 'platform.muster.dev/break-glass': 'incident 12' } } })
    await edit(testEnv, { data: { key: 'y' } })
    await testEnv.settle(60_000)
    const [whole, queue] = await state(testEnv)
    expect([whole, queue?.state]).toEqual(['Warning', 'Warning'])
    expect(queue?.message).toContain('ConfigMap muster-system/queue since')
    await edit(testEnv, { metadata: { annotations: { 'platform.muster.dev/break-glass': null } } })
    await testEnv.settle(60_000)
    expect(await state(testEnv)).toMatchObject(['Ready', { state: 'Ready' }])
    expect((await testEnv.client.get(ConfigMap, at)).data).toEqual({ key: 'x' })
  })
})

describe('a component that becomes Unmanaged', () => {
  it('keeps its objects without labels, also when its entry is removed', async () => {
    const testEnv = await opened()
    const { metadata } = await testEnv.client.get(ConfigMap, at)
    await manage(testEnv, 'Unmanaged')
    expect(await state(testEnv)).toMatchObject(['Ready', { state: 'Unmanaged', managementState: 'Unmanaged' }])
    expect(unmanaged(testEnv)).toBe(1)
    expect((await testEnv.client.list(Installation)).items).toEqual([])
    const after = (await testEnv.client.get(ConfigMap, at)).metadata
    expect(after).toMatchObject({
      uid: metadata.uid,
      annotations: { 'platform.muster.dev/released-by': 'muster-system.queue' },
    })
    expect(after.labels ?? {}).toEqual({})
    await edit(testEnv, { data: { key: 'mine' } })
    await change(testEnv, { components: [] })
    expect(await testEnv.client.get(ConfigMap, at)).toMatchObject({
      metadata: { uid: metadata.uid },
      data: { key: 'mine' },
    })
  })

  it('is taken back when it is Managed again before all of it is let go', async () => {
    const testEnv = await opened()
    const { metadata } = await testEnv.client.get(ConfigMap, at)
    await testEnv.stop()
    const orphaned = { spec: { deletion: 'orphan' } }
    const { uid = '' } = (await testEnv.client.patch(Installation, at, orphaned, { type: 'merge' })).metadata
    await testEnv.client.delete(Installation, at, { preconditions: { uid } })
    await testEnv.start()
    await testEnv.settle(60_000)
    expect(await state(testEnv)).toMatchObject(['Ready', { state: 'Ready' }])
    expect((await testEnv.client.get(ConfigMap, at)).metadata.uid).toBe(metadata.uid)
  })

  it('is taken back when it is Managed again', async () => {
    const testEnv = await opened()
    const { metadata } = await testEnv.client.get(ConfigMap, at)
    await manage(testEnv, 'Unmanaged')
    await manage(testEnv, 'Managed')
    expect(await state(testEnv)).toMatchObject(['Ready', { state: 'Ready', version: '1.0.0' }])
    expect(unmanaged(testEnv)).toBe(0)
    const after = (await testEnv.client.get(ConfigMap, at)).metadata
    expect(after).toMatchObject({
      uid: metadata.uid,
      labels: { 'platform.muster.dev/installation': 'muster-system.queue' },
    })
    expect(after.annotations).not.toHaveProperty(['platform.muster.dev/released-by'])
    await manage(testEnv, 'Removed')
    await expect(testEnv.client.get(ConfigMap, at)).rejects.toThrow('not found')
  })
})
