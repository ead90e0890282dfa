/**
 * Patch: JSON Patch, merge patch and strategic merge patch are executed here and continue as an update; server-side
 * apply has its own path.
 */
import { applyObject } from '../../kube/apply/apply.ts'
import { ApplyConflict } from '../../kube/apply/conflict.ts'
import { checkConforms } from '../../kube/apply/conformance.ts'
import { shapeOf } from '../../kube/apply/shape.ts'
import { kubeErrors } from '../../kube/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { applyJsonPatch, type JsonPatchOperation, parseJsonPatch } from '../../kube/patch/json-patch.ts'
import { formatApiVersion, type GroupVersionKind } from '../../kube/kind.ts'
import { applyMergePatch } from '../../kube/patch/merge-patch.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { applyStrategicMerge } from '../../kube/patch/strategic-merge.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { change, checkVersion } from './change.ts'
import { createOwned, withoutSystemFields } from './create.ts'
import { noticedInYaml } from '../codec/duplicate-keys.ts'
import { goMismatch, jsonName } from '../codec/go-decoding.ts'
import { patchRefusal } from '../errors/patch-error.ts'
import type { SchemaOfKind } from '../codec/prune.ts'
import { forbiddenField, requiredField } from '../../kube/validation/field-error.ts'
import {
  badRequest,
  conflict,
  invalidOptions,
  notFound,
  StatusError,
  unsupportedMediaType,
} from '../errors/status-error.ts'
import { type ApiCall, isTrueParameter } from '../cluster/call.ts'
import { checkDepth, contentType, readJsonBody, readYamlBody } from '../codec/request-body.ts'
import { scaleOf, withScale } from '../catalog/scale.ts'
import { applyScale, scaleKind, scaleMerge } from './scale-apply.ts'
import { resetFields } from './reset-fields.ts'
import { type ClusterState, findObject } from '../cluster/state.ts'
import { isCreatedByStatus, isCreatedByUpdate } from '../kinds/strategy/strategy.ts'
import { replacement, type Updated } from './update.ts'
import { checkIdentity, decode, identify, ownershipOf, withDefaults, type Writing } from './writing.ts'

const jsonPatch = 'application/json-patch+json'
const mergePatch = 'application/merge-patch+json'
const strategicPatch = 'application/strategic-merge-patch+json'
const applyPatch = 'application/apply-patch+yaml'

interface PatchRequest {
  readonly body: string | Uint8Array | undefined
  /** The media type, which is the type of the patch. */
  readonly type: string
  /** Absent unless the client set it. */
  readonly force: boolean | undefined
  /** Whether the client named a field manager: an apply requires one. */
  readonly hasManager: boolean
}

/** The parts of a request that the patch verb uses. */
export function patchOf({ request, query }: ApiCall): PatchRequest {
  const force = query.get('force')
  return {
    body: request.body,
    type: contentType(request.headers),
    force: force === null ? undefined : isTrueParameter(force),
    hasManager: Boolean(query.get('fieldManager')),
  }
}

export async function patch(state: ClusterState, writing: Writing, request: PatchRequest): Promise<Updated> {
  checkPatch(writing.served, request)
  if (request.type === applyPatch) {
    const read = readYamlBody(request.body)
    const applied = read instanceof Promise ? await read : read
    const report = await duplicatesReporter(writing, request.body)
    return await apply(state, writing, applied, { force: request.force ?? false, report })
  }
  const body = readPatch(request.body)
  const { served, namespace, name = '' } = writing
  if (!findObject(state, served, namespace, name)) throw notFound(served, name)
  const object = await change(state, writing, (live) => {
    if (writing.subresource === 'scale' && served.scale) {
      const scale = patched(served, scaleOf(live, served.scale, true) as unknown as JsonObject, body, request.type)
      const paths = served.scale
      const scaled = decodePatched(() => withScale(live, scale, paths), scale, body, request.type, served.custom)
      return replacement(state, writing, live, scaled)
    }
    const result = patched(served, live as unknown as JsonObject, body, request.type)
    const outcome = decodePatched(() => decode(writing, result), result, body, request.type, served.custom)
    checkIdentity(writing, outcome)
    return replacement(state, writing, live, outcome)
  })
  return { object, isNew: false }
}

