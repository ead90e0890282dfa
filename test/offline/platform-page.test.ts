/** The manifests of docs/platform.md, applied one after another: each has the effect that the page says. */
import { describe, expect, it } from 'vitest'
import { formatApiVersion, kindOf } from '../../src/kube/kind.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import type { TypedResource } from '../../src/kube/typed-resource.ts'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { Component } from '../../src/platform/catalogue/component.ts'
import { ComponentVersion } from '../../src/platform/catalogue/component-version.ts'
import { Platform } from '../../src/platform/components/platform.ts'
import { readPage } from '../pages.ts'
import { platformEnvironment } from '../platform-environment.ts'

const blocks = readPage('platform.md').blocks('yaml')
const resources: readonly TypedResource[] = [Component, ComponentVersion, Platform]

describe('docs/platform.md', () => {
  it('shows manifests that do what it says', async () => {
    const env = await platformEnvironment()
    const apply = async (text: string): Promise<void> => {
      for (const object of readYamlDocuments(text) as unknown as readonly UntypedObject[]) {
        const resource = resources.find((one) => one.kind === object.kind)!
        expect(object.apiVersion).toBe(formatApiVersion(kindOf({ ...object })))
        await env.client.apply(resource, object, { fieldManager: 'kubectl' })
      }
      await env.settle(60_000)
    }
    const [publish = '', on = '', installedByOthers = '', windows = '', skip = '', off = ''] = blocks
    expect(blocks).toHaveLength(6)
    await apply(publish)
    await apply(on)
    expect(await env.component('queue')).toMatchObject({ state: 'Ready', version: '1.0.0' })
    expect(await env.client.get(ConfigMap, { name: 'queue', namespace: 'queue' })).toMatchObject({
      data: { version: '1.0.0' },
    })
    await apply(installedByOthers)
    expect(await env.component('queue')).toMatchObject({ state: 'Ready' })
    await apply(windows)
    expect(await env.component('queue')).toMatchObject({
      state: 'Ready',
      version: '1.0.0',
      target: '1.1.0',
      maintenance: true,
    })
    await apply(skip)
    expect(await env.component('queue')).toMatchObject({ state: 'Ready', version: '1.1.0' })
    await apply(off)
    expect(await env.component('queue')).toMatchObject({ state: 'Removed' })
    expect((await env.platform()).status?.state).toBe('Ready')
  })
})
