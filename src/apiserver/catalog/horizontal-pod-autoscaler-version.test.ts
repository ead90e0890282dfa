import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { horizontalPodAutoscalerRules } from '../kinds/workload/horizontal-pod-autoscaler.ts'
import { convertAutoscaler } from './horizontal-pod-autoscaler-version.ts'

const amount = fc.constantFrom('1', '250m', '2k', '1Gi')
const name = fc.constantFrom('a', 'requests')
const metric = fc.record({ name, selector: fc.constant({ matchLabels: { a: 'b' } }) }, { requiredKeys: ['name'] })
const describedObject = fc.constant({ apiVersion: 'v1', kind: 'Service', name: 's' })
const average = fc.record({ type: fc.constant('AverageValue'), averageValue: amount })
const value = fc.record({ type: fc.constant('Value'), value: amount })
const use = fc.record({ type: fc.constant('Utilization'), averageUtilization: fc.integer({ min: 1, max: 200 }) })
const own = (type: string, member: string, source: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  source.map((inner) => ({ type, [member]: inner }))
const metrics = fc.array(
  fc.oneof(
    own('Pods', 'pods', fc.record({ metric, target: average })),
    own('Object', 'object', fc.record({ metric, describedObject, target: fc.oneof(average, value) })),
    own('External', 'external', fc.record({ metric, target: fc.oneof(average, value) })),
    own('Resource', 'resource', fc.record({ name: fc.constant('memory'), target: fc.oneof(use, average) })),
    own('ContainerResource', 'containerResource', fc.record({ name, container: name, target: fc.oneof(use, average) })),
  ),
  { minLength: 1, maxLength: 4 },
)
const rules = fc.record(
  {
    stabilizationWindowSeconds: fc.nat(3600),
    selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
    policies: fc.constant([{ type: 'Pods', value: 2, periodSeconds: 60 }]),
    tolerance: amount,
  },
  { requiredKeys: [] },
)
const behavior = fc.record({ scaleUp: rules, scaleDown: rules }, { requiredKeys: [] })

const autoscaler = (spec: JsonObject): UntypedObject =>
  horizontalPodAutoscalerRules.defaults!(
    {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'a' },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 3, ...spec },
    },
    'v2',
  )

describe('a HorizontalPodAutoscaler', () => {
  it('survives a round trip through v1', () => {
    fc.assert(
      fc.property(metrics, fc.option(behavior, { nil: undefined }), (own2, rules2) => {
        const there = autoscaler({ metrics: own2, ...(rules2 && { behavior: rules2 }) } as unknown as JsonObject)
        const first = convertAutoscaler(there, 'autoscaling/v1')
        expect(first.apiVersion).toBe('autoscaling/v1')
        expect(convertAutoscaler(first, 'autoscaling/v2')).toEqual(there)
      }),
    )
  })

  it('shows CPU utilization as a field of v1, and other metrics in annotations', () => {
    const target = { type: 'Utilization', averageUtilization: 50 }
    const cpu = { type: 'Resource', resource: { name: 'cpu', target } }
    const first = convertAutoscaler(autoscaler({ metrics: [cpu] }), 'autoscaling/v1')
    expect(first['spec']).toMatchObject({ targetCPUUtilizationPercentage: 50 })
    expect(first.metadata.annotations).toBeUndefined()
  })

  it('ignores annotations that are not valid JSON', () => {
    const broken: UntypedObject = {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: {
        name: 'a',
        annotations: {
          'autoscaling.alpha.kubernetes.io/metrics': '{',
          'autoscaling.alpha.kubernetes.io/behavior': 'null',
          'autoscaling.alpha.kubernetes.io/conditions': '{"__proto__":1}',
          keep: 'me',
        },
      },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 3 },
    }
    const second = convertAutoscaler(broken, 'autoscaling/v2')
    expect(second.metadata.annotations).toEqual({ keep: 'me' })
    expect(second['spec']).toMatchObject({
      metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 80 } } }],
    })
  })
})
