/**
 * Admission reviews: parses an API server's request, calls the author's functions, and builds the response. From JSON
 * to JSON; an invalid review is refused before author code sees it.
 */
import { type Cause, formatCause } from '../../kube/validation/cause.ts'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { createJsonPatch } from '../../kube/patch/json-patch.ts'
import { formatResource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Admission, AdmissionOperation, AdmissionUser, Webhook } from '../../operator/kind/webhook.ts'
import { accessFor, type AccessReviewer } from './access-reviews.ts'
import { frozen } from './frozen.ts'

const apiVersion = 'admission.k8s.io/v1'
const kind = 'AdmissionReview'

/** A valid review, about the kind of the webhook. */
interface AdmissionQuestion {
  readonly uid: string
  readonly admission: Admission<KubeObject>
}

/** @throws InvalidReview */
export function readAdmission(
  review: Json,
  webhook: Webhook,
  now: number,
  reviewer?: AccessReviewer,
): AdmissionQuestion {
  const { request, ...head } = isJsonObject(review) ? review : {}
  if (head['apiVersion'] !== apiVersion || head['kind'] !== kind)
    throw invalidReview(`it is no ${kind} of ${apiVersion}`)
  if (!isJsonObject(request)) throw invalidReview('it has no request')
  const uid = textOf(request, 'uid')
  if (uid === '') throw invalidReview('its request has no uid')
  const operation = textOf(request, 'operation')
  if (!isOperation(operation)) throw invalidReview('its operation is none of CREATE, UPDATE and DELETE')
  checkResource(request['resource'], webhook)
  const [object, old] = [objectOf(request, 'object', webhook), objectOf(request, 'oldObject', webhook)]
  const shown = operation === 'DELETE' ? old : object
  if (!shown) throw invalidReview(`a ${operation} comes without its object`)
  if (operation === 'UPDATE' && !old) throw invalidReview('an UPDATE comes without the old object')
  const namespace = textOf(request, 'namespace')
  const user = userOf(request['userInfo'])
  return {
    uid,
    admission: {
      operation,
      object: shown,
      old: operation === 'CREATE' ? undefined : old,
      name: textOf(request, 'name'),
      namespace: namespace === '' ? undefined : namespace,
      subresource: textOf(request, 'subResource'),
      user,
      dryRun: request['dryRun'] === true,
      now,
      ...accessFor(webhook, user, reviewer),
    },
  }
}

/** Names the mistake but not the value: reviews contain Secrets. */
export function invalidReview(why: string): MusterError {
  return new MusterError(managerErrors.InvalidReview, `the review cannot be answered: ${why}.`)
}

function textOf(from: JsonObject, member: string): string {
  const value = from[member] ?? ''
  if (typeof value !== 'string') throw invalidReview(`its ${member} is no text`)
  return value
}

function isOperation(text: string): text is AdmissionOperation {
  return text === 'CREATE' || text === 'UPDATE' || text === 'DELETE'
}

function checkResource(resource: Json | undefined, { for: own }: Webhook): void {
  if (!isJsonObject(resource)) throw invalidReview('its request names no resource')
  const [group, version, plural] = ['group', 'version', 'resource'].map((member) => textOf(resource, member))
  if (group === own.group && version === own.version && plural === own.plural) return
  throw invalidReview(`it is not about ${formatResource(own)}`)
}

function objectOf(request: JsonObject, member: string, { for: own }: Webhook): KubeObject | undefined {
  const value = request[member] ?? null
  if (value === null) return undefined
  if (!isJsonObject(value) || !isJsonObject(value['metadata']) || value['kind'] !== own.kind) {
    throw invalidReview(`its ${member} is no ${own.kind}`)
  }
  return frozen(value) as unknown as KubeObject
}

function userOf(given: Json | undefined): AdmissionUser {
  const user = isJsonObject(given) ? given : {}
  const extra = isJsonObject(user['extra']) ? user['extra'] : {}
  return {
    username: textOf(user, 'username'),
    uid: textOf(user, 'uid'),
    groups: textsOf(user['groups']),
    extra: new Map(Object.entries(extra).map(([key, values]) => [key, textsOf(values)])),
  }
}