interface Applying {
  readonly force: boolean
  /**
   * Reports duplicate keys of the patch, after it has been merged: a patch that cannot be merged gets that error
   * instead.
   */
  readonly report: () => void
}

async function duplicatesReporter(
  { validation, warn }: Writing,
  body: PatchRequest['body'] = '',
): Promise<Applying['report']> {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString()
  const yamlFindings = validation === 'Ignore' ? undefined : await noticedInYaml(text)
  return () => {
    if (yamlFindings && validation === 'Strict') {
      throw badRequest(`error strict decoding patch: error converting YAML to JSON: ${yamlFindings.refusal}`)
    }
    for (const warning of yamlFindings?.warnings ?? []) warn(warning)
  }
}

function readPatch(body: PatchRequest['body']): Json {
  try {
    return readJsonBody(body)
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 400) throw badRequest('invalid JSON patch')
    throw error
  }
}

/** A patched object must still decode as an object of its kind. */
function decodePatched(
  read: () => UntypedObject,
  outcome: JsonObject,
  body: Json,
  type: string,
  isCustom = false,
): UntypedObject {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.code !== 400) throw error
    // The types of a custom object are validated by its schema later; but metadata has the same types for all kinds.
    if (isCustom && !/strict decoding error|cannot be handled as/.test(error.message)) throw error
    const [, why = error.message] = /cannot be handled as an? \w+: (.*)$/s.exec(error.message) ?? []
    throw patchRefusal(body, outcome, type === strategicPatch, why)
  }
}

/** For custom kinds this check comes first, and strategic merge patches are not supported. */
export function checkPatchType({ custom }: ServedResource, type: string): void {
  const accepted = [jsonPatch, mergePatch, ...(custom ? [] : [strategicPatch]), applyPatch]
  if (accepted.includes(type)) return
  if (custom) throw unsupportedMediaType(accepted)
  throw new StatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {})
}

function checkPatch(served: ServedResource, { type, force, hasManager }: PatchRequest): void {
  checkPatchType(served, type)
  if (type === applyPatch) {
    if (!hasManager) {
      throw invalidOptions('PatchOptions', [requiredField('fieldManager', 'is required for apply patch')])
    }
  } else if (force !== undefined) {
    throw invalidOptions('PatchOptions', [forbiddenField('force', 'may not be specified for non-apply patch')])
  }
}

function patched(served: ServedResource, current: JsonObject, body: Json, type: string): JsonObject {
  try {
    const result = patchedValue(served, current, body, type)
    if (!isJsonObject(result)) throw badRequest('the patch leaves no object')
    // A JSON Patch can copy one deep value into another.
    if (type === jsonPatch) checkDepth(result)
    return result
  } catch (error) {
    if (!isMusterError(error, kubeErrors.PatchTestFailed, kubeErrors.InvalidPatch)) throw error
    if (type === strategicPatch && error.message.includes('$patch')) throw new StatusError(500, '', error.message)
    if (type === strategicPatch && /merge key|elements of several types|RawExtension/.test(error.message)) {
      throw new StatusError(500, '', error.message)
    }
    if (error.message.includes('$retainKeys')) throw badRequest('invalid patch format of retainKeys')
    if (type !== jsonPatch) throw badRequest(error.message)
    // A JSON Patch that parses but cannot be applied is an invalid request (422), not a bad one.
    const message = 'the server rejected our request due to an error in our request'
    throw new StatusError(422, 'Invalid', message, {})
  }
}

const maxOperations = 10_000

