/**
 * Maps an error response of the API server to an error of the table.
 *
 * The reason in the Status body decides; the HTTP status does where there is no reason: behind a proxy, with a truncated body
 * or a page of HTML, the status code must still count.
 */
import { kubeErrors } from '../kube/errors.ts'
import { type ErrorDefinition, MusterError } from '../kube/muster-error.ts'
import { isJsonObject, parseJson } from '../kube/json.ts'
import type { Status } from '../kube/object.ts'
import { clientErrors } from './errors.ts'
import { readHead } from './body.ts'
import { printable, redact } from './credentials/redaction.ts'
import type { TransportResponse } from '../transport/transport.ts'

/** An error response of the server. `status` is synthetic if the response had no Status. */
export class ApiError extends MusterError {
  readonly status: Status
  /** Of the HTTP response; of the Status where there was no response (an `ERROR` event, an exec channel). */
  readonly httpStatus: number

  constructor(
    definition: ErrorDefinition,
    message: string,
    options: { readonly status: Status; readonly httpStatus: number; readonly retryAfterMs?: number | undefined },
  ) {
    super(definition, message, { retryAfterMs: options.retryAfterMs })
    this.status = options.status
    this.httpStatus = options.httpStatus
  }
}

const byReason: Readonly<Record<string, ErrorDefinition>> = {
  BadRequest: clientErrors.BadRequest,
  Unauthorized: clientErrors.Unauthorized,
  Forbidden: clientErrors.Forbidden,
  NotFound: clientErrors.NotFound,
  AlreadyExists: clientErrors.AlreadyExists,
  Conflict: clientErrors.Conflict,
  Gone: clientErrors.Gone,
  Expired: clientErrors.Gone,
  Invalid: clientErrors.Invalid,
  TooManyRequests: clientErrors.TooManyRequests,
  MethodNotAllowed: clientErrors.MethodNotAllowed,
  NotAcceptable: clientErrors.NotAcceptable,
  UnsupportedMediaType: clientErrors.UnsupportedMediaType,
  RequestEntityTooLarge: clientErrors.RequestTooLarge,
  Timeout: clientErrors.ServerTimeout,
  ServerTimeout: clientErrors.ServerTimeout,
  InternalError: clientErrors.ServerError,
  StoreReadError: clientErrors.ServerError,
  ServiceUnavailable: clientErrors.ServiceUnavailable,
}

const byHttpStatus: Readonly<Record<number, ErrorDefinition>> = {
  400: clientErrors.BadRequest,
  401: clientErrors.Unauthorized,
  403: clientErrors.Forbidden,
  404: clientErrors.NotFound,
  405: clientErrors.MethodNotAllowed,
  406: clientErrors.NotAcceptable,
  407: clientErrors.ProxyFailed,
  408: clientErrors.ServerTimeout,
  409: clientErrors.Conflict,
  410: clientErrors.Gone,
  413: clientErrors.RequestTooLarge,
  415: clientErrors.UnsupportedMediaType,
  422: clientErrors.Invalid,
  429: clientErrors.TooManyRequests,
  501: clientErrors.MethodNotAllowed,
  502: clientErrors.ServiceUnavailable,
  503: clientErrors.ServiceUnavailable,
  504: clientErrors.ServerTimeout,
}

/** A larger Status is not read to its end. */
const maxStatusBytes = 2 ** 20

/** How much of an unknown body a message quotes. */
const maxExcerpt = 200

/**
 * The error of a response that is not 2xx; reads its body. The message contains only the path of the request: the query may
 * hold a command line, the body a Secret.
 */
export async function apiError(
  request: { readonly method: string; readonly path: string },
  response: TransportResponse,
  now: number,
): Promise<ApiError> {
  const httpStatus = response.status
  const text = await readHead(response.body, maxStatusBytes)
  const where = whereabouts(request)
  const retryAfterMs = readRetryAfter(response.headers['retry-after'], now)
  const status = readStatus(text)
  if (status) return statusError({ ...status, code: httpStatus }, where, retryAfterMs)

  const type = response.headers['content-type'] ?? ''
  const isHtml = type.includes('html') || /^\s*</.test(text)
  const definition = foreignError(httpStatus, isHtml)
  const excerpt = redact(isHtml ? (/<title[^<>]*>([^<]*)</i.exec(text)?.[1] ?? '') : text.slice(0, 4 * maxExcerpt))
  const message =
    definition === clientErrors.KindNotServed
      ? 'the server serves no such resource'
      : `HTTP ${httpStatus} ${describeBody(text, isHtml, type)}${excerpt && `: ${shortened(excerpt)}`}`
  return new ApiError(definition, `${where}: ${message}.`, {
    status: { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: httpStatus, message },
    httpStatus,
    retryAfterMs,
  })
}

