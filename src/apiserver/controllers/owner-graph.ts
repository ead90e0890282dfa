/**
 * The owner graph: which objects name which owners. It follows every change, so it never lags behind the storage.
 *
 * Objects are nodes, by uid; owner references are edges. The edges may form cycles, lead to objects that do not exist,
 * or into other namespaces: nothing here follows more than one edge.
 */
import { parseApiVersion } from '../../kube/kind.ts'
import type { OwnerReference } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { foregroundFinalizer } from '../write/delete.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject } from '../storage/storage.ts'

/**
 * The state of an owner that an object names.
 *
 * - `solid`: the owner exists. `waiting`: it exists, but only until its dependents are gone.
 * - `dangling`: no such owner exists in the namespace of the object.
 * - `unknown`: the API server does not serve the kind of the owner. `invalid`: a cluster-scoped object names a
 *   namespaced kind. In both cases the garbage collector leaves the object alone.
 */
type OwnerState = 'solid' | 'waiting' | 'dangling' | 'unknown' | 'invalid'

export interface FoundOwner {
  readonly served: ServedResource
  readonly object: StoredObject
}

export interface OwnerGraph {
  find(uid: string): FoundOwner | undefined
  /** Objects that name this uid as an owner, in any namespace. */
  dependentsOf(uid: string): readonly FoundOwner[]
  stateOf(object: StoredObject, owner: OwnerReference): OwnerState
  follow(table: string, change: StorageChange): void
}

/** Deleted in the foreground: it stays until no dependent blocks its deletion. */
export function isWaiting({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(foregroundFinalizer)
}

interface Place {
  readonly table: string
  readonly namespace: string | undefined
  readonly name: string
}

interface Dependents {
  readonly uids: Set<string>
  /** The owner as it was when it was deleted: its kind may no longer be served when the dependents are processed. */
  deleted?: StoredObject
}

export function createOwnerGraph({ storage, catalog }: ClusterState): OwnerGraph {
  const places = new Map<string, Place>()
  const byOwner = new Map<string, Dependents>()

  const find = (uid: string): FoundOwner | undefined => {
    const place = places.get(uid) ?? storage.bootstrapPlace(uid)
    const object = place && storage.table(place.table).get(place.namespace, place.name)
    const served = place && catalog.ofTable(place.table)
    // The name may belong to a newer object.
    return object?.metadata.uid === uid && served ? { served, object } : undefined
  }

  const unlink = (uid: string, owners: readonly OwnerReference[] = []): void => {
    for (const { uid: owner } of owners) {
      const dependents = byOwner.get(owner)
      dependents?.uids.delete(uid)
      if (dependents?.uids.size === 0) byOwner.delete(owner)
    }
  }

  const link = (uid: string, owners: readonly OwnerReference[] = []): void => {
    for (const { uid: owner } of owners) {
      const known = byOwner.get(owner)
      if (known) known.uids.add(uid)
      else byOwner.set(owner, { uids: new Set([uid]) })
    }
  }

  const follow = (table: string, { type, object, previous }: StorageChange): void => {
    const { uid, namespace, name, ownerReferences } = object.metadata
    if (previous) unlink(previous.metadata.uid, previous.metadata.ownerReferences)
    if (type === 'DELETED') {
      places.delete(uid)
      const dependents = byOwner.get(uid)
      if (dependents) dependents.deleted = object
    } else {
      places.set(uid, { table, namespace, name })
      link(uid, ownerReferences)
      // A deletion that could not be stored is undone.
      delete byOwner.get(uid)?.deleted
    }
  }

  for (const table of storage.tables()) {
    for (const { metadata } of table.objects()) {
      const { uid, namespace, name, ownerReferences } = metadata
      places.set(uid, { table: table.name, namespace, name })
      link(uid, ownerReferences)
    }
  }

  return {
    find,
    dependentsOf: (uid) => [...(byOwner.get(uid)?.uids ?? [])].flatMap((dependent) => find(dependent) ?? []),
    stateOf({ metadata: { namespace } }, { apiVersion, kind, name, uid }) {
      const deleted = byOwner.get(uid)?.deleted
      if (deleted && isNamed(deleted, { apiVersion, kind, name, namespace })) return 'dangling'
      const served = catalog.ofKind(apiVersion, kind)
      if (!served) return 'unknown'
      if (served.namespaced && namespace === undefined) return 'invalid'
      const owner = storage.table(served.table).get(served.namespaced ? namespace : undefined, name)
      if (owner?.metadata.uid !== uid) return 'dangling'
      return isWaiting(owner) ? 'waiting' : 'solid'
    },
    follow,
  }
}

interface Coordinates {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
}

function isNamed({ apiVersion, kind, metadata }: StoredObject, named: Coordinates): boolean {
  return (
    kind === named.kind &&
    metadata.name === named.name &&
    parseApiVersion(apiVersion).group === parseApiVersion(named.apiVersion).group &&
    (metadata.namespace === undefined || metadata.namespace === named.namespace)
  )
}
