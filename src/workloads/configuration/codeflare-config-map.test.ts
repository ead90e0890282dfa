import { describe, expect, it, onTestFinished } from 'vitest'
import { configMap, configMaps, embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { seededRandom } from '../../clock/random.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { configMapSource } from '../../manager/config/config-map-source.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { type OpenConfiguration, openConfiguration } from '../../manager/config/open-configuration.ts'
import type { ImportNote } from '../../platform/import/field-reader.ts'
import { defineConfig } from '../../operator/config.ts'
import { codeflareFormat } from './codeflare-config-map.ts'
import { instascaleField, type PlatformSupport, platformOf } from './instascale-section.ts'
import { workloadsConfig, workloadsName } from './workloads-config.ts'

const operators = [{ name: workloadsName, config: workloadsConfig }]
/** As the node scaler declares it. */
const instascaleConfig = defineConfig({ instascale: instascaleField })
const ref = { namespace: 'default', name: 'codeflare-operator-config' }

function read(text: string) {
  const notes: ImportNote[] = []
  const layer = codeflareFormat((told) => void notes.push(...told)).layer('ConfigMap a/b', text)
  const { settings } = readConfiguration([layer], operators)
  return { settings, config: settings.operators['workloads']?.config, notes }
}

/** As a manager opens it, on a cluster with this ConfigMap. */
async function opened(data?: Readonly<Record<string, string>>) {
  const { client, clock } = embedded()
  if (data) await client.create(configMaps, configMap(ref.name, data))
  const cache = createSharedCache({ client, clock, random: seededRandom(3) })
  onTestFinished(() => cache.close())
  const configuration = await openConfiguration({
    source: configMapSource({ client, cache, ...ref, format: codeflareFormat(() => undefined) }),
    operators,
  })
  onTestFinished(() => configuration.close())
  return { client, configuration }
}

const configOf = ({ current }: OpenConfiguration): unknown => current.settings.operators['workloads']?.config

describe('the ConfigMap of the CodeFlare operator', () => {
  it('is created with all defaults under one key, and read back the same', async () => {
    const { client, configuration } = await opened()
    const { data = {} } = (await client.get(configMaps, ref)) as { readonly data?: Readonly<Record<string, string>> }
    expect(Object.keys(data)).toEqual(['config.yaml'])
    expect(readYaml(data['config.yaml']!)).toMatchObject({
      health: { bindAddress: '0.0.0.0:8081' },
      mcad: { backoffTime: 20, headOfLineHoldingTime: 0 },
      instascale: { maxScaleoutAllowed: 3, machineSetsStrategy: 'reuse' },
      appwrapper: { faultTolerance: { warmupGracePeriod: '5m' } },
    })
    expect(configOf(configuration)).toEqual(workloadsConfig.read({}))
    expect(read(data['config.yaml']!)).toMatchObject({ config: workloadsConfig.read({}), notes: [] })
  })

  it('may say one thing only: all else keeps its default', async () => {
    const { configuration } = await opened({ 'any.yaml': 'instascale: { enabled: true }' })
    expect(configOf(configuration)).toEqual({
      ...workloadsConfig.read({}),
      instascale: { ...workloadsConfig.read({}).instascale, enabled: true },
    })
  })

  it.each([
    ['two keys', { a: '{}', b: '{}' }, 'has the keys a, b: it must have one'],
    ['no key', {}, 'has no key'],
    ['no YAML', { 'config.yaml': 'mcad: {' }, ':1:8: unexpected end of the stream'],
    ['no settings', { 'config.yaml': '3' }, 'is no map of settings'],
    ['a value of the wrong type', { 'config.yaml': 'mcad: { backoffTime: soon }' }, 'mcad.backoffTime'],
  ])('with %s is an error at the start that names it', async (_, data, problem) => {
    const failure = await opened(data).catch((error: unknown) => (error as Error).message)
    expect(failure).toContain('ConfigMap default/codeflare-operator-config')
    expect(failure).toContain(problem)
  })

  it('is followed while the manager runs; an invalid change is not taken over', async () => {
    const { client, configuration } = await opened({ 'config.yaml': 'mcad: { backoffTime: 5 }' })
    const write = async (text: string): Promise<void> => {
      await client.patch(configMaps, ref, { data: { 'config.yaml': text } }, { type: 'merge' })
      await configuration.settled()
    }
    await write('mcad: { backoffTime: 7 }')
    expect(configOf(configuration)).toMatchObject({ mcad: { backoffTime: 7 } })
    await write('mcad: { backoffTime: -7 }')
    expect(configuration.problem?.message).toContain('backoffTime')
    expect(configOf(configuration)).toMatchObject({ mcad: { backoffTime: 7 } })
  })

  it('switches the node scaler on and off, by platform where it says nothing', () => {
    const [openShift, other] = [platformOf(['machine.openshift.io']), platformOf(['apps'])]
    const operatorsOn = (platform: PlatformSupport, text: string) => {
      const layer = codeflareFormat(() => undefined, platform).layer('ConfigMap a/b', text)
      const both = [...operators, { name: 'instascale', config: instascaleConfig }]
      const { settings } = readConfiguration([layer], 'instascale' in operatorsOf(layer.value) ? both : operators)
      return settings.operators
    }
    const operatorsOf = (value: unknown) => (value as { readonly operators: object }).operators ?? {}
    const size = 'maxScaleoutAllowed: 7'
    expect(operatorsOn(openShift, `instascale: { ${size} }`)['instascale']?.config).toEqual({
      instascale: { ...instascaleConfig.read({}).instascale, maxScaleoutAllowed: 7 },
    })
    expect(operatorsOn(other, `instascale: { ${size} }`)).not.toHaveProperty('instascale')
    expect(operatorsOn(other, 'instascale: { enabled: true }')).toHaveProperty('instascale')
    expect(operatorsOn(openShift, 'instascale: { enabled: false }')).not.toHaveProperty('instascale')
  })

  it('carries over what has a counterpart, in all versions of the operator', () => {
    const { settings, config, notes } = read(`
clientConnection: { qps: 50, burst: 100 }
metrics: { bindAddress: ":8080" }
health: { bindAddress: "127.0.0.1:9081", readinessEndpointName: readyz }
leaderElection: { leaderElect: true, leaseDuration: 15s, renewDeadline: 10000000000, retryPeriod: 0s, resourceName: a }
kuberay: { mTLSEnabled: true }
appwrapper:
  enabled: true
  Config:
    userRBACAdmissionCheck: false
    faultTolerance: { warmupGracePeriod: 600000000000, resetPause: 90s, retryLimit: 5 }
mcadEnabled: true
`)
    expect(settings).toMatchObject({
      clientConnection: { qps: 50, burst: 100 },
      metrics: { port: 8080 },
      health: { address: '127.0.0.1', port: 9081 },
      leaderElection: { leaderElect: true, renewDeadline: '10s', retryPeriod: '2s', resourceName: 'a' },
    })
    expect(config).toMatchObject({
      appwrapper: {
        userRBACAdmissionCheck: false,
        faultTolerance: { warmupGracePeriod: '10m', retryPausePeriod: '90s', retryLimit: 5 },
      },
    })
    expect(notes.map(({ field }) => field).toSorted()).toEqual([
      'appwrapper.enabled',
      'health.readinessEndpointName',
      'kuberay',
      'mcadEnabled',
    ])
  })
})
