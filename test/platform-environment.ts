/** A test environment that hosts the operator of the platform, and short words for what its tests do. */
import { onTestFinished } from 'vitest'
import { seededRandom } from '../src/clock/random.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import type { JsonObject } from '../src/kube/json.ts'
import type { KubeObject } from '../src/kube/object.ts'
import { openTestEnvironment, type TestEnvironment } from '../src/manager/testing/test-environment.ts'
import { Component } from '../src/platform/catalogue/component.ts'
import { ComponentVersion } from '../src/platform/catalogue/component-version.ts'
import { componentsOperator } from '../src/platform/components/operator.ts'
import { type ComponentReport, Platform, type PlatformObject } from '../src/platform/components/platform.ts'

export interface PlatformEnvironment extends TestEnvironment {
  /** A ComponentVersion with manifests: one ConfigMap named as the component, unless they are given. */
  readonly publish: (component: string, version: string, more?: JsonObject, text?: string) => Promise<void>
  /** A Component whose channel `stable` names this version. */
  readonly list: (name: string, version: string, more?: JsonObject) => Promise<void>
  /** Both. */
  readonly offer: (name: string, version: string, more?: JsonObject, text?: string) => Promise<void>
  readonly declare: (components: readonly JsonObject[], more?: JsonObject) => Promise<void>
  /** Changes the spec of the Platform. */
  readonly change: (spec: JsonObject) => Promise<void>
  /** Changes the version of a channel. */
  readonly move: (name: string, version: string, channel?: string) => Promise<void>
  readonly platform: () => Promise<PlatformObject>
  readonly component: (name: string) => Promise<ComponentReport | undefined>
  /** `Error VersionNotFound: …` */
  readonly said: (name: string) => Promise<string>
}

const of = (kind: string, name: string, spec: JsonObject): KubeObject =>
  ({ apiVersion: 'platform.muster.dev/v1alpha1', kind, metadata: { name }, spec }) as KubeObject

export const configMapText = (name: string, value: string): string =>
  `---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { key: "${value}" }\n`

/** A CRD of group example.com with one version and any content. */
export const crdText = (kind: string, scope = 'Namespaced'): string => `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: ${kind.toLowerCase()}s.example.com }
spec:
  group: example.com
  scope: ${scope}
  names: { kind: ${kind}, plural: ${kind.toLowerCase()}s, singular: ${kind.toLowerCase()} }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } } }]
`

/** It ends with the test. */
export async function platformEnvironment(): Promise<PlatformEnvironment> {
  const operator = componentsOperator({ clock: systemClock, random: seededRandom(1) })
  const testEnv = await openTestEnvironment(operator, { workloads: true })
  onTestFinished(() => testEnv.close())
  const { client } = testEnv
  const patch = async (kind: typeof Platform | typeof Component, name: string, spec: JsonObject): Promise<void> =>
    void (await client.patch<KubeObject>(kind, { name }, { spec }, { type: 'merge', fieldManager: 'kubectl' }))
  const publish: PlatformEnvironment['publish'] = async (component, version, more = {}, text) => {
    const source = { manifests: { text: text ?? configMapText(component, version) } }
    const spec = { component, version, source, ...more }
    await testEnv.create(ComponentVersion, of('ComponentVersion', `${component}-${version}`, spec))
  }
  const list: PlatformEnvironment['list'] = async (name, version, more = {}) => {
    await testEnv.create(Component, of('Component', name, { channels: [{ name: 'stable', version }], ...more }))
  }
  const platform = async (): Promise<PlatformObject> => await client.get(Platform, { name: 'default' })
  const component: PlatformEnvironment['component'] = async (name) =>
    (await platform()).status?.components?.find((one) => one.name === name)
  // Not spread: its getters are asked each time.
  return Object.assign(Object.create(testEnv) as TestEnvironment, {
    publish,
    list,
    platform,
    component,
    async offer(name: string, version: string, more?: JsonObject, text?: string) {
      await publish(name, version, more, text)
      await list(name, version)
    },
    async declare(components: readonly JsonObject[], more: JsonObject = {}) {
      await testEnv.create(Platform, of('Platform', 'default', { components, ...more }))
      await testEnv.settle(60_000)
    },
    async change(spec: JsonObject) {
      await patch(Platform, 'default', spec)
      await testEnv.settle(60_000)
    },
    async move(name: string, version: string, channel = 'stable') {
      await patch(Component, name, { channels: [{ name: channel, version }] })
      await testEnv.settle(60_000)
    },
    async said(name: string) {
      const { state = '', reason = '', message = '' } = (await component(name)) ?? {}
      return `${state} ${reason}: ${message}`
    },
  })
}