function readOperations(body: Json): readonly JsonPatchOperation[] {
  if (!Array.isArray(body)) {
    const why = `json: cannot unmarshal ${jsonName(body)} into Go value of type []handlers.jsonPatchOp`
    throw badRequest(`error decoding patch: ${why}`)
  }
  if (body.length > maxOperations) {
    const why = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${body.length}`
    throw new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: ${why}`)
  }
  return parseJsonPatch(body)
}

function patchedValue(served: ServedResource, current: JsonObject, body: Json, type: string): Json {
  if (type === jsonPatch) return applyJsonPatch(current, readOperations(body))
  if (!isJsonObject(body)) {
    const why = `json: cannot unmarshal ${jsonName(body)} into Go value of type map[string]interface {}`
    throw badRequest(type === mergePatch ? `error decoding patch: ${why}` : why)
  }
  if (type === mergePatch) return applyMergePatch(current, body)
  return applyStrategicMerge(current, body, served.schema, served.definitions)
}

/** Server-side apply of a Scale through `/scale`. */
async function applyToScale(
  state: ClusterState,
  writing: Writing,
  body: Json,
  { force, report }: Applying,
): Promise<Updated> {
  const kind = scaleKind()
  const applied = identifyApplied(kind, body)
  const { served, namespace, name = '' } = writing
  if (!findObject(state, served, namespace, name)) throw notFound(served, name)
  const merge = scaleMerge(state, writing, applied, force)
  const reported = (scale: UntypedObject): UntypedObject => {
    const merged = withStatusErrors(() => merge(scale), kind, applied)
    report()
    return merged
  }
  const object = await change(state, writing, (live) => applyScale(state, writing, live, { applied, merge: reported }))
  return { object, isNew: false }
}

async function apply(state: ClusterState, writing: Writing, body: Json, applying: Applying): Promise<Updated> {
  const { served, namespace, name = '' } = writing
  if (writing.subresource === 'scale' && served.scale) return await applyToScale(state, writing, body, applying)
  const { force, report } = applying
  const identified = identifyApplied(served, body)
  const isNamed = identified.metadata.name !== undefined || !findObject(state, served, namespace, name)
  // A patch of an existing object need not repeat its name.
  checkIdentity(writing, isNamed ? identified : { ...identified, metadata: { ...identified.metadata, name } })
  const applied: UntypedObject = {
    ...identified,
    metadata: { ...identified.metadata, name, ...(served.namespaced && namespace !== undefined && { namespace }) },
  }
  if (!findObject(state, served, namespace, name)) {
    if (writing.subresource !== '' && !isCreatedByUpdate(served) && !isCreatedByStatus(served))
      throw notFound(served, name)
    const options = { ...ownershipOf(state, writing), live: undefined, applied, force }
    const merge = (): UntypedObject => applyObject<UntypedObject>(options)
    const fresh = converted(served, withStatusErrors(merge, served, identified), identified)
    report()
    const { uid } = applied.metadata
    if (uid) {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
      throw conflict(served, name, why)
    }
    const clean = withoutSystemFields(writing, fresh)
    return { object: await createOwned(state, writing, clean, false), isNew: true }
  }
  const object = await change(state, writing, (live) => {
    const options = { ...ownershipOf(state, writing), live, applied, force }
    const merge = (): UntypedObject => applyObject<UntypedObject>(options)
    const merged = withStatusErrors(merge, served, identified, live)
    const { managedFields } = merged.metadata
    const outcome = converted(served, merged, identified)
    report()
    const settled = resetFields(writing, live, outcome)
    // Of several conflicts, that of the resourceVersion is reported last.
    checkVersion(served, live, applied)
    return { ...settled, metadata: { ...settled.metadata, ...(managedFields && { managedFields }) } }
  })
  return { object, isNew: false }
}

