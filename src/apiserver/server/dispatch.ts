/** From a request to its handler: authorization, then the route by path, then the verb by method. */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import type { Peer } from '../access/authenticate.ts'
import type { ReadBody } from './api-server.ts'
import { type ApiCall, checkVerb, isTrueParameter, getObject } from '../cluster/call.ts'
import { discover, versionDocument } from '../discovery/discovery.ts'
import { pathSegment } from '../../kube/validation/name-validation.ts'
import { listObjects } from '../read/list.ts'
import { badRequest, noSuchResource, StatusError } from '../errors/status-error.ts'
import {
  answer,
  availableRepresentations,
  answerText,
  type Dressing,
  dressList,
  errorResponse,
  representationOf,
} from '../representation/representation.ts'
import type { RequestTarget, ResourcePath } from '../access/request-target.ts'
import { findRoute } from '../catalog/route.ts'
import type { ClusterState } from '../cluster/state.ts'
import { warningHeaders } from '../representation/warning-header.ts'
import { watch } from '../read/watch.ts'

/** Handles a request. Throws a StatusError, or rejects with one. */
export function dispatchRequest(
  state: ClusterState,
  request: TransportRequest,
  target: RequestTarget,
  peer?: Peer,
  readBody?: ReadBody,
): Promise<TransportResponse> {
  const { query } = target
  const user = state.access.admit(request, target, peer)
  const route = findRoute(target, state.catalog)
  if (!route) return respondNonResource(state, request, target)
  const { served, subresource } = route
  checkName(route.name ?? '')
  const isServed = served.custom || subresource === '' || served.subresources.some(({ name }) => name === subresource)
  const deprecation = isServed ? served.deprecation : undefined
  const warnings = new Set(deprecation === undefined ? [] : [deprecation])
  const representation = representationOf(request.headers['accept'], availableRepresentations(route))
  if (representation instanceof StatusError)
    return withWarnings(() => Promise.reject(representation), warnings, 'json', served.custom)
  const includeObject = query.get('includeObject') ?? 'Metadata'
  const dressing = { ...representation, served: route.served, includeObject, now: state.clock.now() }
  const call = { state, request, route, query, dressing, user, warnings }
  return withWarnings(() => onRoute(call, readBody), warnings, dressing.syntax, served.custom)
}

/** Rejects names that would break out of the object's storage key. */
function checkName(name: string): void {
  const problems = pathSegment(name)
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problems.join(';')}`)
}

function onRoute(call: ApiCall, readBody: ReadBody | undefined): TransportResponse | Promise<TransportResponse> {
  const { state, request, route } = call
  if (request.method === 'GET' && route.subresource === '') {
    return route.name === undefined ? readCollection(call) : getObject(call)
  }
  const writePath = state.writePath()
  if (readBody) {
    return Promise.all([writePath, readBody()]).then(([path, body]) =>
      path.answer({ ...call, request: { ...request, body } }),
    )
  }
  // Saves a microtask for every write but the first.
  return writePath instanceof Promise ? writePath.then((path) => path.answer(call)) : writePath.answer(call)
}

/** Adds the warnings to the response, whether success or error. */
async function withWarnings(
  act: () => TransportResponse | Promise<TransportResponse>,
  warnings: ReadonlySet<string>,
  syntax: Dressing['syntax'],
  isCustom: boolean,
): Promise<TransportResponse> {
  try {
    const answering = act()
    const response = answering instanceof Promise ? await answering : answering
    return warnings.size === 0
      ? response
      : { ...response, headers: { ...response.headers, ...warningHeaders(warnings) } }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const refused = await errorResponse(error, syntax)
    // kube-apiserver rejects unsupported methods of built-in kinds before it adds warnings.
    if (error.status.code === 405 && !isCustom) return refused
    return { ...refused, headers: { ...refused.headers, ...warningHeaders(warnings) } }
  }
}

/** Paths that are not resources: discovery, health, version. */
async function respondNonResource(
  state: ClusterState,
  { method, headers }: TransportRequest,
  target: RequestTarget,
): Promise<TransportResponse> {
  const { resource } = target
  if (resource) {
    if (isVersionServed(state, resource)) throw noSuchResource()
    return answerText(404, '404 page not found\n')
  }
  const path = target.path.replace(/(.)\/$/, '$1')
  if (method === 'GET') {
    if (path === '/version') return await answer(200, versionDocument)
    if (path.startsWith('/.well-known/') || path.startsWith('/openid/')) {
      const document = await (await import('../discovery/openid.ts')).openId(state.access.issuer, path, headers)
      if (document) return document
    }
    if (path.startsWith('/openapi/')) {
      return await (await import('../discovery/openapi/openapi.ts')).openApi(state, { ...target, headers })
    }
    if (/^\/(?:healthz|readyz|livez)(?:\/.+)?$/s.test(target.path)) return answerText(200, 'ok')
    const segments = path.split('/').slice(1)
    const isDiscovery = segments[0] === 'api' || segments[0] === 'apis'
    const found = isDiscovery ? discover(state.catalog, segments, headers['accept']) : undefined
    if (found) return await answer(200, found.document, 'json', { 'content-type': found.contentType })
  }
  return answerText(404, '404 page not found\n')
}

function isVersionServed({ catalog }: ClusterState, { group, version, isServable }: ResourcePath): boolean {
  return isServable && catalog.all().some((served) => served.group === group && served.version === version)
}

function readCollection(call: ApiCall): TransportResponse | Promise<TransportResponse> {
  const { state, route, query, dressing } = call
  checkVerb(route, 'list')
  if (isTrueParameter(query.get('watch'))) return startWatch(call)
  const { objects, metadata } = listObjects(state, route, query)
  return dressList(objects, metadata, dressing).then((shown) => answer(200, shown, dressing.syntax))
}

function startWatch({ state, request, route, query, dressing }: ApiCall): TransportResponse {
  const body = watch(state, { route, query, dressing, signal: request.signal })
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
