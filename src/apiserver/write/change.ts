/**
 * Change: one object replaces another. Identity and life cycle are controlled by the server, whatever a client sends;
 * the main endpoint cannot change status where `/status` exists, and `/status` changes nothing else.
 *
 * Every way to change an object (update, patch, apply, scale, the server's own controllers) ends in `commit`: it
 * increments the generation, drops a write without changes, and removes an object whose last finalizer is gone.
 */
import { withSettledTimes } from '../../kube/apply/managed-fields.ts'
import { isReleased } from '../../kube/meta/deletion.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { admitObject, checkAdmission, settleAdmission } from '../cluster/admission.ts'
import { isDefinedAsBefore, type ServedResource } from '../catalog/catalog.ts'
import { finalizerWarnings } from '../crd/finalizer-warnings.ts'
import { asStored, isEmptyMetadataChange, putWithEmptyMetadata, withoutEmptyMetadata } from './empty-metadata.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'
import { rulesOf } from './kinds.ts'
import { changedMetadataProblems } from '../../kube/validation/object-meta.ts'
import { conflict, invalid, modified, notFound, StatusError } from '../errors/status-error.ts'
import { type ClusterState, findObject } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { storedForm } from '../codec/struct-form.ts'
import { changesGeneration, countsGenerations, hasFreeFinalizers } from '../kinds/strategy/strategy.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import { admissionOf, kindContext, schemaCauses, withDefaults, type Writing } from './writing.ts'

/** Another client may write while a webhook is called; then the change starts over, at most this many times. */
const attempts = 5

/**
 * Changes the object that `writing` names. `produce` makes the desired object from the live one, both in the version of
 * the request, including managedFields; it is called again if the live object changed meanwhile.
 */
export async function change(
  state: ClusterState,
  writing: Writing,
  produce: (live: StoredObject) => UntypedObject | Promise<UntypedObject>,
): Promise<StoredObject> {
  const { served, namespace, name = '' } = writing
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const stored = findObject(state, served, namespace, name)
    if (!stored || !isDefinedAsBefore(state.catalog, served)) throw notFound(served, name)
    const converted = oneAtVersion(stored, served)
    const live = converted instanceof Promise ? await converted : converted
    const produced = produce(live)
    const desired = produced instanceof Promise ? await produced : produced
    const asked = { ...admissionOf(writing, 'UPDATE'), name, oldObject: live }
    const admitting = admitObject(state, { ...asked, object: desired })
    const admitted = admitting instanceof Promise ? await admitting : admitting
    const defaulted = admitted === desired ? desired : withDefaults(served, admitted)
    const prepared = prepare(state, writing, live, defaulted)
    checkChange(state, writing, live, prepared)
    const checking = checkAdmission(state, { ...asked, object: prepared })
    if (checking) await checking
    const kept = oneAtVersion(prepared, served, served.storedAs)
    const outgoing = withUnchangedPart(writing, stored, asStored(served, kept instanceof Promise ? await kept : kept))
    if (findObject(state, served, namespace, name) !== stored) continue
    settleAdmission(state, { ...asked, object: prepared })
    return commit(state, writing, stored, outgoing)
  }
  throw modified(served, name)
}

/**
 * Fields that this endpoint cannot change are taken from the stored object: they may not survive a round trip through a
 * version that cannot express them.
 */
function withUnchangedPart(
  { served, subresource }: Writing,
  stored: StoredObject,
  outgoing: UntypedObject,
): UntypedObject {
  if (served.custom || !served.convert || !served.hasStatus) return outgoing
  const other = subresource === 'status' ? 'spec' : 'status'
  const { [other]: _converted, ...rest } = outgoing
  return { ...rest, ...(stored[other] !== undefined && { [other]: stored[other] }) }
}

/** A uid in the body is a precondition: the object must still be the one that the client has read. */
export function checkUid({ served, dryRun }: Writing, live: StoredObject, { metadata }: UntypedObject): void {
  const { name, uid, namespace } = live.metadata
  if (!metadata.uid || metadata.uid === uid) return
  const root = keyRoots[served.table] ?? (served.custom ? `${served.group}/${served.plural}` : served.plural)
  const key = [dryRun ? '' : '/registry', root, ...(namespace === undefined ? [] : [namespace]), name].join('/')
  const why = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`
  const where = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`
  throw conflict(served, name, where)
}

/** The roots of the real server's storage keys, where they differ from the name of the resource. */
const keyRoots: Readonly<Record<string, string>> = {
  replicationcontrollers: 'controllers',
  endpoints: 'services/endpoints',
  services: 'services/specs',
  nodes: 'minions',
  'ingresses.networking.k8s.io': 'ingress',
}

