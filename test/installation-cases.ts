/**
 * Stories of Installations: the same on the embedded and on the real server. A case uses names of its own in a namespace, and
 * waits for effects, never for a time.
 */
import { expect } from 'vitest'
import type { Client } from '../src/client/client.ts'
import type { JsonObject } from '../src/kube/json.ts'
import { ConfigMap, Deployment } from '../src/kube/kinds.ts'
import { findCondition } from '../src/kube/meta/condition.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { resourceOf, type TypedResource } from '../src/kube/typed-resource.ts'
import { Installation } from '../src/platform/installation/installation.ts'
import { configMap, deployment } from './installation-environment.ts'
import { find } from './operator-environment.ts'

export interface InstallationPlace {
  readonly client: Client
  readonly namespace: string
  /** Runs the assertion when the controllers have come to rest, or until it holds. */
  readonly eventually: (assertion: () => Promise<void>) => Promise<void>
}

const Event: TypedResource<UntypedObject> = resourceOf('v1', 'Event')

/** Short words for what the stories do. */
function words({ client, namespace, eventually }: InstallationPlace) {
  const at = (name: string) => ({ name, namespace })
  const said = async (name: string, type = 'Ready'): Promise<string> => {
    const found = findCondition((await client.get(Installation, at(name))).status?.conditions, type)
    return found ? `${found.status} ${found.reason}: ${found.message}` : 'absent'
  }
  return {
    at,
    install: async (name: string, text: string, more: JsonObject = {}): Promise<void> => {
      const spec = { source: { manifests: { text } }, ...more }
      const object = { apiVersion: 'platform.muster.dev/v1alpha1', kind: 'Installation', metadata: at(name), spec }
      await client.create(Installation, object as never)
    },
    change: async (name: string, spec: JsonObject): Promise<void> =>
      void (await client.patch(Installation, at(name), { spec }, { type: 'merge', fieldManager: 'kubectl' })),
    says: (name: string, text: string, type?: string): Promise<void> =>
      eventually(async () => expect(await said(name, type)).toContain(text)),
    key: async (name: string): Promise<string | undefined> => (await find(client, ConfigMap, at(name)))?.data?.['key'],
    uninstall: async (...names: readonly string[]): Promise<void> => {
      for (const name of names) await client.delete(Installation, at(name))
      for (const name of names)
        await eventually(async () => expect(await find(client, Installation, at(name))).toBeUndefined())
    },
  }
}

const stories: Readonly<Record<string, (place: InstallationPlace) => Promise<void>>> = {
  'an object that a new revision leaves out is deleted, but for kept ones; a source without objects deletes nothing':
    async (place) => {
      const { install, change, says, key, uninstall } = words(place)
      const kept = configMap('left-kept').replace(
        'name: left-kept',
        'name: left-kept, annotations: { platform.muster.dev/prune: disabled }',
      )
      await install('left', configMap('left-a') + configMap('left-b') + kept)
      await says('left', 'True')
      await change('left', { source: { manifests: { text: configMap('left-a', 'y') } } })
      await place.eventually(async () => expect(await key('left-b')).toBeUndefined())
      expect([await key('left-a'), await key('left-kept')]).toEqual(['y', 'x'])
      await change('left', { source: { manifests: { text: '# nothing\n' } } })
      await says('left', 'False')
      expect([await key('left-a'), await key('left-kept')]).toEqual(['y', 'x'])
      await uninstall('left')
      expect([await key('left-a'), await key('left-kept')]).toEqual([undefined, 'x'])
    },

  'an ignored field stays as a user has set it, and the rest is put back; with the mode warn it is an Event only':
    async (place) => {
      const { client, eventually } = place
      const { at, install, says, key, uninstall } = words(place)
      const ignore = [{ paths: ['/spec/replicas'], target: { kind: 'Deployment' } }]
      const text = deployment('web:1').replaceAll('web }', 'drift }').replace('name: web }', 'name: drift }')
      await install('drift', text, { drift: { ignore } })
      await install('warned', configMap('warned'), { drift: { mode: 'warn' } })
      await says('drift', 'True')
      await says('warned', 'True')
      const spec = { replicas: 3, template: { spec: { containers: [{ name: 'web', image: 'web:9' }] } } }
      await client.patch(Deployment, at('drift'), { spec }, { type: 'strategic', fieldManager: 'kubectl-edit' })
      const theirs = { data: { key: 'z' } }
      await client.patch(ConfigMap, at('warned'), theirs, { type: 'merge', fieldManager: 'kubectl' })
      await eventually(async () => {
        const containers = [{ image: 'web:1' }]
        expect(await client.get(Deployment, at('drift'))).toMatchObject({
          spec: { replicas: 3, template: { spec: { containers } } },
        })
      })
      await says('warned', 'ConfigMap', 'Drifted')
      expect(await key('warned')).toBe('z')
      await eventually(async () => {
        const { items } = await client.list(Event, { namespace: place.namespace })
        const messages = items.filter((one) => one['reason'] === 'Drifted').map((one) => one['message'])
        expect(messages.join()).toContain('warned: data.key. It is left as it is.')
      })
      await uninstall('drift', 'warned')
    },

  'of two that claim one object the second says whose it is, and changes nothing': async (place) => {
    const { install, says, key, uninstall } = words(place)
    await install('first', configMap('claimed', 'first'))
    await says('first', 'True')
    await install('second', configMap('claimed', 'second'))
    await says('second', `belongs to ${place.namespace}.first`)
    await says('first', 'True')
    expect(await key('claimed')).toBe('first')
    await uninstall('second', 'first')
  },

  'one that is suspended puts nothing back, until it is not': async (place) => {
    const { client } = place
    const { at, install, change, says, key, uninstall } = words(place)
    await install('paused', configMap('paused'))
    await says('paused', 'True')
    await change('paused', { suspend: true })
    await says('paused', 'False')
    await client.delete(ConfigMap, at('paused'))
    await change('paused', { historyLimit: 7 })
    await place.eventually(async () => {
      const { status, metadata } = await client.get(Installation, at('paused'))
      expect(status?.observedGeneration).toBe(metadata.generation)
    })
    expect(await key('paused')).toBeUndefined()
    await change('paused', { suspend: false })
    await place.eventually(async () => expect(await key('paused')).toBe('x'))
    await uninstall('paused')
  },
}

export const installationCases: readonly {
  readonly title: string
  readonly expectStory: (place: InstallationPlace) => Promise<void>
}[] = Object.entries(stories).map(([title, expectStory]) => ({ title, expectStory }))