function textsOf(value: Json | undefined): readonly string[] {
  return isJsonArray(value) ? value.filter((item) => typeof item === 'string') : []
}

/** @throws errors of the author's function, and TypeError for an invalid return value */
export async function answerValidation(webhook: Webhook, { uid, admission }: AdmissionQuestion): Promise<JsonObject> {
  const verdict: unknown = await webhook.validate?.(admission)
  const { refusals = [], warnings = [] } = Array.isArray(verdict)
    ? { refusals: verdict as readonly unknown[] }
    : shapeOf(verdict)
  if (!isListOf(refusals, isCause)) throw new TypeError('a verdict lists refusals that are none')
  if (!isListOf(warnings, (warning) => typeof warning === 'string')) throw new TypeError('a warning is a text')
  return responseOf(uid, {
    allowed: refusals.length === 0,
    ...(refusals.length > 0 && { status: refusalStatus(webhook, admission, refusals) }),
    ...(warnings.length > 0 && { warnings }),
  })
}

function shapeOf(verdict: unknown): { readonly refusals?: unknown; readonly warnings?: unknown } {
  if (verdict === undefined) return {}
  if (isJsonObject(verdict)) return verdict
  throw new TypeError('a verdict is nothing, a list of refusals, or an object with refusals and warnings')
}

function isListOf<T>(list: unknown, isOne: (item: unknown) => item is T): list is readonly T[] {
  return Array.isArray(list) && list.every((item) => isOne(item))
}

function isCause(item: unknown): item is Cause {
  return isJsonObject(item) && typeof item['message'] === 'string' && typeof (item['field'] ?? '') === 'string'
}

/** The same status error as for the API server's own validation. */
function refusalStatus({ for: own }: Webhook, admission: Admission<KubeObject>, causes: readonly Cause[]): JsonObject {
  const name = admission.name || admission.object.metadata.name || admission.object.metadata.generateName || ''
  const lines = causes.map((cause) => (cause.field ? formatCause(cause) : (cause.message ?? '')))
  const what = own.group === '' ? own.kind : `${own.kind}.${own.group}`
  return {
    status: 'Failure',
    code: 422,
    reason: 'Invalid',
    message: `${what} ${JSON.stringify(name)} is invalid: ${lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`}`,
    details: {
      name,
      group: own.group,
      kind: own.kind,
      causes: causes.map(({ reason = 'FieldValueInvalid', message = '', field = '' }) => ({ reason, message, field })),
    },
  }
}

/** @throws errors of the author's function, and TypeError for an invalid return value */
export async function answerMutation(webhook: Webhook, { uid, admission }: AdmissionQuestion): Promise<JsonObject> {
  const { object } = admission
  const changed: unknown = await webhook.mutate?.(admission)
  if (changed === undefined) return responseOf(uid, { allowed: true })
  // Through text and back: values that are not JSON (a Date, an undefined member) become what would be sent.
  const wanted = parseJson(stringifyJson(changed) ?? 'null')
  if (!isJsonObject(wanted) || !isSame(object, wanted)) {
    throw new TypeError('mutate returned another object than it was given')
  }
  const patch = createJsonPatch(object as unknown as JsonObject, wanted)
  if (patch.length === 0) return responseOf(uid, { allowed: true })
  const text = Buffer.from(stringifyJson(patch)).toString('base64')
  return responseOf(uid, { allowed: true, patchType: 'JSONPatch', patch: text })
}

function isSame(object: KubeObject, { apiVersion: version, kind: name, metadata }: Partial<KubeObject>): boolean {
  const [own, theirs] = [object.metadata, metadata ?? {}]
  return (
    object.apiVersion === version &&
    object.kind === name &&
    own.name === theirs.name &&
    own.namespace === theirs.namespace &&
    own.uid === theirs.uid
  )
}

function responseOf(uid: string, response: JsonObject): JsonObject {
  return { apiVersion, kind, response: { uid, ...response } }
}
