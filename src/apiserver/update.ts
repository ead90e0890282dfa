/**
 * Update: an object takes the place of the one that is stored. Whatever a client sends, identity and life-cycle stay
 * the server's; the main endpoint cannot touch status where that has its own, and the status endpoint nothing else.
 *
 * Every way to change an object (update, patch, apply, scale, the controllers of this server) ends in `commit`: there
 * the generation is counted, a change that changes nothing is dropped, and an object whose last finalizer went goes too.
 */
import { updateObject } from '../kube/apply/apply.ts'
import { withSettledTimes } from '../kube/apply/managed-fields.ts'
import { equalJson, type Json } from '../kube/json.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'
import { create } from './create.ts'
import { acceptCrd, crdTable } from './crd.ts'
import { cause, conflict, invalid, modified, notFound } from './refusal.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from './storage.ts'
import { changesGeneration, countsGenerations, isCreatedByUpdate, needsVersion, prepareWrite } from './strategy.ts'
import { admit, checkIdentity, ownershipOf, type Writing } from './writing.ts'

export interface Updated {
  readonly object: StoredObject
  readonly isNew: boolean
}

export function update(state: ClusterState, writing: Writing, body: Json): Updated {
  const { served, namespace, name = '' } = writing
  const object = admit(writing, body)
  checkIdentity(writing, object)
  const live = findObject(state, served, namespace, name)
  if (!live) {
    if (writing.subresource !== '' || !isCreatedByUpdate(served)) throw notFound(served, name)
    const named = { ...object, metadata: { ...object.metadata, name } } as unknown as Json
    return { object: create(state, { ...writing, name: undefined }, named), isNew: true }
  }
  if (!object.metadata.resourceVersion && needsVersion(served)) {
    throw invalid(served, name, [cause.invalid('metadata.resourceVersion', '0x0', 'must be specified for an update')])
  }
  return { object: replace(state, writing, live, object), isNew: false }
}

/** The outcome of an update or patch, stored in place of `live`. */
export function replace(
  state: ClusterState,
  writing: Writing,
  live: StoredObject,
  object: UntypedObject,
): StoredObject {
  checkPreconditions(writing.served, live, object)
  const settled = settle(writing, live, object)
  const own = { ...live, apiVersion: settled.apiVersion } as StoredObject
  return commit(state, writing, live, updateObject({ ...ownershipOf(state, writing), live: own, updated: settled }))
}

/** The object must still be the one, and the version, that the client has seen. */
export function checkPreconditions(served: Served, live: StoredObject, { metadata }: UntypedObject): void {
  const { name, uid, resourceVersion } = live.metadata
  if (metadata.uid && metadata.uid !== uid) {
    const why = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`
    throw conflict(served, name, why)
  }
  if (metadata.resourceVersion && metadata.resourceVersion !== resourceVersion) throw modified(served, name)
}

/** `object` with everything that this endpoint cannot change put back to what it was. */
export function settle({ served, subresource }: Writing, live: StoredObject, object: UntypedObject): UntypedObject {
  const { apiVersion } = object
  if (subresource === 'status') {
    const { status: _status, ...rest } = live
    const labels = live.metadata.labels
    const { labels: _labels, ...others } = object.metadata
    const metadata =
      served.group === 'apps'
        ? { ...others, ...(labels && { labels }) }
        : served.custom
          ? live.metadata
          : object.metadata
    const managedFields = live.metadata.managedFields
    return {
      ...rest,
      apiVersion,
      metadata: withFixed({ ...metadata, ...(managedFields && { managedFields }) }, live),
      ...(object['status'] !== undefined && { status: object['status'] }),
    }
  }
  const metadata = withFixed(object.metadata, live)
  if (!served.hasStatus) return prepareWrite(served, { ...object, metadata })
  const { status: _status, ...rest } = object
  const status = live['status']
  // What holds a namespace is changed through `finalize` alone, and its spec is nothing else.
  const kept = served.table === 'namespaces' && subresource === '' ? { spec: live['spec'] } : {}
  return prepareWrite(served, { ...rest, ...kept, metadata, ...(status !== undefined && { status }) })
}

/** What the server alone sets stays. */
function withFixed(metadata: UntypedObject['metadata'], live: StoredObject): UntypedObject['metadata'] {
  const fixed = [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'generation',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generateName',
  ] as const
  const entries = new Map<string, unknown>(Object.entries(metadata))
  for (const member of fixed) {
    const value = live.metadata[member]
    if (value === undefined) entries.delete(member)
    else entries.set(member, value)
  }
  entries.delete('selfLink')
  return Object.fromEntries(entries)
}

/** Stores `object` in place of `live`, if it differs; removes it when nothing holds it any more. */
export function commit(
  state: ClusterState,
  { served, dryRun }: Pick<Writing, 'served' | 'dryRun'>,
  live: StoredObject,
  object: UntypedObject,
): StoredObject {
  checkFinalizers(served, live, object)
  const own = { ...live, apiVersion: object.apiVersion } as StoredObject
  const accepted = served.table === crdTable ? acceptCrd(object, state.catalog, state.clock.now()) : object
  const counted = withGeneration(served, own, accepted)
  const settled = withSettledTimes<UntypedObject>(own, counted)
  // A stored object that is read at another version is still the same.
  if (equalJson(own as unknown as Json, settled as unknown as Json)) return own
  if (dryRun) return settled as StoredObject
  return isReleased(settled) ? state.storage.remove(served.table, settled) : state.storage.put(served.table, settled)
}

function withGeneration(served: Served, live: StoredObject, object: UntypedObject): UntypedObject {
  if (!countsGenerations(served)) return object
  const relevant = ({ metadata, status, ...rest }: UntypedObject): Json => {
    const annotations = changesGeneration(served) === 'spec' ? undefined : metadata.annotations
    return { ...rest, ...(!served.hasStatus && { status }), ...(annotations && { annotations }) } as unknown as Json
  }
  if (equalJson(relevant(live), relevant(object))) return object
  return { ...object, metadata: { ...object.metadata, generation: (live.metadata.generation ?? 0) + 1 } }
}

/** Marked for deletion, and nothing holds it: neither a finalizer nor, for a namespace, its contents. */
export function isReleased({ metadata, spec, kind, apiVersion }: UntypedObject): boolean {
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false
  if (kind !== 'Namespace' || apiVersion !== 'v1') return true
  return ((spec as { readonly finalizers?: readonly string[] } | undefined)?.finalizers ?? []).length === 0
}

function checkFinalizers(served: Served, live: StoredObject, { metadata }: UntypedObject): void {
  if (live.metadata.deletionTimestamp === undefined) return
  const before = new Set(live.metadata.finalizers)
  const added = (metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer))
  if (added.length === 0) return
  const found = `[]string{${added.map((one) => `"${one}"`).join(', ')}}`
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`
  throw invalid(served, live.metadata.name, [cause.forbidden('metadata.finalizers', why)])
}
