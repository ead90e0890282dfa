/**
 * The garbage collector: deletes objects whose owners are all gone, and handles foreground and orphaning deletion.
 *
 * It reconciles one object at a time from what is stored at the moment, and terminates for every owner graph:
 * - Each write removes something that only a client can restore: an owner reference, `blockOwnerDeletion`, a finalizer
 *   of the garbage collector, or it marks an object for deletion. So there are finitely many writes.
 * - A write requeues the neighbours of one object. A reconcile that writes nothing requeues only dependents that still
 *   have to be deleted or to lose a reference, and each of these writes or is the last one.
 *
 * In a cycle of objects that wait for each other, one object stops blocking: before an object is deleted in the
 * foreground while one of its dependents waits already, its own references are set not to block. A cycle in which
 * clients deleted every object in the foreground stays, as in any cluster: no object is left to stop blocking.
 */
import { equalJson } from '../../kube/json.ts'
import type { OwnerReference, UntypedObject } from '../../kube/object.ts'
import { commit } from '../write/change.ts'
import {
  foregroundFinalizer,
  orphanFinalizer,
  defaultDeleteOptions,
  type Propagation,
  removeObject,
} from '../write/delete.ts'
import { type FoundOwner, isWaiting, type OwnerGraph } from './owner-graph.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject, StorageTable } from '../storage/storage.ts'

interface GarbageCollector {
  /** Queues the objects that a change may affect. */
  follow(table: StorageTable, change: StorageChange): void
  /** Queues an object and its neighbours, whatever has changed. */
  revisit(object: StoredObject): void
  /** Queues the objects whose owners are of a kind that was not served. */
  retryUnknown(): void
  /** Reconciles one object. */
  reconcile(found: FoundOwner): void
}

/** Events are never garbage-collected: there are many, and they expire. */
const ignoredTable = 'events'

interface GarbageCollectorOptions {
  readonly graph: OwnerGraph
  /** Queues the object with this uid. */
  readonly enqueue: (uid: string) => void
  /** Whether objects without owners are deleted. Foreground and orphaning deletion are handled anyway. */
  readonly deletesDependents: boolean
}

