/**
 * The garbage collector: objects whose owners are all gone are deleted, and deletion in the foreground or with orphaned
 * dependents is carried out.
 *
 * It acts on what is stored at the moment, one object at a time, and comes to rest whatever the graph looks like:
 * - Each write takes something away that only a client can give back: an owner reference, `blockOwnerDeletion`, a
 *   finalizer of the garbage collector, or an object's freedom from deletion. So there are finitely many writes.
 * - A write asks for another look at the neighbours of one object. A look that writes nothing asks only for looks at
 *   dependents that still have to be deleted or to lose a reference, and each such look writes or is the last one.
 *
 * In a circle of objects that wait for each other, one object lets go: before an object is deleted in the foreground
 * whose dependent waits already, its own references stop blocking. A circle in which every object was deleted in the
 * foreground by clients stays, as in any cluster: no object of it is left to let go.
 */
import { equalJson } from '../../kube/json.ts'
import type { OwnerReference, UntypedObject } from '../../kube/object.ts'
import { commit } from '../write/change.ts'
import { foregroundFinalizer, orphanFinalizer, plainDeletion, type Propagation, removeObject } from '../write/delete.ts'
import { type FoundOwner, isWaiting, type OwnerGraph } from './owner-graph.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject, StorageTable } from '../storage/storage.ts'

export interface GarbageCollector {
  /** Asks for looks at the objects that a change may concern. */
  follow(table: StorageTable, change: StorageChange): void
  /** Asks for looks at an object and its neighbours, whatever has changed. */
  revisit(object: StoredObject): void
  /** Asks for looks at the objects whose owners are of a kind that was not served. */
  retryUnknown(): void
  /** Does for one object what is to be done at the moment. */
  look(found: FoundOwner): void
}

/** Events are never garbage collected: there are many, and they expire. */
const ignoredTable = 'events'

export interface GarbageCollectorOptions {
  readonly graph: OwnerGraph
  /** Asks for a look at the object of this uid, later. */
  readonly note: (uid: string) => void
  /** Whether objects that have lost their owners are deleted. Deletion that a client asks for is carried out anyway. */
  readonly deletesDependents: boolean
}

export function createGarbageCollector(state: ClusterState, options: GarbageCollectorOptions): GarbageCollector {
  const { graph, note, deletesDependents } = options
  const unknown = new Set<string>()

  const write = ({ served, object }: FoundOwner, changed: UntypedObject): void =>
    void commit(state, { served, dryRun: false }, object, changed)

  const noteDependents = (uid: string): void => {
    for (const { object } of graph.dependentsOf(uid)) note(object.metadata.uid)
  }

  const followDeletion = ({ metadata }: StoredObject): void => {
    unknown.delete(metadata.uid)
    noteDependents(metadata.uid)
    for (const { uid } of metadata.ownerReferences ?? []) {
      const owner = graph.find(uid)
      if (owner && isWaiting(owner.object)) note(uid)
    }
  }

  const followWrite = (object: StoredObject, previous: StoredObject | undefined): void => {
    const { uid, ownerReferences: owners = [] } = object.metadata
    const before = previous?.metadata.ownerReferences ?? []
    const isMissing = (owner: OwnerReference): boolean =>
      !['solid', 'waiting'].includes(graph.standingOf(object, owner))
    const isChanged = !equalJson(
      owners.map((owner) => ({ ...owner })),
      before.map((owner) => ({ ...owner })),
    )
    if (isChanged && owners.some(isMissing)) note(uid)
    for (const owner of before) {
      if (owner.blockOwnerDeletion && !owners.some((one) => one.uid === owner.uid && one.blockOwnerDeletion)) {
        note(owner.uid)
      }
    }
    const begun = beginningDeletion(object, previous)
    if (begun === undefined) return
    note(uid)
    if (begun === foregroundFinalizer) noteDependents(uid)
  }

  const awaitDependents = (found: FoundOwner): void => {
    const { uid } = found.object.metadata
    const blocking = graph.dependentsOf(uid).filter(({ object }) => blocks(object, uid))
    if (blocking.length === 0) write(found, withoutFinalizer(found.object, foregroundFinalizer))
    // Those that wait themselves ask for another look at their owner when they go.
    for (const { object } of blocking) if (!isWaiting(object)) note(object.metadata.uid)
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
    const standings = owners.map((owner) => graph.standingOf(object, owner))
    if (standings.includes('unknown')) unknown.add(uid)
    if (standings.includes('unknown') || standings.includes('invalid')) return
    if (standings.includes('solid')) {
      const gone = new Set(owners.filter((_, at) => standings[at] !== 'solid').map((owner) => owner.uid))
      const left = owners.filter((owner) => !gone.has(owner.uid))
      if (left.length < owners.length) write({ served, object }, withOwners(object, left))
      return
    }
    const dependents = graph.dependentsOf(uid)
    if (!standings.includes('waiting') || dependents.length === 0) {
      removeObject(state, served, object, { ...plainDeletion, propagation: propagationOf(object) })
      return
    }
    if (dependents.some((one) => isWaiting(one.object))) write({ served, object }, unblocked(object))
    const live = graph.find(uid)
    if (live) removeObject(state, served, live.object, { ...plainDeletion, propagation: 'Foreground' })
  }

  return {
    follow(table, { type, object, previous }) {
      if (table.name === ignoredTable) return
      if (type === 'DELETED') followDeletion(object)
      else followWrite(object, previous)
    },
    revisit({ metadata: { uid, ownerReferences = [] } }) {
      for (const one of [uid, ...ownerReferences.map((owner) => owner.uid)]) note(one)
      noteDependents(uid)
    },
    retryUnknown() {
      for (const uid of unknown) note(uid)
      unknown.clear()
    },
    look(found) {
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

/** The finalizer of the garbage collector by which a deletion begins with this write. */
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

/** Background, so that a kind that orphans its dependents by default takes them along; unless its finalizers say otherwise. */
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
