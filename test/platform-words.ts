/** Short words for what tests do with a Platform, on a cluster of either server. */
import { expect } from 'vitest'
import type { Client } from '../src/client/client.ts'
import type { JsonObject } from '../src/kube/json.ts'
import type { KubeObject, UntypedObject } from '../src/kube/object.ts'
import type { TypedResource } from '../src/kube/typed-resource.ts'
import type { ObjectName } from '../src/operator/view/view.ts'
import { Component } from '../src/platform/catalogue/component.ts'
import { ComponentVersion } from '../src/platform/catalogue/component-version.ts'
import { type ComponentReport, Platform, type PlatformObject } from '../src/platform/components/platform.ts'
import { find } from './operator-environment.ts'

export interface PlatformWords {
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
  /** Runs the assertion when the controllers have come to rest, or until it holds. */
  readonly eventually: (assertion: () => Promise<void>) => Promise<void>
  /** The component's line in the status, eventually. */
  readonly shows: (name: string, report: Partial<ComponentReport>) => Promise<void>
  /** What `said` contains, eventually. */
  readonly says: (name: string, ...texts: readonly string[]) => Promise<void>
  /** The state of the whole Platform, eventually. */
  readonly state: (state: string) => Promise<void>
  readonly gone: (resource: TypedResource, name: ObjectName) => Promise<void>
}

const of = (kind: string, name: string, spec: JsonObject): UntypedObject => ({
  apiVersion: 'platform.muster.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
})

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

export function platformWords(
  client: Client,
  { rested, eventually }: { readonly rested: () => Promise<void> } & Pick<PlatformWords, 'eventually'>,
): PlatformWords {
  const patch = async (kind: typeof Platform | typeof Component, name: string, spec: JsonObject): Promise<void> => {
    await client.patch<KubeObject>(kind, { name }, { spec }, { type: 'merge', fieldManager: 'kubectl' })
    await rested()
  }
  const publish: PlatformWords['publish'] = async (component, version, more = {}, text) => {
    const source = { manifests: { text: text ?? configMapText(component, version) } }
    const spec = { component, version, source, ...more }
    await client.create(ComponentVersion, of('ComponentVersion', `${component}-${version}`, spec))
  }
  const list: PlatformWords['list'] = async (name, version, more = {}) => {
    await client.create(Component, of('Component', name, { channels: [{ name: 'stable', version }], ...more }))
  }
  const platform = async (): Promise<PlatformObject> => await client.get(Platform, { name: 'default' })
  const component: PlatformWords['component'] = async (name) =>
    (await platform()).status?.components?.find((one) => one.name === name)
  const said: PlatformWords['said'] = async (name) => {
    const { state = '', reason = '', message = '' } = (await component(name)) ?? {}
    return `${state} ${reason}: ${message}`
  }
  return {
    publish,
    list,
    platform,
    component,
    said,
    eventually,
    async offer(name, version, more, text) {
      await publish(name, version, more, text)
      await list(name, version)
    },
    async declare(components, more = {}) {
      await client.create(Platform, of('Platform', 'default', { components: [...components], ...more }))
      await rested()
    },
    change: (spec) => patch(Platform, 'default', spec),
    move: (name, version, channel = 'stable') => patch(Component, name, { channels: [{ name: channel, version }] }),
    shows: (name, report) => eventually(async () => expect(await component(name)).toMatchObject(report)),
    says: (name, ...texts) =>
      eventually(async () => {
        const text = await said(name)
        for (const one of texts) expect(text).toContain(one)
      }),
    state: (state) => eventually(async () => expect((await platform()).status?.state).toBe(state)),
    gone: (resource, name) => eventually(async () => expect(await find(client, resource, name)).toBeUndefined()),
  }
}
