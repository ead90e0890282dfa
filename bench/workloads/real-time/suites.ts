/**
 * The loads of Kueue's performance tests, with the objects that its controllers know: for each queue so many workloads of each
 * class, created one after the other at fixed intervals.
 */
import { queueNameLabel } from '../../../src/workloads/quota/kueue-kinds.ts'
import type { Resource } from '../../../src/kube/kind.ts'
import type { UntypedObject } from '../../../src/kube/object.ts'

export interface WorkloadClass {
  readonly name: 'small' | 'medium' | 'large'
  readonly cpu: number
  readonly runMs: number
  readonly priority: number
  readonly count: number
  readonly everyMs: number
}

export interface Suite {
  readonly name: string
  readonly cohorts: number
  /** In each cohort. */
  readonly queues: number
  readonly classes: readonly WorkloadClass[]
}

export const baseline: Suite = {
  name: 'baseline',
  cohorts: 5,
  queues: 6,
  classes: [
    { name: 'small', cpu: 1, runMs: 200, priority: 50, count: 350, everyMs: 100 },
    { name: 'medium', cpu: 5, runMs: 500, priority: 100, count: 100, everyMs: 500 },
    { name: 'large', cpu: 20, runMs: 1000, priority: 200, count: 50, everyMs: 1200 },
  ],
}

export const namespace = 'bench'
export const nominal = 20

/** The names of all queues of a suite. */
export function queuesOf({ cohorts, queues }: Suite): readonly string[] {
  return Array.from({ length: cohorts * queues }, (_, index) => `q${Math.floor(index / queues)}-${index % queues}`)
}

/** ResourceFlavor, ClusterQueues and LocalQueues. */
export function quotaObjects(suite: Suite): readonly UntypedObject[] {
  const apiVersion = 'kueue.x-k8s.io/v1beta1'
  const limits = { name: 'cpu', nominalQuota: `${nominal}`, borrowingLimit: '100' }
  return [
    { apiVersion, kind: 'ResourceFlavor', metadata: { name: 'default' }, spec: {} },
    ...queuesOf(suite).flatMap((name): readonly UntypedObject[] => [
      {
        apiVersion,
        kind: 'ClusterQueue',
        metadata: { name },
        spec: {
          cohort: name.split('-')[0]!,
          namespaceSelector: {},
          preemption: { reclaimWithinCohort: 'Any', withinClusterQueue: 'LowerPriority' },
          resourceGroups: [{ coveredResources: ['cpu'], flavors: [{ name: 'default', resources: [limits] }] }],
        },
      },
      { apiVersion, kind: 'LocalQueue', metadata: { name, namespace }, spec: { clusterQueue: name } },
    ]),
  ]
}

export const runKind = {
  group: 'bench.muster.dev',
  version: 'v1',
  kind: 'Run',
  plural: 'runs',
  namespaced: true,
} as const

/** What is wrapped: an object with a pod template that no controller knows. The runner completes it. */
export function appWrapper(queue: string, { name: size, cpu, priority }: WorkloadClass, index: number): UntypedObject {
  const name = `${queue}-${size}-${index}`
  return {
    apiVersion: 'workload.codeflare.dev/v1beta2',
    kind: 'AppWrapper',
    metadata: { name, namespace, labels: { [queueNameLabel]: queue, size } },
    spec: {
      scheduling: { priority },
      components: [
        {
          podSets: [{ path: 'template.spec.template' }],
          completionStatus: 'Complete',
          template: {
            apiVersion: `${runKind.group}/${runKind.version}`,
            kind: runKind.kind,
            metadata: { name, labels: { size } },
            spec: {
              template: {
                spec: { containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu: `${cpu}` } } }] },
              },
            },
          },
        },
      ],
    },
  }
}

/** A CRD that accepts every field. */
export function openCrd({ group, version, kind, plural, namespaced }: Resource): UntypedObject {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
        },
      ],
    },
  }
}
