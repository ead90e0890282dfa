import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../kube/json.ts'
import { asObject } from '../../../kube/json-object.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { demandOf, expectedPods } from './demand.ts'
import { parsePodPath, podTemplateAt, withPodTemplate } from '../pods/pod-path.ts'
import { inferPodSets, podSetsOf, podTemplateIn } from '../pods/pod-sets.ts'

const pod = (cpu: string): JsonObject => ({
  spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
})
const of = (apiVersion: string, kind: string, spec: JsonObject): UntypedObject =>
  asObject({ apiVersion, kind, metadata: { name: 'x' }, spec })

describe('pod sets', () => {
  it('are known for the usual kinds, and each leads to a pod template', () => {
    const group = { replicas: 3, template: pod('1') }
    const ray = { headGroupSpec: { template: pod('1') }, workerGroupSpecs: [group, { ...group, numOfHosts: 2 }] }
    const replicas = { Worker: { replicas: 4, template: pod('1') }, Master: { template: pod('1') } }
    const inner = { template: { spec: { parallelism: 5, completions: 2, template: pod('1') } } }
    const cases: readonly (readonly [UntypedObject, readonly string[]])[] = [
      [asObject({ apiVersion: 'v1', kind: 'Pod', metadata: {}, ...pod('1') }), ['template 1']],
      [of('apps/v1', 'Deployment', { replicas: 2, template: pod('1') }), ['template.spec.template 2']],
      [of('apps/v1', 'StatefulSet', { template: pod('1') }), ['template.spec.template 1']],
      [of('batch/v1', 'Job', { template: pod('1') }), ['template.spec.template 1']],
      [of('batch/v1', 'Job', { parallelism: 7, completions: 4, template: pod('1') }), ['template.spec.template 4']],
      [of('batch/v1', 'Job', { parallelism: 0, template: pod('1') }), ['template.spec.template 0']],
      [
        of('jobset.x-k8s.io/v1alpha2', 'JobSet', { replicatedJobs: [{ replicas: 3, ...inner }, inner] }),
        [0, 1].map((at) => `template.spec.replicatedJobs[${at}].template.spec.template ${at === 0 ? 6 : 2}`),
      ],
      [
        of('kubeflow.org/v1', 'PyTorchJob', { pytorchReplicaSpecs: replicas }),
        ['Master', 'Worker'].map(
          (role) => `template.spec.pytorchReplicaSpecs.${role}.template ${role === 'Master' ? 1 : 4}`,
        ),
      ],
      [
        of('ray.io/v1', 'RayCluster', ray),
        [
          'template.spec.headGroupSpec.template 1',
          'template.spec.workerGroupSpecs[0].template 3',
          'template.spec.workerGroupSpecs[1].template 6',
        ],
      ],
      [
        of('ray.io/v1', 'RayJob', { rayClusterSpec: { headGroupSpec: ray.headGroupSpec } }),
        ['template.spec.rayClusterSpec.headGroupSpec.template 1'],
      ],
    ]
    for (const [object, expected] of cases) {
      const found = inferPodSets(object)!
      expect(found.map(({ path, replicas: count }) => `${path} ${count}`)).toEqual(expected)
      for (const podSet of found) expect(podTemplateIn(object, podSet)['spec']).toBeDefined()
    }
    expect(inferPodSets(of('example.com/v1', 'Training', { template: pod('1') }))).toBeUndefined()
  })

  it('that are declared come first; unknown kinds of v1beta1 are read as they usually are', () => {
    const object = of('example.com/v1', 'Training', { replicas: 3, template: pod('1') })
    expect(podSetsOf(object, undefined)).toEqual([])
    expect(podSetsOf(object, undefined, true)).toEqual([{ path: 'template.spec.template', replicas: 3 }])
    expect(podSetsOf(object, [{ path: 'template.spec.template' }])).toEqual([
      { path: 'template.spec.template', replicas: 1 },
    ])
  })

  it('that make no sense are an error, never a wrong number', () => {
    for (const replicas of [-1, 1.5, 'many', 1e12, {}, []] as const)
      expect(() => inferPodSets(of('apps/v1', 'Deployment', { replicas, template: pod('1') }))).toThrow('pods')
    const object = of('apps/v1', 'Deployment', {})
    for (const path of ['spec.template', 'template.', 'template..x', 'template[x]', 'template[-1]', 'template.spec x'])
      expect(() => podTemplateIn(object, { path })).toThrow('is no path')
    for (const path of ['template.spec.template', 'template[0]', 'template.constructor'])
      expect(() => podTemplateIn(object, { path })).toThrow('has no pod template')
  })
})

