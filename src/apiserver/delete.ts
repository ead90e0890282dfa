/**
 * Delete: an object goes at once, or, where a finalizer holds it, is marked and goes when the last one is removed. How
 * its dependents fare is said by two finalizers of the server's own, which `housekeeping.ts` acts on.
 */
import { formatTime } from '../kube/duration.ts'
import { isJsonObject, type Json, stringifyJson } from '../kube/json.ts'
import type { Status, UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'
import { badRequest, cause, conflict, forbidden, invalidOptions } from './refusal.ts'
import type { ClusterState } from './state.ts'
import type { StoredObject } from './storage.ts'
import { countsGenerations, protectedNamespaces, returnsDeleted } from './strategy.ts'
import { isReleased } from './update.ts'
import { isDryRun } from './writing.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

export type Propagation = 'Orphan' | 'Background' | 'Foreground'

export interface Deleting {
  readonly dryRun: boolean
  readonly propagation: Propagation | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
}

/** Options come in the body, or, for want of one, in the query. */
export function deletingOf(body: Json | undefined, query: URLSearchParams): Deleting {
  const options = isJsonObject(body) ? body : {}
  const given = options['preconditions']
  const { uid, resourceVersion } = isJsonObject(given) ? given : {}
  const dryRun = Array.isArray(options['dryRun']) ? (options['dryRun'] as readonly string[]) : query.getAll('dryRun')
  const propagation = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined
  if (propagation !== undefined && !isPropagation(propagation)) {
    const supported = ['Foreground', 'Background', 'Orphan']
    throw invalidOptions('DeleteOptions', [
      cause.unsupported('propagationPolicy', stringifyJson(propagation), supported),
    ])
  }
  const legacy = options['orphanDependents'] ?? query.get('orphanDependents') ?? undefined
  if (legacy !== undefined && propagation !== undefined) {
    throw badRequest('orphanDependents and propagationPolicy cannot be both set')
  }
  return {
    dryRun: isDryRun(dryRun),
    propagation:
      propagation ??
      (legacy === true || legacy === 'true' ? 'Orphan' : legacy === undefined ? undefined : 'Background'),
    uid: typeof uid === 'string' ? uid : undefined,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : undefined,
  }
}

function isPropagation(value: Json): value is Propagation {
  return value === 'Orphan' || value === 'Background' || value === 'Foreground'
}

export const plainDeletion: Deleting = {
  dryRun: false,
  propagation: undefined,
  uid: undefined,
  resourceVersion: undefined,
}

export interface Deleted {
  /** Its last state, or its present one while something holds it. */
  readonly object: StoredObject
  readonly isGone: boolean
}

export function remove(state: ClusterState, served: Served, live: StoredObject, deleting: Deleting): Deleted {
  checkDeletion(served, live, deleting)
  const object = marked(state, served, live, deleting.propagation)
  const isGone = isReleased(object)
  if (deleting.dryRun) return { object: object as StoredObject, isGone }
  if (isGone) return { object: state.storage.remove(served.table, live), isGone }
  return { object: object === live ? live : state.storage.put(served.table, object), isGone }
}

function checkDeletion(served: Served, { metadata }: StoredObject, { uid, resourceVersion }: Deleting): void {
  const { name } = metadata
  if (served.table === 'namespaces' && protectedNamespaces.has(name)) {
    throw forbidden(served, name, 'this namespace may not be deleted')
  }
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
    throw conflict(served, name, why)
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`
    throw conflict(served, name, why)
  }
}

/** The object as one that is being deleted; itself when it is already. */
function marked(
  state: ClusterState,
  served: Served,
  live: StoredObject,
  propagation: Propagation | undefined,
): UntypedObject {
  const before = live.metadata.finalizers ?? []
  const finalizers = propagation === undefined ? before : withPropagation(before, propagation)
  const isSame = finalizers.length === before.length && finalizers.every((one) => before.includes(one))
  const isMarked = live.metadata.deletionTimestamp !== undefined
  if (isMarked && isSame) return live
  const { finalizers: _finalizers, ...metadata } = live.metadata
  const object: UntypedObject = {
    ...live,
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      ...(!isMarked && {
        deletionTimestamp: formatTime(state.clock.now()),
        deletionGracePeriodSeconds: 0,
        ...(countsGenerations(served) && { generation: (metadata.generation ?? 0) + 1 }),
      }),
    },
  }
  if (served.table !== 'namespaces') return object
  return { ...object, status: { ...(live['status'] as object | undefined), phase: 'Terminating' } }
}

function withPropagation(finalizers: readonly string[], propagation: Propagation): readonly string[] {
  const others = finalizers.filter((one) => one !== orphanFinalizer && one !== foregroundFinalizer)
  if (propagation === 'Background') return others
  return [...others, propagation === 'Orphan' ? orphanFinalizer : foregroundFinalizer]
}

/** What a delete answers with: what is left of the object, or that nothing is. */
export function deletionAnswer(served: Served, { object, isGone }: Deleted): UntypedObject | Status {
  if (!isGone || returnsDeleted(served)) return object
  const { group, plural } = served
  const { name, uid } = object.metadata
  const details = { name, ...(group !== '' && { group }), kind: plural, uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}
