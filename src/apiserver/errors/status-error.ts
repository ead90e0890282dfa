/**
 * Status errors: how an API server rejects a request, with a reason, a code and a message. Clients check reason and
 * code, and many also the text, so all three are those of kube-apiserver.
 */
import type { Cause } from '../../kube/validation/cause.ts'
import type { GroupVersionKind, Resource } from '../../kube/kind.ts'
import type { ListMeta, Status, StatusDetails } from '../../kube/object.ts'

/** Thrown anywhere while a request is handled; the server turns it into the response. */
export class StatusError extends Error {
  readonly status: Status & { readonly code: number }

  constructor(code: number, reason: string, message: string, details?: StatusDetails, metadata: ListMeta = {}) {
    super(message)
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      message,
      ...(reason !== '' && { reason }),
      ...(details && { details }),
      code,
    }
  }
}

export type { Cause }

type Plural = Pick<Resource, 'group' | 'plural'>

/** `deployments.apps`, `pods`. */
export function qualifiedPlural({ group, plural }: Plural): string {
  return group === '' ? plural : `${plural}.${group}`
}

function detailsOf({ group, plural }: Plural, name: string): StatusDetails {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), kind: plural }
}

export function notFound(resource: Plural, name: string): StatusError {
  const message = `${qualifiedPlural(resource)} "${name}" not found`
  return new StatusError(404, 'NotFound', message, detailsOf(resource, name))
}

export function alreadyExists(resource: Plural, name: string, isGoing = false): StatusError {
  const message = `${isGoing ? 'object is being deleted: ' : ''}${qualifiedPlural(resource)} "${name}" already exists`
  return new StatusError(409, 'AlreadyExists', message, detailsOf(resource, name))
}

export function conflict(resource: Plural, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualifiedPlural(resource)} "${name}": ${why}`
  return new StatusError(409, 'Conflict', message, detailsOf(resource, name))
}

/** An optimistic concurrency conflict: another client has changed the object. */
export function modified(resource: Plural, name: string): StatusError {
  const why = 'the object has been modified; please apply your changes to the latest version and try again'
  return conflict(resource, name, why)
}

export function forbidden(resource: Plural, name: string, why: string, causes?: readonly Cause[]): StatusError {
  const message = `${qualifiedPlural(resource)} "${name}" is forbidden: ${why}`
  return new StatusError(403, 'Forbidden', message, { ...detailsOf(resource, name), ...(causes && { causes }) })
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message)
}

/** A validation error of an object, or of options (`ListOptions.meta.k8s.io`); each cause names a field. */
export function invalid(
  kind: Pick<GroupVersionKind, 'group' | 'kind'> & { readonly custom?: boolean },
  name: string,
  causes: readonly Cause[],
): StatusError {
  // An error that several rules find is listed once.
  const distinct = [...new Map(causes.map((one) => [`${one.field}: ${one.message}`, one])).values()]
  const texts = distinct.map(({ field, message }) => `${field}: ${message}`)
  // Events are validated in the core group, whichever group serves them.
  const group = kind.group === 'events.k8s.io' ? '' : kind.group
  const qualified = group === '' ? kind.kind : `${kind.kind}.${group}`
  const message = `${qualified} "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`
  const details = {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    ...(kind.kind !== '' && { kind: kind.kind }),
    // For custom resources, kube-apiserver does not deduplicate the causes.
    causes: kind.custom ? causes : distinct,
  }
  return new StatusError(422, 'Invalid', message, details)
}

export function invalidOptions(kind: string, causes: readonly Cause[]): StatusError {
  return invalid({ group: 'meta.k8s.io', kind }, '', causes)
}

/** The requested revision has been compacted. A list may continue inconsistently with the given token. */
export function expired(message: string, continueToken?: string): StatusError {
  return new StatusError(
    410,
    'Expired',
    message,
    undefined,
    continueToken === undefined ? {} : { continue: continueToken },
  )
}

/** A resourceVersion that this server has not reached yet. */
export function tooLargeVersion(asked: number, current: number): StatusError {
  return new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}

export function methodNotAllowed(): StatusError {
  return new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {})
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return new StatusError(415, 'UnsupportedMediaType', message)
}

/** No requested media type is available. Only collections offer the types of watch streams. */
export function noSuchMediaType(isCollection: boolean): StatusError {
  const plain = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
  const streams = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch']
  const available = [...plain, ...(isCollection ? streams : [])].join(', ')
  return new StatusError(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${available}`, {})
}

/** The group and version is served, but has no resource of this name. */
export function noSuchResource(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  return new StatusError(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`)
}

export function tooLarge(limit: number): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`)
}

/** The server is overloaded; the client should retry. */
export function tooManyRequests(): StatusError {
  const message = 'Too many requests, please try again later.'
  return new StatusError(429, 'TooManyRequests', message, { retryAfterSeconds: 1 })
}

export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized')
}

/** A failure of the server itself. */
export function internal(message: string): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
}