describe('paths to pod templates', () => {
  const member = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,8}$/).filter((name) => name !== '__proto__')
  const parts = fc.array(fc.oneof(member, fc.integer({ min: 0, max: 3 })), { maxLength: 6 })

  it('lead where a value was put, and replace nothing else', () => {
    fc.assert(
      fc.property(parts, (path) => {
        const text = `template${path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('')}`
        expect(parsePodPath(text)).toEqual(path)
        type Built = JsonObject | readonly Built[]
        const built = path.reduceRight<Built>(
          (value, part) =>
            typeof part === 'number' ? Array.from({ length: part + 1 }, () => value) : { [part]: value, other: 1 },
          { leaf: 1 },
        )
        if (Array.isArray(built)) return
        const changed = withPodTemplate(built as JsonObject, path, { leaf: 2 })
        expect(podTemplateAt(changed, path)).toEqual({ leaf: 2 })
        expect(withPodTemplate(changed, path, { leaf: 1 })).toEqual(built)
      }),
    )
  })
})

describe('demand', () => {
  it('counts init containers, sidecars, overhead and limits, and adds up equal pods', () => {
    const main = { name: 'main', resources: { limits: { cpu: '1', 'nvidia.com/gpu': 1 } } }
    const spec = {
      overhead: { cpu: '100m' },
      initContainers: [
        { name: 'sidecar', restartPolicy: 'Always', resources: { requests: { cpu: '500m' } } },
        { name: 'init', resources: { requests: { cpu: '2' } } },
      ],
      containers: [main],
    }
    const one = of('apps/v1', 'Deployment', { replicas: 2, template: { spec } })
    const { groups, groupOf } = demandOf([{ template: one }, { template: one }])
    expect(groupOf).toEqual([[0], [0]])
    expect(groups.map(({ count }) => count)).toEqual([4])
    expect(Object.fromEntries(groups[0]!.shape.requests)).toEqual({ cpu: 2600, 'nvidia.com/gpu': 1, pods: 1 })
    expect(expectedPods([{ template: one }, { template: one }])).toBe(4)
  })

  it('of declared pods is what they declare, whatever the template says', () => {
    const template = of('batch/v1', 'Job', { template: pod('8') })
    const requested = { replicas: 3, requests: { cpu: '0', memory: '1Gi' }, limits: { cpu: '2' } }
    const { groups, groupOf } = demandOf([{ template, pods: [requested] }])
    const [group, ...rest] = groups
    expect(groupOf).toEqual([[0]])
    expect([group?.count, rest.length]).toEqual([3, 0])
    expect(Object.fromEntries(group!.shape.requests)).toEqual({ cpu: 2000, memory: 2 ** 30, pods: 1 })
  })

  it('goes where the admission sends it', () => {
    const template = of('batch/v1', 'Job', { template: pod('1') })
    const tolerations = [{ key: 'gpu', operator: 'Exists' }]
    const [group] = demandOf([{ template, placements: [{ nodeSelector: { pool: 'a' }, tolerations }] }]).groups
    expect(group!.shape.constraints).toEqual({ nodeSelector: { pool: 'a' }, tolerations })
  })
})
