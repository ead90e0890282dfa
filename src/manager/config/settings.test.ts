import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { configurationDoc, configurationDocUrl } from '../../../scripts/generate-configuration-doc.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { defaultGates } from '../gates/gate-options.ts'
import { defaultLeaseTimes } from '../leases/lease.ts'
import { defaultGuestLimits } from '../isolation/launch/limits.ts'
import { readConfiguration } from './configuration.ts'
import { gatesOf, leaseTimesOf, limitsOf, objectNameOf, webhookAddressOf } from './options-of.ts'

const { settings } = readConfiguration([{ source: 'test', value: { operators: { a: {} } } }])

describe('the settings', () => {
  it('equal docs/configuration.md (npm run generate)', () => {
    const text = readFileSync(configurationDocUrl, 'utf8')
    // The formatter aligns the tables of the file.
    const words = (table: string): string => table.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
    expect(words(text)).toBe(words(configurationDoc(text)))
  })

  it('in docs/configuration.md are valid', () => {
    const [, example = ''] = /```yaml\n([^]*?)```/.exec(readFileSync(configurationDocUrl, 'utf8')) ?? []
    const read = readConfiguration([{ source: 'docs', value: readYaml(example, { strict: true }) }])
    expect(read.settings.operators['memcached']).toMatchObject({ from: './memcached.ts', config: { replicas: 3 } })
  })

  it('have the defaults of the components that use them', () => {
    const { gates, budgets } = settings.operators['a']!
    expect(gatesOf(gates)).toEqual(defaultGates)
    expect(leaseTimesOf(settings.leaderElection)).toEqual(defaultLeaseTimes)
    expect(leaseTimesOf(settings.sharding)).toEqual(defaultLeaseTimes)
    expect(defaultGuestLimits).toMatchObject(limitsOf(budgets))
    expect(limitsOf({ ...budgets, memory: '2Gi', runTimeout: '1m30s' })).toEqual({
      memoryMb: 2048,
      reconcileMs: 90_000,
    })
  })

  it('state the address of webhooks, or that there is none', () => {
    const { webhooks } = settings
    expect(webhookAddressOf(webhooks)).toBeUndefined()
    expect(webhookAddressOf({ ...webhooks, url: 'https://here' })).toEqual({ url: 'https://here' })
    expect(webhookAddressOf({ ...webhooks, service: 'ops/muster' })).toEqual({
      service: { namespace: 'ops', name: 'muster', port: 443 },
    })
    expect(webhookAddressOf({ ...webhooks, url: 'https://here', port: 0 })).toBeUndefined()
    expect(objectNameOf('a/b')).toEqual({ namespace: 'a', name: 'b' })
  })
})