/** The result of an apply as an object of its kind. */
function converted(served: ServedResource, merged: UntypedObject, { metadata }: UntypedObject): UntypedObject {
  try {
    const fraction =
      served.definition && goMismatch(merged as unknown as JsonObject, served.definition, served.definitions)
    if (fraction && !fraction.startsWith('illegal'))
      throw badRequest(`cannot be handled as a ${served.kind}: cannot convert float64 to int32`)
    return withDefaults(served, merged, true)
  } catch (error) {
    const [, why] =
      error instanceof StatusError ? (/cannot be handled as an? \w+: (.*)$/s.exec(error.message) ?? []) : []
    if (why === undefined) throw error
    const type = `${served.group}/${served.version}, Kind=${served.kind}`
    const where = `failed to convert new object (${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${type}) to proper version`
    const cause = why.startsWith('illegal base64') ? `error decoding from json: ${why}` : why
    throw new StatusError(500, '', `${where}: unable to convert unstructured object to ${type}: ${cause}`)
  }
}

/** An apply must state apiVersion and kind; neither is defaulted. */
function identifyApplied(served: GroupVersionKind & SchemaOfKind, body: Json): UntypedObject {
  if (!isJsonObject(body)) {
    const why = `json: cannot unmarshal ${jsonName(body)} into Go value of type map[string]interface {}`
    throw badRequest(`error decoding patch: error unmarshaling JSON: while decoding JSON: ${why}`)
  }
  const [apiVersion, kind] = [textIn(body, 'apiVersion'), textIn(body, 'kind')]
  if (apiVersion !== formatApiVersion(served) || kind !== served.kind) {
    throw badRequest(`invalid object type: ${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`)
  }
  return identify(served, body) as unknown as UntypedObject
}

/** A value that is not a string counts as absent. */
function textIn(body: JsonObject, member: string): string {
  const value = body[member]
  return typeof value === 'string' ? value : ''
}

/** Why the object does not conform to its schema, so that field ownership cannot be computed. */
function nonconformity(
  { schema, definitions }: SchemaOfKind,
  object: UntypedObject,
  allowDuplicates = true,
): string | undefined {
  try {
    checkConforms(object as unknown as JsonObject, shapeOf(schema, definitions), { allowDuplicates })
    return undefined
  } catch (error) {
    if (isMusterError(error, kubeErrors.SchemaMismatch)) return error.message
    throw error
  }
}

/** Runs an apply and turns its errors into the status errors of the real server. */
function withStatusErrors<T>(
  run: () => T,
  served: GroupVersionKind & SchemaOfKind,
  applied: UntypedObject,
  live?: UntypedObject,
): T {
  const { metadata } = applied
  try {
    return run()
  } catch (error) {
    if (error instanceof ApplyConflict) {
      const causes = error.conflicts.map(({ field, message }) => ({ reason: 'FieldManagerConflict', message, field }))
      throw new StatusError(409, 'Conflict', error.message, { causes })
    }
    if (isMusterError(error, kubeErrors.InvalidObject)) throw badRequest(error.message)
    if (!isMusterError(error, kubeErrors.SchemaMismatch, kubeErrors.InvalidFieldSet)) throw error
    const type = `${served.group}/${served.version}, Kind=${served.kind}`
    const isManaged = (live?.metadata.managedFields ?? []).length > 0
    const isLive = live !== undefined && (!isManaged || nonconformity(served, applied, false) === undefined)
    const problem = isLive ? nonconformity(served, live) : undefined
    if (live && problem !== undefined) {
      const place = `(${live.metadata.namespace ?? ''}/${live.metadata.name ?? ''}; ${type})`
      throw new StatusError(
        500,
        '',
        isManaged
          ? `failed to create typed live object ${place}: ${problem}`
          : `failed to create manager for existing fields: failed to convert new object ${place} to smd typed: ${problem}`,
      )
    }
    const place = `(${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${type})`
    throw new StatusError(500, '', `failed to create typed patch object ${place}: ${error.message}`)
  }
}
