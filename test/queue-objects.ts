/** Objects that the queue of AppWrappers decides by, for tests without a cluster. */
import type { KubeObject } from '../src/kube/object.ts'
import type { Resource } from '../src/kube/kind.ts'
import { Node, Pod } from '../src/kube/kinds.ts'
import { AppWrapper, type AppWrapperObject } from '../src/workloads/appwrapper/appwrapper.ts'
import { uidLabel } from '../src/workloads/appwrapper/labels.ts'

interface QueueObject {
  readonly resource: Resource
  readonly object: KubeObject
}

export interface WrapperOptions {
  readonly requests: Readonly<Record<string, string | number>>
  readonly labels?: Readonly<Record<string, string>>
  readonly priority?: number
  /** Of 2026-01-01. @default 00:00:00 */
  readonly created?: string
  /** Seconds. */
  readonly limit?: number
  readonly isRunning?: boolean
}

/** An AppWrapper in the namespace `team` that wraps one Pod; its uid is its name. */
export function wrapper(name: string, options: WrapperOptions): AppWrapperObject {
  const { requests, labels = {}, priority = 0, created = '00:00:00', limit, isRunning } = options
  const time = `2026-01-01T${created}Z`
  const condition = (type: string) => ({
    type,
    status: 'True' as const,
    reason: 'x',
    message: '',
    lastTransitionTime: time,
  })
  return {
    apiVersion: 'workload.codeflare.dev/v1beta2',
    kind: 'AppWrapper',
    metadata: { name, namespace: 'team', uid: name, creationTimestamp: time, labels },
    spec: {
      components: [
        {
          template: {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name },
            spec: { containers: [{ name: 'main', image: 'main:1', resources: { requests } }] },
          },
        },
      ],
      scheduling: { priority, ...(limit !== undefined && { dispatchDuration: { limit } }) },
    },
    ...(isRunning && {
      status: {
        phase: 'Running' as const,
        firstDispatchTime: time,
        dispatchTime: time,
        conditions: [condition('QuotaReserved'), condition('ResourcesDeployed')],
      },
    }),
  }
}

/** An AppWrapper and, if it runs, its Pod on the node `a`. */
export function withPods(object: AppWrapperObject): readonly QueueObject[] {
  const { metadata, spec, status } = object
  const own = { resource: AppWrapper, object }
  if (!status) return [own]
  const template = spec.components?.[0]?.template?.['spec'] as object
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: metadata.name,
      namespace: 'team',
      uid: `pod-${metadata.name}`,
      labels: { [uidLabel]: metadata.uid ?? '' },
    },
    spec: { ...template, nodeName: 'a' },
    status: { phase: 'Running' },
  }
  return [own, { resource: Pod, object: pod }]
}

/** The node `a`. */
export function nodeOf(allocatable: Readonly<Record<string, string | number>>): QueueObject {
  const object = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a' },
    spec: {},
    status: { allocatable: { pods: 100, ...allocatable } },
  }
  return { resource: Node, object }
}
