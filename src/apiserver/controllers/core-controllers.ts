/**
 * The controllers that a cluster cannot do without, as one: it looks at each change, notes what may have to be done,
 * and does it right after the request that caused it.
 *
 * - The garbage collector follows owner references (`garbage-collector.ts`).
 * - A namespace that is being deleted is emptied, a CRD loses its objects; then they go themselves.
 */
import { updateObject } from '../../kube/apply/apply.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { cleanupFinalizer, emptied, emptying, nextCrdStep } from '../crd/controller.ts'
import { crdTable } from '../crd/definition-rules.ts'
import { servedBy } from '../crd/serving.ts'
import { plainDeletion, removeObject } from '../write/delete.ts'
import { createGarbageCollector } from './garbage-collector.ts'
import { deleteContent, namespaceManager, released, withDeletionConditions } from './namespace-deletion.ts'
import { createOwnerGraph } from './owner-graph.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StorageChange, StoredObject, StorageTable } from '../storage/storage.ts'
import { commit } from '../write/change.ts'

/** What could not be kept is not tried again before this. */
const undoneMs = 5000

/** Starts the controllers. */
export function keepHouse(state: ClusterState, { collectGarbage }: { readonly collectGarbage: boolean }): void {
  const { storage, catalog } = state
  const graph = createOwnerGraph(state)
  const due = new Set<string>()
  let isScheduled = false

  const note = (uid: string): void => {
    due.add(uid)
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      // What is noted meanwhile is looked at in the same go.
      for (const one of due) {
        due.delete(one)
        look(one)
      }
      isScheduled = false
    })
  }

  const garbageCollector = createGarbageCollector(state, { graph, note, deletesDependents: collectGarbage })

  const noteAll = (table: StorageTable, change: StorageChange): void => {
    garbageCollector.follow(table, change)
    const { object, previous, type } = change
    const { uid, namespace, deletionTimestamp, finalizers = [] } = object.metadata
    const isLetGo =
      previous?.metadata.deletionTimestamp !== undefined && previous.metadata.finalizers?.length !== finalizers.length
    // A namespace that is being deleted reports what is left in it, and by which finalizers.
    if (namespace !== undefined && (type === 'DELETED' || isLetGo)) {
      const holder = storage.table('namespaces').get(undefined, namespace)
      if (holder?.metadata.deletionTimestamp) note(holder.metadata.uid)
    }
    if (type !== 'DELETED') {
      if (deletionTimestamp !== undefined) note(uid)
    } else {
      const crd = table.size === 0 ? storage.table(crdTable).get(undefined, table.name) : undefined
      if (crd?.metadata.deletionTimestamp) note(crd.metadata.uid)
    }
    if (table.name !== crdTable) return
    // What one definition takes or frees may be what another waits for.
    const { group } = object['spec'] as { readonly group: string }
    for (const one of table.objects()) if (isOfGroup(one, group)) note(one.metadata.uid)
    garbageCollector.retryUnknown()
  }

  const write = (served: ServedResource, live: StoredObject, object: UntypedObject): StoredObject =>
    commit(state, { served, dryRun: false }, live, object)

  const look = (uid: string): void => {
    const found = graph.find(uid)
    if (!found) return
    garbageCollector.look(found)
    const { served, object } = graph.find(uid) ?? {}
    if (!served || !object) return
    const { deletionTimestamp, finalizers = [] } = object.metadata
    if (deletionTimestamp === undefined) {
      if (served.table === crdTable) settleDefinition(served, object)
    } else if (served.table === 'namespaces') {
      emptyNamespace(served, object)
    } else if (served.table === crdTable && finalizers.includes(cleanupFinalizer)) {
      emptyResource(served, object)
    }
  }

  /** Deletes all of these; true when nothing holds any of them. */
  const clear = (table: StorageTable): boolean => {
    const served = catalog.ofTable(table.name)
    if (!served) return true
    return table
      .objects()
      .map((object) => removeObject(state, served, object, plainDeletion).isGone)
      .every(Boolean)
  }

  const emptyNamespace = (served: ServedResource, object: StoredObject): void => {
    const content = deleteContent(state, object.metadata.name)
    const found = withDeletionConditions(object, content, state.clock.now())
    // Written even where the namespace goes in the same go: a watch sees the conditions, as on a real cluster.
    const told = found === object ? object : write(served, object, asServer(served, object, found, namespaceManager))
    if (told && content.remaining === 0) write(served, told, released(told))
  }

  const emptyResource = (served: ServedResource, object: StoredObject): void => {
    const now = state.clock.now()
    const begun = emptying(object, now)
    if (begun !== object) write(served, object, asServer(served, object, begun))
    else if (clear(storage.table(object.metadata.name)))
      write(served, object, asServer(served, object, emptied(object, now)))
  }

  /** Accepts the names of a definition, and serves its kind. */
  const settleDefinition = (served: ServedResource, object: StoredObject): void => {
    const { group } = object['spec'] as { readonly group: string }
    const others = storage
      .table(crdTable)
      .objects()
      .filter((one) => isOfGroup(one, group))
    const next = nextCrdStep(object, others, state.clock.now())
    if (next) write(served, object, asServer(served, object, next))
  }

  /** What the server says about an object is recorded as its own word. */
  const asServer = (
    served: ServedResource,
    live: StoredObject,
    updated: UntypedObject,
    manager = 'kube-apiserver',
  ): UntypedObject =>
    updateObject<UntypedObject>({
      manager,
      subresource: 'status',
      schema: served.schema,
      definitions: served.definitions,
      now: state.clock.now(),
      live,
      updated,
    })

  storage.onChange((table, change) => {
    graph.follow(table.name, change)
    if (table.name === crdTable) serveCrd(state, change)
    if (!change.isUndoing) return noteAll(table, change)
    // What the disk did not take now it may take later.
    state.clock.after(undoneMs, () => {
      noteAll(table, change)
      garbageCollector.revisit(change.object)
    })
  })
}

/** The catalog follows the CRDs. */
function serveCrd(state: ClusterState, { type, object }: StorageChange): void {
  const { catalog, storage } = state
  const table = object.metadata.name
  catalog.replace(table, type === 'DELETED' ? [] : servedBy(object, state))
  if (type === 'DELETED') storage.endWatches(table)
}

function isOfGroup(crd: StoredObject, group: string): boolean {
  return (crd['spec'] as { readonly group: string }).group === group
}