/** Optimistic locking: a resourceVersion in the body must be that of the live object. */
export function checkVersion(served: ServedResource, live: StoredObject, { metadata }: UntypedObject): void {
  const { name, resourceVersion } = live.metadata
  if (metadata.resourceVersion && !/^\d+$/.test(metadata.resourceVersion)) {
    throw new StatusError(
      500,
      '',
      `strconv.ParseUint: parsing ${JSON.stringify(metadata.resourceVersion)}: invalid syntax`,
    )
  }
  if (metadata.resourceVersion && metadata.resourceVersion !== resourceVersion) throw modified(served, name)
}

/** Applies the kind's own update rules, after mutating admission. */
function prepare(state: ClusterState, writing: Writing, live: StoredObject, object: UntypedObject): UntypedObject {
  const { served, subresource } = writing
  // Binding a pod to a node does not change its desired state, so it does not increment the generation.
  if (subresource === 'binding') return object
  if (served.custom) return withGeneration(served, live, object)
  const { prepareUpdate, prepareStatus, subresources = {} } = rulesOf(served.table)
  const rule = { '': prepareUpdate, status: prepareStatus }[subresource] ?? subresources[subresource]?.prepare
  const desired = storedForm(object)
  const prepared = rule ? rule(desired, live, kindContext(state, writing)) : desired
  // Neither does a status, even if annotations change along with it.
  return subresource === 'status' ? prepared : withGeneration(served, live, prepared)
}

function checkChange(state: ClusterState, writing: Writing, live: StoredObject, object: UntypedObject): void {
  const { served, subresource } = writing
  const rules: KindRules = served.custom ? {} : rulesOf(served.table)
  const { validateUpdate, validateStatus, subresources = {} } = rules
  const rule = { '': validateUpdate, status: validateStatus }[subresource] ?? subresources[subresource]?.validate
  const causes = [
    ...changedMetadataProblems(live, object, {
      isCustom: served.custom,
      hasFreeFinalizers: hasFreeFinalizers(served),
    }),
    ...schemaCauses(writing, object, live),
    ...(rule?.(object, live, kindContext(state, writing)) ?? []),
  ]
  if (causes.length > 0) throw invalid(served, live.metadata.name, causes)
  if (subresource !== '' && (served.custom || subresource !== 'scale')) return
  const warnings = served.custom ? finalizerWarnings(object, live) : rules.warnings?.(object, live)
  for (const warning of warnings ?? []) writing.warn(warning)
}

/** Stores `object` in place of `live` if it differs; removes it when it is being deleted and has no finalizers left. */
export function commit(
  state: ClusterState,
  { served, dryRun }: Pick<Writing, 'served' | 'dryRun'>,
  live: StoredObject,
  object: UntypedObject,
): StoredObject {
  const settled = withSettledTimes<UntypedObject>(live, object)
  const changesEmptyMetadata = served.custom && isEmptyMetadataChange(live, settled)
  if (!changesEmptyMetadata && equalJson(live as unknown as Json, settled as unknown as Json)) return live
  if (dryRun) return (served.custom ? withoutEmptyMetadata(settled) : settled) as StoredObject
  if (!isReleased(settled)) {
    const put = (one: UntypedObject): StoredObject => state.storage.put(served.table, one)
    return served.custom ? putWithEmptyMetadata(settled, put) : put(settled)
  }
  // Watches get the last stored state; the response shows the final object, which never got a resourceVersion.
  state.storage.remove(served.table, live)
  const { resourceVersion } = live.metadata
  return { ...settled, metadata: { ...settled.metadata, resourceVersion } } as StoredObject
}

function withGeneration(served: ServedResource, live: StoredObject, object: UntypedObject): UntypedObject {
  if (!countsGenerations(served) || changesGeneration(served) === 'nothing') return object
  const counted = changesGeneration(served)
  const relevant = ({ metadata, status, ...rest }: UntypedObject): Json => {
    const annotations = counted === 'spec and annotations' ? metadata.annotations : undefined
    const labels = counted === 'spec and labels' ? metadata.labels : undefined
    return {
      ...rest,
      ...(!served.hasStatus && { status }),
      ...(annotations && { annotations }),
      ...(labels && { labels }),
    } as unknown as Json
  }
  if (equalJson(relevant(live), relevant(object))) return object
  return { ...object, metadata: { ...object.metadata, generation: (live.metadata.generation ?? 0) + 1 } }
}