export function createGarbageCollector(state: ClusterState, options: GarbageCollectorOptions): GarbageCollector {
  const { graph, enqueue, deletesDependents } = options
  const unknown = new Set<string>()

  const write = ({ served, object }: FoundOwner, changed: UntypedObject): void =>
    void commit(state, { served, dryRun: false }, object, changed)

  const enqueueDependents = (uid: string): void => {
    for (const { object } of graph.dependentsOf(uid)) enqueue(object.metadata.uid)
  }

  const followDeletion = ({ metadata }: StoredObject): void => {
    unknown.delete(metadata.uid)
    enqueueDependents(metadata.uid)
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owner = graph.find(uid)
      if (owner && isWaiting(owner.object)) enqueue(uid)
    }
  }

  const followWrite = (object: StoredObject, previous: StoredObject | undefined): void => {
    const { uid, ownerReferences: owners = [] } = object.metadata
    const before = previous?.metadata.ownerReferences ?? []
    const isMissing = (owner: OwnerReference): boolean => !['solid', 'waiting'].includes(graph.stateOf(object, owner))
    const isChanged = !equalJson(
      owners.map((owner) => ({ ...owner })),
      before.map((owner) => ({ ...owner })),
    )
    if (isChanged && owners.some(isMissing)) enqueue(uid)
    for (const owner of before) {
      if (owner.blockOwnerDeletion && !owners.some((one) => one.uid === owner.uid && one.blockOwnerDeletion)) {
        enqueue(owner.uid)
      }
    }
    const begun = beginningDeletion(object, previous)
    if (begun === undefined) return
    enqueue(uid)
    if (begun === foregroundFinalizer) enqueueDependents(uid)
  }

  const awaitDependents = (found: FoundOwner): void => {
    const { uid } = found.object.metadata
    const blocking = graph.dependentsOf(uid).filter(({ object }) => blocks(object, uid))
    if (blocking.length === 0) write(found, withoutFinalizer(found.object, foregroundFinalizer))
    // Dependents that wait themselves requeue their owner when they are removed.
    for (const { object } of blocking) if (!isWaiting(object)) enqueue(object.metadata.uid)
  }

  const orphan = (found: FoundOwner): void => {
    const { uid } = found.object.metadata
    for (const dependent of graph.dependentsOf(uid)) {
      const left = (dependent.object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid)
      write(dependent, withOwners(dependent.object, left))
    }
    // An object that owns itself has just been written.
    const live = graph.find(uid)
    if (live) write(live, withoutFinalizer(live.object, orphanFinalizer))
  }

  const collect = ({ served, object }: FoundOwner): void => {
    const { uid, ownerReferences: owners = [] } = object.metadata
    const states = owners.map((owner) => graph.stateOf(object, owner))
    if (states.includes('unknown')) unknown.add(uid)
    if (states.includes('unknown') || states.includes('invalid')) return
    if (states.includes('solid')) {
      const gone = new Set(owners.filter((_, at) => states[at] !== 'solid').map((owner) => owner.uid))
      const left = owners.filter((owner) => !gone.has(owner.uid))
      if (left.length < owners.length) write({ served, object }, withOwners(object, left))
      return
    }
    const dependents = graph.dependentsOf(uid)
    if (!states.includes('waiting') || dependents.length === 0) {
      removeObject(state, served, object, { ...defaultDeleteOptions, propagation: propagationOf(object) })
      return
    }
    if (dependents.some((one) => isWaiting(one.object))) write({ served, object }, unblocked(object))
    const live = graph.find(uid)
    if (live) removeObject(state, served, live.object, { ...defaultDeleteOptions, propagation: 'Foreground' })
  }

  return {
    follow(table, { type, object, previous }) {
      if (table.name === ignoredTable) return
      if (type === 'DELETED') followDeletion(object)
      else followWrite(object, previous)
    },
    revisit({ metadata: { uid, ownerReferences = [] } }) {
      for (const one of [uid, ...ownerReferences.map((owner) => owner.uid)]) enqueue(one)
      enqueueDependents(uid)
    },
    retryUnknown() {
      for (const uid of unknown) enqueue(uid)
      unknown.clear()
    },
    reconcile(found) {
      const { deletionTimestamp, finalizers = [], ownerReferences = [] } = found.object.metadata
      if (deletionTimestamp !== undefined) {
        if (finalizers.includes(orphanFinalizer)) orphan(found)
        else if (finalizers.includes(foregroundFinalizer)) awaitDependents(found)
      } else if (deletesDependents && ownerReferences.length > 0 && found.served.table !== ignoredTable) {
        collect(found)
      }
    },
  }
}

/** The finalizer of the garbage collector if deletion begins with this write. */
function beginningDeletion(object: StoredObject, previous: StoredObject | undefined): string | undefined {
  const isPending = (one: StoredObject | undefined, finalizer: string): boolean =>
    one?.metadata.deletionTimestamp !== undefined && (one.metadata.finalizers ?? []).includes(finalizer)
  return [orphanFinalizer, foregroundFinalizer].find(
    (finalizer) => isPending(object, finalizer) && !isPending(previous, finalizer),
  )
}

function blocks({ metadata }: StoredObject, owner: string): boolean {
  return (metadata.ownerReferences ?? []).some(({ uid, blockOwnerDeletion }) => uid === owner && blockOwnerDeletion)
}

/**
 * Background, so that a kind that orphans its dependents by default deletes them too; unless its finalizers request
 * another policy.
 */
function propagationOf({ metadata: { finalizers = [] } }: StoredObject): Propagation {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan'
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background'
}

function unblocked(object: StoredObject): UntypedObject {
  const release = (owner: OwnerReference): OwnerReference =>
    owner.blockOwnerDeletion ? { ...owner, blockOwnerDeletion: false } : owner
  return withOwners(object, (object.metadata.ownerReferences ?? []).map(release))
}

function withOwners(object: StoredObject, owners: readonly OwnerReference[]): UntypedObject {
  const { ownerReferences: _owners, ...metadata } = object.metadata
  return { ...object, metadata: owners.length > 0 ? { ...metadata, ownerReferences: owners } : metadata }
}

function withoutFinalizer(object: StoredObject, finalizer: string): UntypedObject {
  const { finalizers = [], ...metadata } = object.metadata
  const left = finalizers.filter((one) => one !== finalizer)
  return { ...object, metadata: left.length > 0 ? { ...metadata, finalizers: left } : metadata }
}
