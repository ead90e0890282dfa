/**
 * Delete: removes an object at once, or, if it has finalizers, sets deletionTimestamp; it is then removed with the last
 * finalizer. Foreground and orphan propagation are finalizers of the server itself, which `core-controllers.ts`
 * handles.
 */
import { builtinDefinitions } from '../../kube/builtin.ts'
import { isReleased } from '../../kube/meta/deletion.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { isJsonObject, type Json, type JsonObject, stringifyJson } from '../../kube/json.ts'
import type { Status, UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { goMismatch } from '../codec/go-decoding.ts'
import { invalidField as invalidValue, unsupported } from '../../kube/validation/field-error.ts'
import { markedForDeletion } from '../crd/controller.ts'
import { crdTable } from '../crd/definition-rules.ts'
import { badRequest, conflict, invalidOptions } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { defaultPropagation, returnsDeleted } from '../kinds/strategy/strategy.ts'
import { isDryRun } from './writing.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

export type Propagation = 'Orphan' | 'Background' | 'Foreground'

export interface DeleteRequestOptions {
  readonly dryRun: boolean
  readonly propagation: Propagation | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  /** Grace period in seconds; only pods have one. */
  readonly grace: number | undefined
  /** As the client sent them, for admission. */
  readonly options: JsonObject
}

/** DeleteOptions come in the body or, if there is none, in the query. */
export function readDeleteOptions(body: Json | undefined, query: URLSearchParams): DeleteRequestOptions {
  const options = isJsonObject(body) ? body : {}
  const { kind = 'DeleteOptions', apiVersion = 'v1' } = options
  if (kind !== 'DeleteOptions') {
    const sent = `no kind ${stringifyJson(kind)} is registered for version ${stringifyJson(apiVersion)}`
    throw badRequest(`${sent} in scheme "pkg/runtime/scheme.go:111"`)
  }
  const why = goMismatch(options, 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions', builtinDefinitions())
  if (why !== undefined) throw badRequest(why)
  const given = options['preconditions']
  const { uid, resourceVersion } = isJsonObject(given) ? given : {}
  const dryRun = Array.isArray(options['dryRun']) ? (options['dryRun'] as readonly string[]) : query.getAll('dryRun')
  const propagation = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined
  if (propagation !== undefined && !isPropagation(propagation)) {
    const supported = ['Foreground', 'Background', 'Orphan', 'nil']
    throw invalidOptions('DeleteOptions', [unsupported('propagationPolicy', propagation, supported)])
  }
  const legacy = options['orphanDependents'] ?? query.get('orphanDependents') ?? undefined
  if (legacy !== undefined && propagation !== undefined) {
    const both = 'orphanDependents and deletionPropagation cannot be both set'
    throw invalidOptions('DeleteOptions', [invalidValue('propagationPolicy', propagation, both)])
  }
  return {
    dryRun: isDryRun(dryRun, 'DeleteOptions'),
    propagation:
      propagation ??
      (legacy === true || legacy === 'true' ? 'Orphan' : legacy === undefined ? undefined : 'Background'),
    uid: typeof uid === 'string' ? uid : undefined,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : undefined,
    options: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', ...options },
    grace: graceOf(options['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds') ?? undefined),
  }
}

function graceOf(value: Json | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!Number.isInteger(seconds)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`)
  // As on the real server, a negative grace period means the shortest one.
  return seconds < 0 ? 1 : seconds
}

function isPropagation(value: Json): value is Propagation {
  return value === 'Orphan' || value === 'Background' || value === 'Foreground'
}

export const defaultDeleteOptions: DeleteRequestOptions = {
  dryRun: false,
  propagation: undefined,
  uid: undefined,
  resourceVersion: undefined,
  grace: undefined,
  options: {},
}

export interface Deleted {
  /** The last state, or the current one while finalizers keep the object. */
  readonly object: StoredObject
  readonly isGone: boolean
}

export function removeObject(
  state: ClusterState,
  served: ServedResource,
  live: StoredObject,
  deletion: DeleteRequestOptions,
): Deleted {
  checkDeletion(served, live, deletion)
  const object = withDeletionTimestamp(state, served, live, deletion)
  const isGone = isReleased(object)
  if (deletion.dryRun) {
    // An object that is removed at once is returned as it was; only pods are returned with deletionTimestamp.
    const shown = isGone && served.table !== 'pods' ? live : (object as StoredObject)
    return { object: shown, isGone }
  }
  if (isGone) {
    // Watches see a pod with deletionTimestamp before it is removed, however short its grace period is.
    const last = served.table === 'pods' && object !== live ? state.storage.put(served.table, object) : live
    return { object: state.storage.remove(served.table, last), isGone }
  }
  return { object: object === live ? live : state.storage.put(served.table, object), isGone }
}

function checkDeletion(
  served: ServedResource,
  { metadata }: StoredObject,
  { uid, resourceVersion }: DeleteRequestOptions,
): void {
  const { name } = metadata
  // The status names events of both groups as those of the core group.
  const target = { group: served.group === 'events.k8s.io' ? '' : served.group, plural: served.kind }
  if (uid !== undefined && uid !== metadata.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`
    throw conflict(target, name, why)
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`
    throw conflict(target, name, why)
  }
}

/** The object with deletionTimestamp; the same object when it is being deleted already and nothing changes. */
function withDeletionTimestamp(
  state: ClusterState,
  served: ServedResource,
  live: StoredObject,
  deletion: DeleteRequestOptions,
): UntypedObject {
  if (served.table === crdTable && !live.metadata.deletionTimestamp) return markedForDeletion(live, state.clock.now())
  const before = live.metadata.finalizers ?? []
  const propagation = deletion.propagation ?? inheritedPropagation(served, before)
  const desired = propagation === undefined ? before : withPropagation(before, propagation)
  const isSame = desired.length === new Set(before).size && desired.every((one) => before.includes(one))
  const finalizers = isSame ? before : desired
  const isMarked = live.metadata.deletionTimestamp !== undefined
  const grace = gracePeriod(served, live, deletion.grace)
  // A second delete can only shorten the grace period.
  const isShortened = isMarked && grace < (live.metadata.deletionGracePeriodSeconds ?? 0)
  if (isMarked && isSame && !isShortened) return live
  const { finalizers: _finalizers, ...metadata } = live.metadata
  const object: UntypedObject = {
    ...live,
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      ...((!isMarked || isShortened) && {
        deletionTimestamp: formatTime(state.clock.now() + grace * 1000),
        // Deleting a namespace has no time limit.
        ...(served.table !== 'namespaces' && { deletionGracePeriodSeconds: grace }),
      }),
      ...(!isMarked && metadata.generation && { generation: metadata.generation + 1 }),
    },
  }
  if (served.table !== 'namespaces') return object
  return { ...object, status: { ...(live['status'] as object | undefined), phase: 'Terminating' } }
}

/** If the client names no propagation policy: that of an earlier delete, otherwise the default of the kind. */
function inheritedPropagation(served: ServedResource, finalizers: readonly string[]): Propagation | undefined {
  const decided = finalizers.find((one) => one === orphanFinalizer || one === foregroundFinalizer)
  if (decided === undefined) return defaultPropagation(served)
  return decided === orphanFinalizer ? 'Orphan' : 'Foreground'
}

interface PodLike {
  readonly spec?: { readonly nodeName?: string; readonly terminationGracePeriodSeconds?: number }
  readonly status?: { readonly phase?: string }
}

/** Only pods have a grace period: those that are bound to a node and have not finished. */
function gracePeriod({ table }: ServedResource, live: StoredObject, asked: number | undefined): number {
  if (table !== 'pods') return 0
  const { spec, status } = live as PodLike
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  if (!spec?.nodeName || isOver) return 0
  return asked ?? spec.terminationGracePeriodSeconds ?? 30
}

function withPropagation(finalizers: readonly string[], propagation: Propagation): readonly string[] {
  const others = finalizers.filter((one) => one !== orphanFinalizer && one !== foregroundFinalizer)
  if (propagation === 'Background') return others
  return [...others, propagation === 'Orphan' ? orphanFinalizer : foregroundFinalizer]
}

/** The answer of a delete: the object while it still exists, otherwise a Status. */
export function deletionAnswer(served: ServedResource, { object, isGone }: Deleted): UntypedObject | Status {
  if (!isGone || returnsDeleted(served)) return object
  const { group, plural } = served
  const { name, uid } = object.metadata
  const details = { name, ...(group !== '' && { group }), kind: plural, uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}
