/**
 * The controllers that a cluster cannot do without, as one: it looks at each change, notes what may have to be done,
 * and does it right after the request that caused it.
 *
 * - An object whose owners are all gone is deleted; one that lost some of them loses those references.
 * - Deletion in the foreground waits for the dependents, orphaning lets go of them first.
 * - A namespace that is being deleted is emptied, a CRD loses its objects; then they go themselves.
 */
import { updateObject } from '../kube/apply/apply.ts'
import type { OwnerReference, UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'
import { cleanupFinalizer, emptied, emptying, nextStep } from './crd/controller.ts'
import { crdTable } from './crd/definition-rules.ts'
import { servedBy } from './crd/serving.ts'
import { foregroundFinalizer, orphanFinalizer, plainDeletion, remove } from './delete.ts'
import type { ClusterState } from './state.ts'
import type { Change, StoredObject, Table } from './storage.ts'
import { commit } from './change.ts'

/** What could not be kept is not tried again before this. */
const undoneMs = 5000

/** Starts keeping house. What is there already must be without owners and owned. */
export function keepHouse(state: ClusterState, { collectGarbage }: { readonly collectGarbage: boolean }): void {
  const { storage, catalog } = state
  /** Where each object is. */
  const places = new Map<
    string,
    { readonly table: string; readonly namespace: string | undefined; readonly name: string }
  >()
  /** Who names an owner, by the owner's uid. */
  const dependents = new Map<string, Set<string>>()
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

  const find = (uid: string): { readonly served: Served; readonly object: StoredObject } | undefined => {
    const place = places.get(uid) ?? storage.laidPlace(uid)
    const object = place && storage.table(place.table).get(place.namespace, place.name)
    const served = place && catalog.ofTable(place.table)
    // Another one may have taken the place of what was laid there.
    return object?.metadata.uid === uid && served ? { served, object } : undefined
  }

  const index = ({ object, previous, type }: Change, { name: table }: Table): void => {
    const { uid, namespace, name } = object.metadata
    for (const { uid: owner } of previous?.metadata.ownerReferences ?? []) {
      dependents.get(owner)?.delete(uid)
      if (dependents.get(owner)?.size === 0) dependents.delete(owner)
    }
    if (type === 'DELETED') {
      places.delete(uid)
      return
    }
    places.set(uid, { table, namespace, name })
    for (const { uid: owner } of object.metadata.ownerReferences ?? []) {
      if (!dependents.has(owner)) dependents.set(owner, new Set())
      dependents.get(owner)!.add(uid)
    }
  }

  const noteAll = ({ object, previous, type }: Change, table: Table): void => {
    const { uid, namespace, ownerReferences = [], deletionTimestamp } = object.metadata
    if (type !== 'DELETED') {
      if (ownerReferences.length > 0 || deletionTimestamp !== undefined) note(uid)
    } else {
      for (const dependent of dependents.get(uid) ?? []) note(dependent)
      const holder = namespace === undefined ? undefined : storage.table('namespaces').get(undefined, namespace)
      if (holder?.metadata.deletionTimestamp) note(holder.metadata.uid)
      const crd = table.size === 0 ? storage.table(crdTable).get(undefined, table.name) : undefined
      if (crd?.metadata.deletionTimestamp) note(crd.metadata.uid)
    }
    // What one definition takes or frees may be what another waits for.
    if (table.name === crdTable) {
      const { group } = object['spec'] as { readonly group: string }
      for (const one of table.objects()) if (isOfGroup(one, group)) note(one.metadata.uid)
    }
    // Owners that wait for their dependents may go now.
    for (const owner of previous?.metadata.ownerReferences ?? []) {
      if (find(owner.uid)?.object.metadata.deletionTimestamp) note(owner.uid)
    }
  }

  const write = (served: Served, live: StoredObject, object: UntypedObject): void =>
    void commit(state, { served, dryRun: false }, live, object)

  const look = (uid: string): void => {
    const found = find(uid)
    if (!found) return
    const { served, object } = found
    const { deletionTimestamp, finalizers = [] } = object.metadata
    if (deletionTimestamp !== undefined) {
      if (served.table === 'namespaces') return emptyNamespace(served, object)
      if (served.table === crdTable && finalizers.includes(cleanupFinalizer)) return emptyResource(served, object)
      if (finalizers.includes(orphanFinalizer)) return orphan(served, object)
      if (finalizers.includes(foregroundFinalizer)) return awaitDependents(served, object)
      return
    }
    if (served.table === crdTable) settleDefinition(served, object)
    if (collectGarbage && object.metadata.ownerReferences?.length) followOwners(served, object)
  }

  const followOwners = (served: Served, object: StoredObject): void => {
    const owners = object.metadata.ownerReferences ?? []
    const isGone = ({ uid }: OwnerReference): boolean => !places.has(uid) && !find(uid)
    const isWaiting = ({ uid }: OwnerReference): boolean =>
      find(uid)?.object.metadata.finalizers?.includes(foregroundFinalizer) === true &&
      find(uid)?.object.metadata.deletionTimestamp !== undefined
    if (owners.every((owner) => isGone(owner) || isWaiting(owner))) {
      // Dependents of what goes in the foreground go so too, where they have dependents of their own.
      const isDeep = owners.some(isWaiting) && dependents.has(object.metadata.uid)
      remove(state, served, object, { ...plainDeletion, propagation: isDeep ? 'Foreground' : undefined })
    } else {
      // Somebody still owns it: then nobody else waits for it.
      const left = owners.filter((owner) => !isGone(owner) && !isWaiting(owner))
      if (left.length < owners.length) write(served, object, withOwners(object, left))
    }
  }

  const orphan = (served: Served, object: StoredObject): void => {
    const { uid } = object.metadata
    for (const dependent of dependents.get(uid) ?? []) {
      const found = find(dependent)
      if (!found) continue
      const owners = found.object.metadata.ownerReferences ?? []
      write(
        found.served,
        found.object,
        withOwners(
          found.object,
          owners.filter((owner) => owner.uid !== uid),
        ),
      )
    }
    write(served, object, withoutFinalizer(object, orphanFinalizer))
  }

  const awaitDependents = (served: Served, object: StoredObject): void => {
    const { uid } = object.metadata
    const waitedFor = [...(dependents.get(uid) ?? [])].filter((dependent) =>
      find(dependent)?.object.metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion),
    )
    for (const dependent of dependents.get(uid) ?? []) note(dependent)
    if (waitedFor.length === 0) write(served, object, withoutFinalizer(object, foregroundFinalizer))
  }

  /** Deletes all of these; true when nothing holds any of them. */
  const clear = (table: Table, namespace?: string): boolean => {
    const served = catalog.ofTable(table.name)
    if (!served) return true
    return table
      .objects(namespace)
      .map((object) => remove(state, served, object, plainDeletion).isGone)
      .every(Boolean)
  }

  const emptyNamespace = (served: Served, object: StoredObject): void => {
    const { name } = object.metadata
    if (![...storage.tables()].map((table) => clear(table, name)).every(Boolean)) return
    const { finalizers: _finalizers, ...spec } = (object['spec'] ?? {}) as { readonly finalizers?: readonly string[] }
    write(served, object, { ...object, spec })
  }

  const emptyResource = (served: Served, object: StoredObject): void => {
    const now = state.clock.now()
    const begun = emptying(object, now)
    if (begun !== object) write(served, object, asServer(served, object, begun))
    else if (clear(storage.table(object.metadata.name)))
      write(served, object, asServer(served, object, emptied(object, now)))
  }

  /** Accepts the names of a definition, and serves its kind. */
  const settleDefinition = (served: Served, object: StoredObject): void => {
    const { group } = object['spec'] as { readonly group: string }
    const others = storage
      .table(crdTable)
      .objects()
      .filter((one) => isOfGroup(one, group))
    const next = nextStep(object, others, state.clock.now())
    if (next) write(served, object, asServer(served, object, next))
  }

  /** What the server says about an object is recorded as its own word. */
  const asServer = (served: Served, live: StoredObject, updated: UntypedObject): UntypedObject =>
    updateObject<UntypedObject>({
      manager: 'kube-apiserver',
      subresource: 'status',
      schema: served.schema,
      definitions: served.definitions,
      now: state.clock.now(),
      live,
      updated,
    })

  for (const table of storage.tables()) {
    for (const { metadata } of table.objects()) {
      const { uid, namespace, name } = metadata
      places.set(uid, { table: table.name, namespace, name })
    }
  }
  storage.onChange((table, change) => {
    index(change, table)
    if (table.name === crdTable) serveCrd(state, change)
    if (!change.isUndoing) noteAll(change, table)
    // What the disk did not take now it may take later.
    else state.clock.after(undoneMs, () => noteAll(change, table))
  })
}

/** The catalog follows the CRDs. */
function serveCrd(state: ClusterState, { type, object }: Change): void {
  const { catalog, storage } = state
  const table = object.metadata.name
  catalog.replace(table, type === 'DELETED' ? [] : servedBy(object, state))
  if (type === 'DELETED') storage.endWatches(table)
}

function isOfGroup(crd: StoredObject, group: string): boolean {
  return (crd['spec'] as { readonly group: string }).group === group
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
