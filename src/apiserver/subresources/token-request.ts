/**
 * `serviceaccounts/NAME/token`: issues tokens. A token has an audience and an expiry, and may be bound to a pod, a
 * secret or a node; it becomes invalid with that object.
 */
import { invalidShown } from '../../kube/validation/cause.ts'
import { updateObject } from '../../kube/apply/apply.ts'
import { builtinDefinitions, builtinSchema } from '../../kube/builtin.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { TransportResponse } from '../../transport/transport.ts'
import { admitObject, checkAdmission } from '../cluster/admission.ts'
import { type ApiCall, existing } from '../cluster/call.ts'
import { badRequest, type Cause, conflict, invalid, methodNotAllowed, notFound } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { admissionOf } from '../write/writing.ts'
import { claimsOf, type TokenSubject } from '../access/service-account-token.ts'
import { readRequest, startWriting } from '../write/write-call.ts'

const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' } as const
const apiVersion = 'authentication.k8s.io/v1'

const minuteSeconds = 60
const shortestSeconds = 10 * minuteSeconds
const longestSeconds = 2 ** 32
const defaultSeconds = 60 * minuteSeconds

/** The expiry that kubelets request for pods. Old clients never reload a token, so such a token is valid for a year. */
const projectedSeconds = 60 * minuteSeconds + 7
const extendedSeconds = 365 * 24 * 60 * minuteSeconds

interface BoundRef {
  readonly kind?: string
  readonly apiVersion?: string
  readonly name?: string
  readonly uid?: string
}

interface TokenSpec {
  readonly audiences?: readonly string[] | null
  readonly expirationSeconds?: number
  readonly boundObjectRef?: BoundRef | null
  readonly attestations?: JsonObject | null
}

