/** Patch: four ways to say a change. Three are carried out here and end as an update; apply has rules of its own. */
import { applyObject } from '../kube/apply/apply.ts'
import { ApplyConflict } from '../kube/apply/conflict.ts'
import { isMusterError } from '../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { applyJsonPatch, type JsonPatchOperation, parseJsonPatch } from '../kube/json-patch.ts'
import { formatApiVersion } from '../kube/kind.ts'
import { applyMergePatch } from '../kube/merge-patch.ts'
import type { UntypedObject } from '../kube/object.ts'
import { applyStrategicMerge } from '../kube/strategic-merge.ts'
import type { Served } from './catalog.ts'
import { prepareNew, storeNew } from './create.ts'
import { withDefaults } from './prune.ts'
import { badRequest, cause, invalidOptions, notFound, Refusal, unsupportedMediaType } from './refusal.ts'
import { readJsonBody, readYamlBody } from './request-body.ts'
import { scaleOf, withScale } from './scale.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from './storage.ts'
import { checkPreconditions, commit, replace, settle, type Updated } from './update.ts'
import { admit, checkIdentity, identify, ownershipOf, type Writing } from './writing.ts'

const jsonPatch = 'application/json-patch+json'
const mergePatch = 'application/merge-patch+json'
const strategicPatch = 'application/strategic-merge-patch+json'
const applyPatch = 'application/apply-patch+yaml'

export interface PatchRequest {
  readonly body: string | Uint8Array | undefined
  /** The media type, which says what kind of patch it is. */
  readonly type: string
  /** Absent unless the client said so. */
  readonly force: boolean | undefined
  /** An apply must say who applies. */
  readonly hasManager: boolean
}

export async function patch(state: ClusterState, writing: Writing, request: PatchRequest): Promise<Updated> {
  checkPatch(writing.served, request)
  if (request.type === applyPatch) {
    const applied = await readYamlBody(request.body)
    return apply(state, writing, applied, request.force ?? false)
  }
  const change = readJsonBody(request.body)
  const { served, namespace, name = '' } = writing
  const live = findObject(state, served, namespace, name)
  if (!live) throw notFound(served, name)
  const current = { ...live, apiVersion: formatApiVersion(served) } as unknown as JsonObject
  if (writing.subresource === 'scale' && served.scale) {
    const scale = patched(served, scaleOf(live, served.scale) as unknown as JsonObject, change, request.type)
    const scaled = withScale(live, scale, served.scale)
    return { object: replace(state, writing, live, scaled), isNew: false }
  }
  const object = admit(writing, patched(served, current, change, request.type))
  checkIdentity(writing, object)
  return { object: replace(state, writing, live, object), isNew: false }
}

function checkPatch(served: Served, { type, force, hasManager }: PatchRequest): void {
  const accepted = [jsonPatch, mergePatch, ...(served.custom ? [] : [strategicPatch]), applyPatch]
  if (!accepted.includes(type)) throw unsupportedMediaType(accepted)
  if (type === applyPatch) {
    if (!hasManager) {
      throw invalidOptions('PatchOptions', [cause.required('fieldManager', 'is required for apply patch')])
    }
  } else if (force !== undefined) {
    throw invalidOptions('PatchOptions', [cause.forbidden('force', 'may not be specified for non-apply patch')])
  }
}

function patched(served: Served, current: JsonObject, change: Json, type: string): JsonObject {
  try {
    const result = patchedValue(served, current, change, type)
    if (!isJsonObject(result)) throw badRequest('the patch leaves no object')
    return result
  } catch (error) {
    if (!isMusterError(error, 'PatchTestFailed', 'InvalidPatch')) throw error
    // A JSON patch that can be read but not carried out is an object that cannot be.
    if (type !== jsonPatch) throw badRequest(error.message)
    const message = 'the server rejected our request due to an error in our request'
    throw new Refusal(422, 'Invalid', message, { causes: [{ message: error.message }] })
  }
}

function readOperations(change: Json): readonly JsonPatchOperation[] {
  try {
    return parseJsonPatch(change)
  } catch (error) {
    if (isMusterError(error, 'InvalidPatch')) throw badRequest(error.message)
    throw error
  }
}

function patchedValue(served: Served, current: JsonObject, change: Json, type: string): Json {
  if (type === jsonPatch) return applyJsonPatch(current, readOperations(change))
  if (!isJsonObject(change)) throw badRequest('the patch is no object')
  if (type === mergePatch) return applyMergePatch(current, change)
  return applyStrategicMerge(current, change, served.schema, served.definitions)
}

function apply(state: ClusterState, writing: Writing, body: Json, force: boolean): Updated {
  const { served, namespace, name = '' } = writing
  const identified = identify(served, body) as unknown as UntypedObject
  checkIdentity(writing, identified)
  const applied: UntypedObject = {
    ...identified,
    metadata: { ...identified.metadata, name, ...(served.namespaced && namespace !== undefined && { namespace }) },
  }
  const live = findObject(state, served, namespace, name)
  const ownership = ownershipOf(state, writing)
  if (!live) {
    if (writing.subresource !== '') throw notFound(served, name)
    const merged = refusing(() => applyObject<UntypedObject>({ ...ownership, live: undefined, applied, force }), served)
    const object = defaulted(served, merged)
    return { object: storeNew(state, writing, prepareNew(state, writing, object)), isNew: true }
  }
  checkPreconditions(served, live, applied)
  const own = { ...live, apiVersion: applied.apiVersion } as StoredObject
  const merged = refusing(() => applyObject<UntypedObject>({ ...ownership, live: own, applied, force }), served)
  const { managedFields } = merged.metadata
  const settled = settle(writing, live, defaulted(served, merged))
  const object = { ...settled, metadata: { ...settled.metadata, ...(managedFields && { managedFields }) } }
  return { object: commit(state, writing, live, object), isNew: false }
}

function defaulted(served: Served, object: UntypedObject): UntypedObject {
  return served.custom ? (withDefaults(object as unknown as Json, served.schema) as unknown as UntypedObject) : object
}

/** Runs an apply and says its refusals as a server does. */
function refusing<T>(run: () => T, served: Served): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof ApplyConflict) {
      const causes = error.conflicts.map(({ field, message }) => ({ reason: 'FieldManagerConflict', message, field }))
      throw new Refusal(409, 'Conflict', error.message, { causes })
    }
    if (isMusterError(error, 'InvalidObject')) throw badRequest(error.message)
    if (!isMusterError(error, 'SchemaMismatch', 'InvalidFieldSet')) throw error
    const kind = `${formatApiVersion(served)}, Kind=${served.kind}`
    throw new Refusal(500, '', `failed to create typed patch object (${kind}): ${error.message}`)
  }
}
