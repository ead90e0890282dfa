/**
 * Change: one object takes the place of another. Whatever a client sends, identity and life-cycle stay the server's; the
 * main endpoint cannot touch status where that has its own, and the status endpoint nothing else.
 *
 * Every way to change an object (update, patch, apply, scale, the controllers of this server) ends in `commit`: there
 * the generation is counted, a change that changes nothing is dropped, and an object whose last finalizer went goes too.
 */
import { withSettledTimes } from '../../kube/apply/managed-fields.ts'
import { isReleased } from '../../kube/deletion.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { admitObject, checkAdmission, settleAdmission } from '../cluster/admission.ts'
import { isDefinedAsBefore, type ServedResource } from '../catalog/catalog.ts'
import { finalizerWarnings } from '../crd/finalizer-warnings.ts'
import { asStored, isHollowChange, putHollow, withoutHollows } from './empty-metadata.ts'
import type { KindRules } from '../kinds/kind-rules.ts'
import { rulesOf } from './kinds.ts'
import { changedMetadataProblems } from '../../kube/validation/object-meta.ts'
import { conflict, invalid, modified, notFound, StatusError } from '../errors/status-error.ts'
import { type ClusterState, findObject } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { storedForm } from '../codec/struct-form.ts'
import { changesGeneration, countsGenerations, hasFreeFinalizers } from '../kinds/strategy.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import { admissionOf, kindContext, schemaCauses, withDefaults, type Writing } from './writing.ts'

/** Somebody else may write while a webhook is asked; then it starts over, but not for ever. */
const attempts = 5

/**
 * Changes the object that `writing` names. `produce` makes the object that the client wants out of the live one, both
 * at the version of the request, with its record of ownership; it is asked again if the live one changed meanwhile.
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
    const wanted = produced instanceof Promise ? await produced : produced
    const asked = { ...admissionOf(writing, 'UPDATE'), name, oldObject: live }
    const admitting = admitObject(state, { ...asked, object: wanted })
    const admitted = admitting instanceof Promise ? await admitting : admitting
    const defaulted = admitted === wanted ? wanted : withDefaults(served, admitted)
    const prepared = prepare(state, writing, live, defaulted)
    checkChange(state, writing, live, prepared)
    const checking = checkAdmission(state, { ...asked, object: prepared })
    if (checking) await checking
    const kept = oneAtVersion(prepared, served, served.storedAs)
    const outgoing = withOwnPart(writing, stored, asStored(served, kept instanceof Promise ? await kept : kept))
    if (findObject(state, served, namespace, name) !== stored) continue
    settleAdmission(state, { ...asked, object: prepared })
    return commit(state, writing, stored, outgoing)
  }
  throw modified(served, name)
}

/** What a door keeps closed does not suffer from a version that cannot say it. */
function withOwnPart({ served, subresource }: Writing, stored: StoredObject, outgoing: UntypedObject): UntypedObject {
  if (served.custom || !served.convert || !served.hasStatus) return outgoing
  const other = subresource === 'status' ? 'spec' : 'status'
  const { [other]: _converted, ...rest } = outgoing
  return { ...rest, ...(stored[other] !== undefined && { [other]: stored[other] }) }
}

/** Who sends a whole object means the one that it was made from. */
export function checkUid({ served, dryRun }: Writing, live: StoredObject, { metadata }: UntypedObject): void {
  const { name, uid, namespace } = live.metadata
  if (!metadata.uid || metadata.uid === uid) return
  const root = keyRoots[served.table] ?? (served.custom ? `${served.group}/${served.plural}` : served.plural)
  const key = [dryRun ? '' : '/registry', root, ...(namespace === undefined ? [] : [namespace]), name].join('/')
  const why = `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`
  const where = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`
  throw conflict(served, name, where)
}

/** Where the real server keeps what is not kept under its name. */
const keyRoots: Readonly<Record<string, string>> = {
  replicationcontrollers: 'controllers',
  endpoints: 'services/endpoints',
  services: 'services/specs',
  nodes: 'minions',
  'ingresses.networking.k8s.io': 'ingress',
}

/** The object must still be the version that the client has seen. */
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

/** What the kind makes of a change, once nobody else changes it. */
function prepare(state: ClusterState, writing: Writing, live: StoredObject, object: UntypedObject): UntypedObject {
  const { served, subresource } = writing
  // Where a pod runs is no wish that anybody has to act on.
  if (subresource === 'binding') return object
  if (served.custom) return withGeneration(served, live, object)
  const { prepareUpdate, prepareStatus, doors = {} } = rulesOf(served.table)
  const rule = { '': prepareUpdate, status: prepareStatus }[subresource] ?? doors[subresource]?.prepare
  const wanted = storedForm(object)
  const prepared = rule ? rule(wanted, live, kindContext(state, writing)) : wanted
  // What somebody reports is no wish either, even where annotations go along with it.
  return subresource === 'status' ? prepared : withGeneration(served, live, prepared)
}

function checkChange(state: ClusterState, writing: Writing, live: StoredObject, object: UntypedObject): void {
  const { served, subresource } = writing
  const rules: KindRules = served.custom ? {} : rulesOf(served.table)
  const { validateUpdate, validateStatus, doors = {} } = rules
  const rule = { '': validateUpdate, status: validateStatus }[subresource] ?? doors[subresource]?.validate
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

/** Stores `object` in place of `live`, if it differs; removes it when nothing holds it any more. */
export function commit(
  state: ClusterState,
  { served, dryRun }: Pick<Writing, 'served' | 'dryRun'>,
  live: StoredObject,
  object: UntypedObject,
): StoredObject {
  const settled = withSettledTimes<UntypedObject>(live, object)
  const isHollow = served.custom && isHollowChange(live, settled)
  if (!isHollow && equalJson(live as unknown as Json, settled as unknown as Json)) return live
  if (dryRun) return (served.custom ? withoutHollows(settled) : settled) as StoredObject
  if (!isReleased(settled)) {
    const put = (one: UntypedObject): StoredObject => state.storage.put(served.table, one)
    return served.custom ? putHollow(settled, put) : put(settled)
  }
  // Watchers are shown the last state that was stored, the writer what it made of it, which never got a version.
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