export async function requestToken(call: ApiCall): Promise<TransportResponse> {
  if (call.request.method !== 'POST') throw methodNotAllowed()
  const { state, route } = call
  const answering = startWriting(call)
  const { name = '', namespace = '' } = route
  const asked = { ...admissionOf(answering.writing, 'CREATE'), kind, name, oldObject: undefined }
  const sent = decodeRequest(await readRequest(call))
  const admitted = await admitObject(state, { ...asked, object: shownRequest(sent, namespace) })
  const { metadata, spec } = decodeRequest(admitted as unknown as JsonObject)
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  if (metadata.name && metadata.name !== name) {
    const detail = 'must match the service account name if specified'
    throw invalid(kind, name, [invalidShown('metadata.name', JSON.stringify(metadata.name), detail)])
  }
  const account = existing(call)
  const { uid } = account.metadata
  if (metadata.uid && metadata.uid !== uid) {
    const why = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`
    throw conflict({ group: kind.group, plural: kind.kind }, name, why)
  }
  const causes = checkSpec(spec)
  if (causes.length > 0) throw invalid(kind, '', causes)

  const now = state.clock.now()
  const { expirationSeconds: expiresIn = defaultSeconds, boundObjectRef: ref } = spec
  const audiences = spec.audiences?.length ? spec.audiences : [state.access.issuer.issuer]
  const own = { ...metadata, name, namespace, uid, creationTimestamp: formatTime(now) }
  await checkAdmission(state, {
    ...asked,
    object: {
      ...admitted,
      metadata: own,
      spec: { boundObjectRef: null, ...spec, audiences, expirationSeconds: expiresIn },
    },
  })
  const subject = bindTo(state, { namespace, serviceaccount: { name, uid } }, ref)
  const isExtended = subject.pod !== undefined && expiresIn === projectedSeconds && isOurs(state, audiences)
  const terms = isExtended ? { expiresIn: extendedSeconds, warnAfter: expiresIn } : { expiresIn }
  const token = state.access.issuer.sign(claimsOf(subject, { ...terms, audiences, now, id: state.ids() }))

  const { manager } = answering.writing
  const written: UntypedObject = {
    kind: kind.kind,
    apiVersion,
    metadata: sent.metadata,
    spec: { ...spec, expirationSeconds: expiresIn },
  }
  const owned = updateObject({
    manager,
    subresource: 'token',
    schema: builtinSchema(kind)!,
    definitions: builtinDefinitions(),
    now,
    live: undefined,
    updated: written,
  })
  return await answering.value(201, {
    ...owned,
    metadata: { ...owned.metadata, name, namespace, uid, creationTimestamp: formatTime(now) },
    spec: { ...spec, audiences, expirationSeconds: expiresIn, boundObjectRef: ref ?? null },
    status: { token, expirationTimestamp: formatTime(now + expiresIn * 1000) },
  })
}

/** The TokenRequest as admission sees it. */
function shownRequest({ metadata, spec }: ReturnType<typeof decodeRequest>, namespace: string): UntypedObject {
  return {
    kind: kind.kind,
    apiVersion,
    metadata: { ...metadata, namespace: metadata.namespace ?? namespace },
    spec: { expirationSeconds: defaultSeconds, boundObjectRef: null, ...spec },
    status: { token: '', expirationTimestamp: null },
  }
}

function decodeRequest(body: Json): { readonly metadata: UntypedObject['metadata']; readonly spec: TokenSpec } {
  if (!isJsonObject(body)) throw badRequest('the object provided is unrecognized (must be of type TokenRequest)')
  if (body['kind'] !== undefined && body['kind'] !== kind.kind) {
    throw badRequest(`no kind "${textOf(body['kind'])}" is registered for version "${textOf(body['apiVersion'])}"`)
  }
  const { metadata = {}, spec = {} } = body
  if (!isJsonObject(metadata ?? {}) || !isJsonObject(spec ?? {})) throw badRequest('metadata and spec must be objects')
  // Null is absent: Go serializes unset pointers as null.
  const checked: JsonObject = Object.fromEntries(Object.entries(spec ?? {}).filter(([, value]) => value !== null))
  const { audiences, expirationSeconds, boundObjectRef } = checked
  const isSound =
    (audiences === undefined || isTextList(audiences)) &&
    (expirationSeconds === undefined || Number.isInteger(expirationSeconds)) &&
    (boundObjectRef === undefined || isJsonObject(boundObjectRef))
  if (!isSound) throw badRequest('TokenRequest in version "v1" cannot be handled as a TokenRequest')
  return { metadata: (metadata ?? {}) as UntypedObject['metadata'], spec: checked }
}

function isTextList(value: Json): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function checkSpec({ expirationSeconds, attestations }: TokenSpec): readonly Cause[] {
  const field = 'spec.expirationSeconds'
  const value = String(expirationSeconds)
  if (attestations && Object.keys(attestations).length > 0) {
    const detail = 'attestations may only be specified with a webhook bound object reference'
    return [invalidShown('spec.attestations', JSON.stringify(attestations), detail)]
  }
  if (expirationSeconds === undefined) return []
  return [
    ...(expirationSeconds < shortestSeconds
      ? [invalidShown(field, value, 'may not specify a duration less than 10 minutes')]
      : []),
    ...(expirationSeconds > longestSeconds
      ? [invalidShown(field, value, 'may not specify a duration larger than 2^32 seconds')]
      : []),
  ]
}

/** The token's subject with the object that the token is bound to. */
function bindTo({ storage }: ClusterState, subject: TokenSubject, ref: BoundRef | null | undefined): TokenSubject {
  if (!ref) return subject
  const { name = '', kind: refKind = '' } = ref
  const { group, version } = parseApiVersion(ref.apiVersion ?? '')
  const find = (plural: string, namespace: string | undefined): StoredObject => {
    const object = storage.table(plural).get(namespace, name)
    if (!object) throw notFound({ group: '', plural }, name)
    if (ref.uid && ref.uid !== object.metadata.uid) {
      const why = `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`
      throw conflict({ group: '', plural: refKind }, name, why)
    }
    return object
  }
  const bound = ({ metadata }: StoredObject): { readonly name: string; readonly uid: string } => metadata
  if (group === '' && refKind === 'Secret') return { ...subject, secret: bound(find('secrets', subject.namespace)) }
  if (group === '' && refKind === 'Node') return { ...subject, node: bound(find('nodes', undefined)) }
  if (group !== '' || refKind !== 'Pod') {
    throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${refKind}`)
  }
  const pod = find('pods', subject.namespace)
  const { serviceAccountName, nodeName } = pod['spec'] as {
    readonly serviceAccountName?: string
    readonly nodeName?: string
  }
  if (serviceAccountName !== subject.serviceaccount.name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(subject.serviceaccount.name)} to pod running with different serviceaccount name.`,
    )
  }
  if (!nodeName) return { ...subject, pod: bound(pod) }
  const uid = storage.table('nodes').get(undefined, nodeName)?.metadata.uid
  return { ...subject, pod: bound(pod), node: { name: nodeName, uid } }
}

function isOurs(state: ClusterState, audiences: readonly string[]): boolean {
  return audiences.every((audience) => audience === state.access.issuer.issuer)
}
