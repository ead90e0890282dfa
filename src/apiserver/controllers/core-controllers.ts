/**
 * The controllers that a cluster cannot do without, combined: they observe each change of the storage, queue the
 * objects that may need work, and reconcile them right after the request that caused the change.
 *
 * - The garbage collector follows owner references (`garbage-collector.ts`).
 * - A namespace that is being deleted is emptied, a CRD loses its objects; then both are removed.
 *
 * Garbage collection and the emptying of namespaces are the work of kube-controller-manager. A server that stands for a
 * kube-apiserver alone does neither.
 */
import { updateObject } from '../../kube/apply/apply.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { cleanupFinalizer, withoutCleanupFinalizer, withTerminatingCondition, nextCrdStep } from '../crd/controller.ts'
import { crdTable } from '../crd/definition-rules.ts'
import { servedBy } from '../crd/serving.ts'
import { defaultDeleteOptions, removeObject } from '../write/delete.ts'
import { createGarbageCollector } from './garbage-collector.ts'
import {
  deleteContent,
  namespaceManager,
  withoutNamespaceFinalizer,
  withDeletionConditions,
} from './namespace-deletion.ts'
import { createOwnerGraph } from './owner-graph.ts'
import type { ClusterState, CoreControllerOptions } from '../cluster/state.ts'
import type { StorageChange, StoredObject, StorageTable } from '../storage/storage.ts'
import { commit } from '../write/change.ts'

/** Delay before a write that the journal failed to store is retried. */
const retryMs = 5000

/** Starts the controllers. */
export function startCoreControllers(
  state: ClusterState,
  { controllerManager, collectGarbage }: Pick<CoreControllerOptions, 'controllerManager' | 'collectGarbage'>,
): void {
  const { storage, catalog } = state
  const graph = createOwnerGraph(state)
  const due = new Set<string>()
  let isScheduled = false

  const enqueue = (uid: string): void => {
    due.add(uid)
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      // Objects queued during the loop are reconciled in the same pass.
      for (const one of due) {
        due.delete(one)
        reconcile(one)
      }
      isScheduled = false
    })
  }

  const garbageCollector = controllerManager
    ? createGarbageCollector(state, { graph, enqueue, deletesDependents: collectGarbage })
    : undefined

  const enqueueAffected = (table: StorageTable, change: StorageChange): void => {
    garbageCollector?.follow(table, change)
    const { object, previous, type } = change
    const { uid, namespace, deletionTimestamp, finalizers = [] } = object.metadata
    const losesFinalizer =
      previous?.metadata.deletionTimestamp !== undefined && previous.metadata.finalizers?.length !== finalizers.length
    // A namespace that is being deleted reports what is left in it, and by which finalizers.
    if (namespace !== undefined && (type === 'DELETED' || losesFinalizer)) {
      const holder = storage.table('namespaces').get(undefined, namespace)
      if (holder?.metadata.deletionTimestamp) enqueue(holder.metadata.uid)
    }
    if (type !== 'DELETED') {
      if (deletionTimestamp !== undefined) enqueue(uid)
    } else {
      const crd = table.size === 0 ? storage.table(crdTable).get(undefined, table.name) : undefined
      if (crd?.metadata.deletionTimestamp) enqueue(crd.metadata.uid)
    }
    if (table.name !== crdTable) return
    // Names that one definition takes or releases may be those that another one waits for.
    const { group } = object['spec'] as { readonly group: string }
    for (const one of table.objects()) if (isOfGroup(one, group)) enqueue(one.metadata.uid)
    garbageCollector?.retryUnknown()
  }

  const write = (served: ServedResource, live: StoredObject, object: UntypedObject): StoredObject =>
    commit(state, { served, dryRun: false }, live, object)

  const reconcile = (uid: string): void => {
    const found = graph.find(uid)
    if (!found) return
    garbageCollector?.reconcile(found)
    const { served, object } = graph.find(uid) ?? {}
    if (!served || !object) return
    const { deletionTimestamp, finalizers = [] } = object.metadata
    if (deletionTimestamp === undefined) {
      if (served.table === crdTable) reconcileDefinition(served, object)
    } else if (served.table === 'namespaces') {
      if (controllerManager) emptyNamespace(served, object)
    } else if (served.table === crdTable && finalizers.includes(cleanupFinalizer)) {
      emptyResource(served, object)
    }
  }

  /** Deletes all objects of a table; true when none is left. */
  const clear = (table: StorageTable): boolean => {
    const served = catalog.ofTable(table.name)
    if (!served) return true
    return table
      .objects()
      .map((object) => removeObject(state, served, object, defaultDeleteOptions).isGone)
      .every(Boolean)
  }

  const emptyNamespace = (served: ServedResource, object: StoredObject): void => {
    const content = deleteContent(state, object.metadata.name)
    const found = withDeletionConditions(object, content, state.clock.now())
    // Written even if the namespace is removed in the same pass: a watch sees the conditions, as on a real cluster.
    const reported =
      found === object ? object : write(served, object, asServer(served, object, found, namespaceManager))
    if (reported && content.remaining === 0) write(served, reported, withoutNamespaceFinalizer(reported))
  }

  const emptyResource = (served: ServedResource, object: StoredObject): void => {
    const now = state.clock.now()
    const begun = withTerminatingCondition(object, now)
    if (begun !== object) write(served, object, asServer(served, object, begun))
    else if (clear(storage.table(object.metadata.name)))
      write(served, object, asServer(served, object, withoutCleanupFinalizer(object, now)))
  }

  /** Accepts the names of a definition, and serves its kind. */
  const reconcileDefinition = (served: ServedResource, object: StoredObject): void => {
    const { group } = object['spec'] as { readonly group: string }
    const others = storage
      .table(crdTable)
      .objects()
      .filter((one) => isOfGroup(one, group))
    const next = nextCrdStep(object, others, state.clock.now())
    if (next) write(served, object, asServer(served, object, next))
  }

  /** The object with the server as field manager of what it changed. */
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
    if (!change.isUndoing) return enqueueAffected(table, change)
    // A write that the journal failed to store is retried later.
    state.clock.after(retryMs, () => {
      enqueueAffected(table, change)
      garbageCollector?.revisit(change.object)
    })
  })
}

/** Updates the catalog when a CRD changes. */
function serveCrd(state: ClusterState, { type, object }: StorageChange): void {
  const { catalog, storage } = state
  const table = object.metadata.name
  catalog.replace(table, type === 'DELETED' ? [] : servedBy(object, state))
  if (type === 'DELETED') storage.endWatches(table)
}

function isOfGroup(crd: StoredObject, group: string): boolean {
  return (crd['spec'] as { readonly group: string }).group === group
}
