/** What of an embedded object is watched: its metadata, and the fields that the health of its kind depends on. */
import type { GroupVersionKind } from '../../kube/kind.ts'

/** Metadata alone, or with these paths. */
export type NeededFields = 'metadata' | readonly string[]

/** Kinds that have no status: they are healthy as soon as they exist. */
const withoutStatus: ReadonlySet<string> = new Set([
  'ConfigMap',
  'Secret',
  'ServiceAccount',
  'LimitRange',
  'Event',
  'rbac.authorization.k8s.io/Role',
  'rbac.authorization.k8s.io/RoleBinding',
  'rbac.authorization.k8s.io/ClusterRole',
  'rbac.authorization.k8s.io/ClusterRoleBinding',
  'scheduling.k8s.io/PriorityClass',
  'storage.k8s.io/StorageClass',
  'networking.k8s.io/IngressClass',
  'networking.k8s.io/NetworkPolicy',
  'node.k8s.io/RuntimeClass',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
])

const ofSpec: Readonly<Record<string, readonly string[]>> = {
  'apps/Deployment': ['spec.replicas', 'spec.progressDeadlineSeconds', 'spec.paused'],
  'apps/StatefulSet': ['spec.replicas', 'spec.updateStrategy'],
  'apps/DaemonSet': ['spec.updateStrategy'],
  'apps/ReplicaSet': ['spec.replicas'],
  'batch/Job': ['spec.suspend', 'spec.completions', 'spec.parallelism'],
  Service: ['spec.type', 'spec.clusterIP'],
}

export function neededFields({ group, kind }: GroupVersionKind): NeededFields {
  const name = group === '' ? kind : `${group}/${kind}`
  if (withoutStatus.has(name)) return 'metadata'
  return [...(Object.hasOwn(ofSpec, name) ? ofSpec[name]! : []), 'status']
}
