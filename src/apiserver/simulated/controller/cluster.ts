/**
 * The cluster state as controllers read it, indexed by name, by controlling owner and, for pods, by node. It reads the
 * storage directly and copies nothing; the indexes are updated with each change, so no controller acts on stale data,
 * and none of the caches and expectations of real controllers are needed.
 */
import type { Clock } from '../../../clock/clock.ts'
import { controllerOf } from '../../../kube/meta/owner.ts'
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../../kube/types/apps/v1.ts'
import type { CronJob, Job } from '../../../kube/types/batch/v1.ts'
import type { Lease } from '../../../kube/types/coordination/v1.ts'
import type {
  Endpoints,
  Event,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ReplicationController,
  Service,
} from '../../../kube/types/core/v1.ts'
import type { EndpointSlice } from '../../../kube/types/discovery/v1.ts'
import type { PodDisruptionBudget } from '../../../kube/types/policy/v1.ts'
import type { StorageClass, VolumeAttributesClass } from '../../../kube/types/storage/v1.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { StorageChange, StoredObject } from '../../storage/storage.ts'

/** The kinds that the simulation uses, by their table. */
export interface Kinds {
  readonly 'controllerrevisions.apps': ControllerRevision
  readonly 'cronjobs.batch': CronJob
  readonly 'daemonsets.apps': DaemonSet
  readonly 'deployments.apps': Deployment
  readonly endpoints: Endpoints
  readonly 'endpointslices.discovery.k8s.io': EndpointSlice
  readonly events: Event
  readonly 'jobs.batch': Job
  readonly 'leases.coordination.k8s.io': Lease
  readonly namespaces: Namespace
  readonly nodes: Node
  readonly persistentvolumeclaims: PersistentVolumeClaim
  readonly persistentvolumes: PersistentVolume
  readonly 'poddisruptionbudgets.policy': PodDisruptionBudget
  readonly pods: Pod
  readonly 'replicasets.apps': ReplicaSet
  readonly replicationcontrollers: ReplicationController
  readonly services: Service
  readonly 'statefulsets.apps': StatefulSet
  readonly 'storageclasses.storage.k8s.io': StorageClass
  readonly 'volumeattributesclasses.storage.k8s.io': VolumeAttributesClass
}

export type TableName = keyof Kinds
/** A stored object: name, uid and resourceVersion are set. */
export type Stored<T> = T & { readonly metadata: StoredObject['metadata'] }
export type StoredIn<K extends TableName> = Stored<Kinds[K]>
export type StoredPod = StoredIn<'pods'>

export interface SimulatedState {
  readonly clock: Clock
  now(): number
  get<K extends TableName>(table: K, namespace: string | undefined, name: string): StoredIn<K> | undefined
  list<K extends TableName>(table: K, namespace?: string): readonly StoredIn<K>[]
  /** Objects that this owner controls. */
  controlled<K extends TableName>(table: K, owner: StoredObject | Stored<object>): readonly StoredIn<K>[]
  /** Objects without a controller. */
  orphans<K extends TableName>(table: K, namespace: string): readonly StoredIn<K>[]
  /** Pods that are bound to this node. */
  podsOn(node: string): readonly StoredPod[]
}

interface IndexedCluster extends SimulatedState {
  follow(table: string, change: StorageChange): void
}

/** Tables that are indexed by controller. */
const controlledTables = new Set<string>(['pods', 'replicasets.apps', 'controllerrevisions.apps', 'jobs.batch'])

export function indexCluster({ storage, clock }: ClusterState): IndexedCluster {
  const byController = createGroups()
  const byNode = createGroups()

  const index = (table: string, object: StoredObject, isThere: boolean): void => {
    if (controlledTables.has(table)) byController.set(controllerGroup(table, object), object, isThere)
    const { nodeName } = (object['spec'] ?? {}) as { readonly nodeName?: string }
    if (table === 'pods' && nodeName) byNode.set(nodeName, object, isThere)
  }
  for (const table of controlledTables) {
    for (const object of storage.table(table).objects()) index(table, object, true)
  }

  return {
    clock,
    now: () => clock.now(),
    get: (table, namespace, name) => storage.table(table).get(namespace, name) as never,
    list: (table, namespace) => storage.table(table).objects(namespace) as never,
    controlled: (table, { metadata }) => byController.of(`${table} ${metadata.uid}`) as never,
    orphans: (table, namespace) => byController.of(`${table} /${namespace}`) as never,
    podsOn: (node) => byNode.of(node) as never,
    follow(table, { object, previous, type }) {
      if (previous && (type === 'DELETED' || isMoved(table, object, previous))) index(table, previous, false)
      if (type !== 'DELETED') index(table, object, true)
    },
  }
}

function isMoved(table: string, object: StoredObject, previous: StoredObject): boolean {
  return (
    object.metadata.uid !== previous.metadata.uid ||
    controllerGroup(table, object) !== controllerGroup(table, previous) ||
    (object['spec'] as { nodeName?: string } | undefined)?.nodeName !==
      (previous['spec'] as { nodeName?: string } | undefined)?.nodeName
  )
}

/** A uid contains no slash, so the key of a namespace's orphans cannot collide with one. */
function controllerGroup(table: string, object: StoredObject): string {
  return `${table} ${controllerOf(object)?.uid ?? `/${object.metadata.namespace}`}`
}

interface Groups {
  of(group: string): readonly StoredObject[]
  set(group: string, object: StoredObject, isThere: boolean): void
}

function createGroups(): Groups {
  const groups = new Map<string, Map<string, StoredObject>>()
  return {
    of: (group) => [...(groups.get(group)?.values() ?? [])],
    set(group, object, isThere) {
      const members = groups.get(group) ?? new Map<string, StoredObject>()
      if (isThere) members.set(object.metadata.uid, object)
      else members.delete(object.metadata.uid)
      if (members.size > 0) groups.set(group, members)
      else groups.delete(group)
    },
  }
}

/** `default/web`: the key of an object in work queues. */
export function simulatedKey({ metadata }: Stored<object>): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
