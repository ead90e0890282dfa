import { describe, expect, it } from 'vitest'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { readConfiguration } from './configuration.ts'
import { defaultText } from './default-text.ts'
import { installedConfigMap, podLayer, type PodPlace } from './pod-layer.ts'
import type { Settings } from './settings.ts'

const settingsIn = (pod: PodPlace, value = {}): Settings =>
  readConfiguration([podLayer(pod), { source: 'file', value }]).settings

describe('the defaults of a Pod', () => {
  it('are objects in its namespace', () => {
    expect(settingsIn({ namespace: 'shop' })).toMatchObject({
      leaderElection: { resourceNamespace: 'shop', resourceName: 'muster' },
      sharding: { namespace: 'shop', group: 'muster' },
      watchdog: { quarantine: 'shop/muster-quarantine' },
      webhooks: { secret: 'shop/muster-webhook-certificates' },
    })
    expect(settingsIn({ namespace: 'shop' }).webhooks).not.toHaveProperty('service')
  })

  it('have the name of the installation, and its webhook Service', () => {
    const pod = { namespace: 'shop', installation: 'ops' }
    expect(settingsIn(pod)).toMatchObject({
      leaderElection: { resourceNamespace: 'shop', resourceName: 'ops' },
      sharding: { namespace: 'shop', group: 'ops' },
      watchdog: { quarantine: 'shop/ops-quarantine' },
      webhooks: { secret: 'shop/ops-webhook-certificates', service: 'shop/ops-webhooks' },
    })
    expect(installedConfigMap(pod)).toBe('shop/ops')
    expect(installedConfigMap({ namespace: 'shop' })).toBeUndefined()
  })

  it('are overridden by the configuration', () => {
    const value = { leaderElection: { resourceNamespace: 'elsewhere' } }
    expect(settingsIn({ namespace: 'shop' }, value).leaderElection.resourceNamespace).toBe('elsewhere')
  })

  it('are in the text of a ConfigMap that the manager creates', () => {
    const layer = podLayer({ namespace: 'shop', installation: 'ops' })
    const written = readYaml(defaultText([], [layer]))
    const alone = readConfiguration([{ source: 'ConfigMap', value: written }]).settings
    expect(alone).toEqual(readConfiguration([layer]).settings)
  })
})
