/**
 * A write as webhooks and policies see it: in the version that they matched, and a write of `/scale` as a Scale. Inside
 * the server, the latter is a write of the scaled object.
 */
import type { JsonObject } from '../../kube/json.ts'
import { formatApiVersion, type GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Identity } from '../access/identity.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import { scaleOf, withScale } from '../catalog/scale.ts'
import type { StoredObject } from '../storage/storage.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import type { AdmissionRequest } from '../cluster/admission.ts'

export interface OutsideView {
  readonly request: AdmissionRequest
  /** The matched version. */
  readonly served: ServedResource
  readonly kind: GroupVersionKind
  readonly object: UntypedObject | undefined
  readonly oldObject: UntypedObject | undefined
  /** The object as changed by the webhook or policy, converted back to the version of the request. */
  back(changed: UntypedObject): Promise<UntypedObject>
}

const scaleKind: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

export async function outsideView(request: AdmissionRequest, served: ServedResource): Promise<OutsideView> {
  const { subresource, object, oldObject } = request
  const { scale } = request.served
  if (subresource === 'scale' && scale) {
    const show = (one: UntypedObject | undefined): UntypedObject | undefined =>
      one && scaleOf(one as StoredObject, scale)
    return {
      request,
      served,
      kind: scaleKind,
      object: show(object),
      oldObject: show(oldObject),
      back: async (changed) => withScale(object as StoredObject, changed as unknown as JsonObject, scale),
    }
  }
  const kind = request.kind ?? kindOf(served)
  if (request.operation === 'CONNECT' && object) {
    const { metadata, ...asked } = object
    const back = async (changed: UntypedObject): Promise<UntypedObject> => ({ ...changed, metadata })
    return { request, served, kind, object: asked as UntypedObject, oldObject, back }
  }
  // The version of the request needs no conversion.
  if (request.kind || served === request.served) {
    return { request, served, kind, object, oldObject, back: async (changed) => changed }
  }
  const expected = formatApiVersion(served)
  const convert = async (one: UntypedObject | undefined): Promise<UntypedObject | undefined> =>
    one && (await oneAtVersion(one, request.served, expected))
  return {
    request,
    served,
    kind,
    object: await convert(object),
    oldObject: await convert(oldObject),
    back: async (changed) => await oneAtVersion(changed, served, formatApiVersion(request.served)),
  }
}

function kindOf({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind }
}

/** The namespace of the written object; for a Namespace, its own name. */
export function namespaceOf({ served, namespace, name }: AdmissionRequest): string {
  return served.table === 'namespaces' ? name : (namespace ?? '')
}

/** The members of a review's request, except uid and objects. */
export function requestFacts({ request, served, kind }: OutsideView): JsonObject {
  const { operation, subresource, name, user, dryRun, options } = request
  const namespace = namespaceOf(request)
  const isScale = kind.kind === scaleKind.kind && subresource === 'scale'
  const requestKind = request.kind ?? (isScale ? scaleKind : kindOf(request.served))
  return {
    kind: { ...kind },
    resource: resourceOf(served),
    ...(subresource !== '' && { subResource: subresource }),
    requestKind: { ...requestKind },
    requestResource: resourceOf(request.served),
    ...(subresource !== '' && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: userFacts(user),
    dryRun,
    options,
  }
}

function resourceOf({ group, version, plural }: ServedResource): JsonObject {
  return { group, version, resource: plural }
}

function userFacts({ username, uid, groups, extra }: Identity): JsonObject {
  return {
    ...(username !== '' && { username }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra.size > 0 && { extra: Object.fromEntries(extra) }),
  }
}
