/**
 * The kinds of Kueue that declare quota. They are read, never owned: Kueue, or an administrator, installs their CRDs, and they may be
 * absent. v1beta1 and v1beta2 differ in few names, and the reader takes both.
 */
import type { KubeObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'

const kueueGroup = 'kueue.x-k8s.io'

/** The newest first. */
const kueueVersions = ['v1beta2', 'v1beta1'] as const

interface KueueKinds {
  readonly clusterQueue: TypedResource
  readonly localQueue: TypedResource
  readonly cohort: TypedResource
  readonly resourceFlavor: TypedResource
  readonly priorityClass: TypedResource
}

export function kueueKinds(version: (typeof kueueVersions)[number]): KueueKinds {
  const kind = (name: string, plural: string, namespaced = false): TypedResource =>
    resourceOf<KubeObject>(`${kueueGroup}/${version}`, name, { plural, namespaced })
  return {
    clusterQueue: kind('ClusterQueue', 'clusterqueues'),
    localQueue: kind('LocalQueue', 'localqueues', true),
    cohort: kind('Cohort', 'cohorts'),
    resourceFlavor: kind('ResourceFlavor', 'resourceflavors'),
    priorityClass: kind('WorkloadPriorityClass', 'workloadpriorityclasses'),
  }
}

export const queueNameLabel = 'kueue.x-k8s.io/queue-name'
export const priorityClassLabel = 'kueue.x-k8s.io/priority-class'

/** Used by workloads without the label of a queue, in namespaces that have a LocalQueue of this name. */
export const defaultLocalQueue = 'default'