/** The error of a Status: in a response, in an `ERROR` event of a watch, or at the end of an exec. */
export function statusError(status: Status, where?: string, retryAfterMs?: number): ApiError {
  const httpStatus = status.code ?? 500
  const message = withoutQuotedBody(printable(status.message ?? status.reason ?? `HTTP ${httpStatus}`))
  const seconds = status.details?.retryAfterSeconds
  return new ApiError(errorOfStatus(status, httpStatus), where === undefined ? message : `${where}: ${message}`, {
    status: status.message === undefined ? status : { ...status, message },
    httpStatus,
    retryAfterMs: retryAfterMs ?? (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined),
  })
}

/** `GET /api/v1/pods`: a request in a message, without its query. */
export function whereabouts(request: { readonly method: string; readonly path: string }): string {
  const query = request.path.indexOf('?')
  return `${request.method} ${query < 0 ? request.path : request.path.slice(0, query)}`
}

/** Whether a disruption budget, not server load, rejects the request: retrying does not help before other Pods change. */
export function isHeldByBudget(error: unknown): boolean {
  return error instanceof ApiError && hasCause(error.status, 'DisruptionBudget')
}

function errorOfStatus(status: Status, httpStatus: number): ErrorDefinition {
  const error = byReason[status.reason ?? ''] ?? errorOfHttpStatus(httpStatus)
  if (error === clientErrors.Conflict && hasCause(status, 'FieldManagerConflict')) return kubeErrors.ApplyConflict
  // A missing object has a name; without one, the path itself is unknown.
  if (error === clientErrors.NotFound && !status.details?.name) return clientErrors.KindNotServed
  return error
}

function hasCause(status: Status, reason: string): boolean {
  const causes: unknown = status.details?.causes
  return Array.isArray(causes) && causes.some((cause: unknown) => isJsonObject(cause) && cause['reason'] === reason)
}

/** Without a Status, a 404 comes from the API server's router, or from something that is not an API server. */
function foreignError(httpStatus: number, isHtml: boolean): ErrorDefinition {
  if (httpStatus === 404) return isHtml ? clientErrors.UnexpectedAnswer : clientErrors.KindNotServed
  return errorOfHttpStatus(httpStatus)
}

function errorOfHttpStatus(httpStatus: number): ErrorDefinition {
  const { ServerError, BadRequest, UnexpectedAnswer } = clientErrors
  return (
    byHttpStatus[httpStatus] ?? (httpStatus >= 500 ? ServerError : httpStatus >= 400 ? BadRequest : UnexpectedAnswer)
  )
}

function readStatus(text: string): Status | undefined {
  try {
    const body = parseJson(text)
    if (!isJsonObject(body) || body['kind'] !== 'Status') return undefined
    const { message, reason, details } = body
    // A member of the wrong type is dropped: the code below relies on the types.
    return {
      ...body,
      apiVersion: 'v1',
      kind: 'Status',
      message: typeof message === 'string' ? message : undefined,
      reason: typeof reason === 'string' ? reason : undefined,
      details: isJsonObject(details) ? details : undefined,
    } as Status
  } catch {
    return undefined
  }
}

function describeBody(text: string, isHtml: boolean, type: string): string {
  if (text === '') return 'with an empty body'
  return isHtml ? 'with a page of HTML' : `with ${type || 'a body of no type'}, not a Status`
}

function shortened(text: string): string {
  return text.length > maxExcerpt ? `${text.slice(0, maxExcerpt)}…` : text
}

/** Some servers quote the part of the request that they could not parse, between `...|` and `|...`. */
function withoutQuotedBody(message: string): string {
  const from = message.indexOf('...|')
  const to = message.lastIndexOf('|...')
  return from < 0 || to < from + 4 ? message : `${message.slice(0, from)}[…]${message.slice(to + 4)}`
}

/** Seconds or an HTTP date, as the time to wait from `now`. */
function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0)
}
