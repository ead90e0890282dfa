/**
 * Creates the objects of a new cluster: namespaces, priority classes, the Service `kubernetes`, RBAC. They are stored
 * directly, in the form that the write path would produce, so that a new cluster can be read before that is loaded.
 */
import { formatTime } from '../../kube/units/duration.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { bootstrapPolicy } from './bootstrap-policy.ts'
import { provideApiService } from '../controllers/api-service.ts'
import { provide } from '../controllers/provisions.ts'
import type { ClusterState } from '../cluster/state.ts'

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const

const priorityClasses = [
  {
    name: 'system-node-critical',
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    name: 'system-cluster-critical',
    value: 2_000_000_000,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
] as const

interface SeedOptions {
  /** Whether aggregated roles have their rules, as after the first pass of the controller that collects them. */
  readonly aggregated: boolean
  /** The CA bundle of Pods; undefined if Pods do not run as service accounts. */
  readonly rootCa: string | undefined
}

export function seed(state: ClusterState, { aggregated, rootCa }: SeedOptions): void {
  const { storage, clock, ids } = state
  const put = (table: string, object: UntypedObject, uid = ids()): void =>
    void storage.put(table, {
      ...object,
      metadata: { ...object.metadata, uid, creationTimestamp: formatTime(clock.now()) },
    })
  const uids = new Map(namespaces.map((name) => [name, ids()]))
  // The uid of kube-system is the customary identity of a cluster.
  storage.addBootstrap(bootstrapPolicy(clock.now(), uids.get('kube-system')!, storage.revision + 1, aggregated))
  for (const [name, uid] of uids) {
    const namespace = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    }
    put('namespaces', namespace, uid)
  }
  for (const { name, ...rest } of priorityClasses) {
    put('priorityclasses.scheduling.k8s.io', {
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name, generation: 1 },
      preemptionPolicy: 'PreemptLowerPriority',
      ...rest,
    })
  }
  provideApiService(state)
  if (rootCa !== undefined) for (const name of namespaces) provide(state, name, rootCa)
}
