/** Names in the API of a façade that the Platform cannot hold. */
import { describe, expect, it } from 'vitest'
import { mandatoryReason } from '../components/component-report.ts'
import type { PlatformObject } from '../components/platform.ts'
import { type DesiredComponent, validDesiredState } from './desired-component.ts'
import { dataScienceClusterReport } from './data-science-cluster-report.ts'
import { acceptedCondition, desiredComponentReports } from './desired-component-report.ts'

const desired = (alias: string, component = alias.toLowerCase()): DesiredComponent => ({
  alias,
  component,
  managementState: 'Managed',
})
const sound = (...components: readonly DesiredComponent[]) => validDesiredState({ components, ignored: [] })

describe('the desired components of a façade', () => {
  it('have the names of components', () => {
    const { components, refused } = sound(desired('keda'), desired('no_name'), desired('1st'), desired('a'.repeat(41)))
    expect(components.map(({ alias }) => alias)).toEqual(['keda'])
    expect(refused).toEqual([
      '"no_name" is no name of a component.',
      '"1st" is no name of a component.',
      `"${'a'.repeat(41)}" is no name of a component.`,
    ])
  })

  it('are one for each component: of twins the first counts', () => {
    const { components, refused } = sound(desired('kueue', 'queue'), desired('Queue'))
    expect(components.map(({ alias }) => alias)).toEqual(['kueue'])
    expect(refused).toEqual(['Queue and kueue are both the component queue: kueue counts.'])
    expect(acceptedCondition([], refused, [])).toEqual({
      type: 'Accepted',
      status: 'False',
      reason: 'InvalidComponent',
      message: refused[0],
    })
  })

  it('that would switch a mandatory component off get the warning of the Platform', () => {
    const report = { name: 'audit', managementState: 'Managed', state: 'Warning', message: 'It is mandatory.' } as const
    const platform: PlatformObject = {
      apiVersion: 'platform.muster.dev/v1alpha1',
      kind: 'Platform',
      metadata: { name: 'default', generation: 1 },
      spec: {
        channel: 'stable',
        namespace: 'muster-system',
        components: [],
        preview: false,
        maintenance: { windows: [], skip: false },
        acknowledged: [],
        protection: 'Deny',
        runLevelTimeout: '5m',
      },
      status: { observedGeneration: 1, components: [{ ...report, reason: mandatoryReason }] },
    }
    const components = [{ ...desired('audit'), managementState: 'Removed' as const }]
    expect(desiredComponentReports({ components, ignored: [] }, platform, [])).toMatchObject([
      { state: 'Warning', reason: mandatoryReason, message: 'It is mandatory.' },
    ])
  })

  it('have conditions of one type each, beside those of the whole', () => {
    const reports = ['components', 'codeflare', 'odd name', 'odd_name'].map((alias) => ({
      desired: desired(alias),
      state: 'Ready' as const,
      reason: 'Ready',
      message: '',
    }))
    const cr = { apiVersion: '', kind: '', metadata: { name: 'default-dsc' }, spec: {} }
    const report = dataScienceClusterReport({ cr, reports, platform: undefined, names: (alias) => alias, now: 0 })
    const types = report.conditions?.map(({ type }) => type)
    expect(types).toEqual([
      'componentsReady',
      'CodeFlareReady',
      'Odd-nameReady',
      'Odd_nameReady',
      'ComponentsReady',
      'Ready',
    ])
  })
})
