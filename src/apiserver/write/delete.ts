/**
 * Delete: an object goes at once, or, where a finalizer holds it, is marked and goes when the last one is removed. How
 * its dependents fare is said by two finalizers of the server's own, which `core-controllers.ts` acts on.
 */
import { builtinDefinitions } from '../../kube/builtin.ts'
import { isReleased } from '../../kube/deletion.ts'
import { formatTime } from '../../kube/duration.ts'
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
import { defaultPropagation, returnsDeleted } from '../kinds/strategy.ts'
import { isDryRun } from './writing.ts'

export const orphanFinalizer = 'orphan'
export const foregroundFinalizer = 'foregroundDeletion'

export type Propagation = 'Orphan' | 'Background' | 'Foreground'

export interface Deleting {
  readonly dryRun: boolean
  readonly propagation: Propagation | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  /** Seconds that the object has to end well, where its kind grants any. */
  readonly grace: number | undefined
  /** As the client sent them, for those whom admission asks. */
  readonly options: JsonObject
}

/** Options come in the body, or, for want of one, in the query. */
export function deletingOf(body: Json | undefined, query: URLSearchParams): Deleting {
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
  // As real servers: what is negative means as short as can be.
  return seconds < 0 ? 1 : seconds
}

function isPropagation(value: Json): value is Propagation {
  return value === 'Orphan' || value === 'Background' || value === 'Foreground'
}

export const plainDeletion: Deleting = {
  dryRun: false,
  propagation: undefined,
  uid: undefined,
  resourceVersion: undefined,
  grace: undefined,
  options: {},
}

export interface Deleted {
  /** Its last state, or its present one while something holds it. */
  readonly object: StoredObject
  readonly isGone: boolean
}

export function removeObject(
  state: ClusterState,
  served: ServedResource,
  live: StoredObject,
  deleting: Deleting,
): Deleted {
  checkDeletion(served, live, deleting)
  const object = marked(state, served, live, deleting)
  const isGone = isReleased(object)
  if (deleting.dryRun) {
    // What goes at once is told as it was; only what can end gracefully is seen as ending.
    const shown = isGone && served.table !== 'pods' ? live : (object as StoredObject)
    return { object: shown, isGone }
  }
  if (isGone) {
    // What can end gracefully is seen as ending first, however short it takes.
    const last = served.table === 'pods' && object !== live ? state.storage.put(served.table, object) : live
    return { object: state.storage.remove(served.table, last), isGone }
  }
  return { object: object === live ? live : state.storage.put(served.table, object), isGone }
}

function checkDeletion(served: ServedResource, { metadata }: StoredObject, { uid, resourceVersion }: Deleting): void {
  const { name } = metadata
  // Events are the core group's, whichever group serves them.
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

/** The object as one that is being deleted; itself when it is already, and nothing about it changes. */
function marked(state: ClusterState, served: ServedResource, live: StoredObject, deleting: Deleting): UntypedObject {
  if (served.table === crdTable && !live.metadata.deletionTimestamp) return markedForDeletion(live, state.clock.now())
  const before = live.metadata.finalizers ?? []
  const propagation = deleting.propagation ?? inheritedPropagation(served, before)
  const wanted = propagation === undefined ? before : withPropagation(before, propagation)
  const isSame = wanted.length === new Set(before).size && wanted.every((one) => before.includes(one))
  const finalizers = isSame ? before : wanted
  const isMarked = live.metadata.deletionTimestamp !== undefined
  const grace = gracePeriod(served, live, deleting.grace)
  // Who is on the way out already can only be hurried.
  const isHurried = isMarked && grace < (live.metadata.deletionGracePeriodSeconds ?? 0)
  if (isMarked && isSame && !isHurried) return live
  const { finalizers: _finalizers, ...metadata } = live.metadata
  const object: UntypedObject = {
    ...live,
    metadata: {
      ...metadata,
      ...(finalizers.length > 0 && { finalizers }),
      ...((!isMarked || isHurried) && {
        deletionTimestamp: formatTime(state.clock.now() + grace * 1000),
        // A namespace takes as long as it takes.
        ...(served.table !== 'namespaces' && { deletionGracePeriodSeconds: grace }),
      }),
      ...(!isMarked && metadata.generation && { generation: metadata.generation + 1 }),
    },
  }
  if (served.table !== 'namespaces') return object
  return { ...object, status: { ...(live['status'] as object | undefined), phase: 'Terminating' } }
}

/** Without a wish of the client: what an earlier one wished, else what its kind does. */
function inheritedPropagation(served: ServedResource, finalizers: readonly string[]): Propagation | undefined {
  const decided = finalizers.find((one) => one === orphanFinalizer || one === foregroundFinalizer)
  if (decided === undefined) return defaultPropagation(served)
  return decided === orphanFinalizer ? 'Orphan' : 'Foreground'
}

interface PodLike {
  readonly spec?: { readonly nodeName?: string; readonly terminationGracePeriodSeconds?: number }
  readonly status?: { readonly phase?: string }
}

/** Only pods end gracefully: those that run somewhere, as long as they run. */
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

/** What a delete answers with: what is left of the object, or that nothing is. */
export function deletionAnswer(served: ServedResource, { object, isGone }: Deleted): UntypedObject | Status {
  if (!isGone || returnsDeleted(served)) return object
  const { group, plural } = served
  const { name, uid } = object.metadata
  const details = { name, ...(group !== '' && { group }), kind: plural, uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}
