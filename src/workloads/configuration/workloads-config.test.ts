import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { workloadConfigurationDoc, workloadConfigurationDocUrl } from '../../../scripts/generate-configuration-doc.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { isInstascaleEnabled, platformOf } from './instascale-section.ts'
import { workloadsConfig, workloadsName } from './workloads-config.ts'

const operators = [{ name: workloadsName, config: workloadsConfig }]

const read = (text: string) =>
  readConfiguration([{ source: 'muster.yaml', text, value: readYaml(text) }], operators).settings.operators['workloads']
    ?.config

const problems = (config: string): string => {
  try {
    read(`operators:\n  workloads:\n    config:\n${config.replaceAll(/^/gm, '      ')}`)
  } catch (error) {
    return (error as Error).message
  }
  return 'valid'
}

describe('the configuration of workloads', () => {
  it('has the documented defaults', () => {
    expect(workloadsConfig.read({})).toMatchObject({
      mcad: {
        backoffTime: 20,
        headOfLineHoldingTime: 0,
        dynamicPriority: false,
        preemption: false,
        quotaEnabled: false,
        dispatchResourceReservationTimeout: 300_000,
      },
      instascale: { maxScaleoutAllowed: 3, machineSetsStrategy: 'reuse' },
      appwrapper: {
        userRBACAdmissionCheck: true,
        schedulerName: '',
        defaultQueueName: '',
        autopilot: { injectAntiAffinities: true, monitorNodes: true, preferNoScheduleWeight: 50 },
        faultTolerance: {
          admissionGracePeriod: '1m',
          warmupGracePeriod: '5m',
          failureGracePeriod: '1m',
          retryPausePeriod: '90s',
          retryLimit: 3,
          forcefulDeletionGracePeriod: '10m',
          gracePeriodCeiling: '24h',
          successTTLCeiling: '168h',
        },
      },
    })
  })

  it('is a section of the configuration of the manager, and what is not given keeps its default', () => {
    expect(read('operators: { workloads: { config: { instascale: { enabled: true } } } }')).toEqual({
      ...workloadsConfig.read({}),
      instascale: { ...workloadsConfig.read({}).instascale, enabled: true },
    })
  })

  it('names an unknown field with its line and the most similar one', () => {
    expect(problems('mcad: { backofTime: 3 }')).toContain('backofTime')
    expect(problems('mcad: { backofTime: 3 }')).toMatch(/muster\.yaml:4.*backoffTime/)
    expect(problems('instascale: { machineSetsStrategy: copy }')).toContain('machineSetsStrategy')
    expect(problems('instascale: { maxScaleoutAllowed: -1 }')).toContain('maxScaleoutAllowed')
  })

  it.each([
    ['{ admissionGracePeriod: 10m }', 'admissionGracePeriod is longer than warmupGracePeriod'],
    ['{ warmupGracePeriod: 25h }', 'warmupGracePeriod is longer than gracePeriodCeiling'],
    ['{ failureGracePeriod: 1h, gracePeriodCeiling: 30m }', 'failureGracePeriod is longer than gracePeriodCeiling'],
    ['{ successTTLCeiling: 0s }', 'successTTLCeiling must be longer than 0s'],
    ['{ retryPausePeriod: soon }', 'a duration such as 500ms, 2s or 1m30s'],
  ])('refuses faultTolerance: %s', (given, problem) => {
    expect(problems(`appwrapper: { faultTolerance: ${given} }`)).toContain(problem)
  })
})

describe('docs/workload-configuration.md', () => {
  it('has every setting (npm run generate)', () => {
    // The formatter aligns tables.
    const words = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')
    const text = readFileSync(workloadConfigurationDocUrl, 'utf8')
    expect(words(text)).toBe(words(workloadConfigurationDoc(text)))
  })
})

describe('the platform', () => {
  it('enables InstaScale on OpenShift and with Cluster API, unless the section says otherwise', () => {
    const [openShift, clusterApi, neither] = [
      platformOf(['apps', 'route.openshift.io']),
      platformOf(['cluster.x-k8s.io']),
      platformOf(['apps', 'openshift.io.example.com']),
    ]
    expect([openShift, clusterApi, neither].map((one) => isInstascaleEnabled({}, one))).toEqual([true, true, false])
    expect(isInstascaleEnabled({ enabled: false }, openShift)).toBe(false)
    expect(isInstascaleEnabled({ enabled: true }, neither)).toBe(true)
    expect(platformOf(['machine.openshift.io'])).toEqual({
      isOpenShift: true,
      hasMachineApi: true,
      hasClusterApi: false,
    })
  })
})
