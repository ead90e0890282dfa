/** From a request to the verb that answers it: by path, then by method. */
import type { TransportRequest, TransportResponse } from '../client/transport.ts'
import { isJsonObject, type Json } from '../kube/json.ts'
import type { Peer } from './access/authenticate.ts'
import { isReview, review } from './access/reviews.ts'
import { checkAdmission } from './admission/admission.ts'
import { bindPod } from './binding.ts'
import { type Call, existing, isTrue, readRequest, startWriting } from './call.ts'
import { create } from './create.ts'
import { type Deleting, deletingOf, deletionAnswer, remove } from './delete.ts'
import { discover, versionDocument } from './discovery.ts'
import { list } from './list.ts'
import { checkPatchType, patch, patchOf } from './patch.ts'
import { badRequest, methodNotAllowed, noSuchResource, notFound, Refusal } from './refusal.ts'
import {
  answer,
  answerText,
  type Dressing,
  dressList,
  dressObject,
  refuse,
  representationOf,
} from './representation.ts'
import { contentType } from './request-body.ts'
import { findRoute, type Route, splitPath } from './route.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from './storage.ts'
import { defaultPropagation } from './strategy.ts'
import { onSubresource } from './subresources.ts'
import { update } from './update.ts'
import { oneAtVersion } from './versions.ts'
import { warningHeaders } from './warning-header.ts'
import { watch } from './watch.ts'
import { decode } from './writing.ts'

/** Answers a request, or raises a Refusal. */
export async function dispatch(
  state: ClusterState,
  request: TransportRequest,
  peer?: Peer,
): Promise<TransportResponse> {
  const mark = request.path.indexOf('?')
  const path = (mark < 0 ? request.path : request.path.slice(0, mark)).replace(/(.)\/$/, '$1')
  const query = new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1))
  const user = state.access.admit(request, peer)
  const route = findRoute(path, state.catalog)
  if (!route) return await respondAbove(state, request, path)
  const { served, subresource } = route
  const isThere = served.custom || subresource === '' || served.subresources.some(({ name }) => name === subresource)
  const deprecation = isThere ? served.deprecation : undefined
  const warnings = new Set(deprecation === undefined ? [] : [deprecation])
  const representation = representationOf(request.headers['accept'], route.name === undefined, route.served.custom)
  if (representation instanceof Refusal)
    return await warning(Promise.reject(representation), warnings, 'json', served.custom)
  const includeObject = query.get('includeObject') ?? 'Metadata'
  const dressing = { ...representation, served: route.served, includeObject, now: state.clock.now() }
  const answering = onRoute({ state, request, route, query, dressing, user, warnings })
  return await warning(answering, warnings, dressing.syntax, served.custom)
}

async function onRoute(call: Call): Promise<TransportResponse> {
  const { route } = call
  if (route.subresource !== '') return await onSubresource(call, onObject)
  return route.name === undefined ? await onCollection(call) : await onObject(call)
}

/** Warnings come with every answer, a refusal too. */
async function warning(
  answering: Promise<TransportResponse>,
  warnings: ReadonlySet<string>,
  syntax: Dressing['syntax'],
  isCustom: boolean,
): Promise<TransportResponse> {
  try {
    const response = await answering
    return warnings.size === 0
      ? response
      : { ...response, headers: { ...response.headers, ...warningHeaders(warnings) } }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const refused = await refuse(error, syntax)
    // What a built-in kind cannot be asked for gets as far as nobody who would warn.
    if (error.status.code === 405 && !isCustom) return refused
    return { ...refused, headers: { ...refused.headers, ...warningHeaders(warnings) } }
  }
}

/** What is not about resources: discovery, health, version. */
async function respondAbove(state: ClusterState, request: TransportRequest, path: string): Promise<TransportResponse> {
  const { method, headers } = request
  if (method === 'GET') {
    if (path === '/version') return await answer(200, versionDocument)
    if (path.startsWith('/.well-known/') || path.startsWith('/openid/')) {
      const document = await (await import('./access/openid.ts')).openId(state.access.issuer, request)
      if (document) return document
    }
    if (path.startsWith('/openapi/')) return await (await import('./openapi/openapi.ts')).openApi(state, request)
    if (/^\/(?:healthz|readyz|livez)(?:\/|$)/.test(path)) return answerText(200, 'ok')
    const segments = splitPath(path)
    const isDiscovery = segments && (segments[0] === 'api' || segments[0] === 'apis')
    const found = isDiscovery ? discover(state.catalog, segments, headers['accept']) : undefined
    if (found) return await answer(200, found.document, 'json', { 'content-type': found.contentType })
  }
  if (isInServedVersion(state, path)) throw noSuchResource()
  return answerText(404, '404 page not found\n')
}

function isInServedVersion({ catalog }: ClusterState, path: string): boolean {
  const [root, ...rest] = splitPath(path) ?? []
  if ((root !== 'api' && root !== 'apis') || rest.length <= (root === 'api' ? 1 : 2)) return false
  const [group, version] = root === 'api' ? ['', rest[0]] : rest
  return catalog.all().some((served) => served.group === group && served.version === version)
}

async function onCollection(call: Call): Promise<TransportResponse> {
  const { state, request, route, query, dressing } = call
  const { served } = route
  const { method } = request
  if (method === 'GET' && served.verbs.includes('list')) {
    if (isTrue(query.get('watch'))) return startWatch(call)
    const { objects, metadata } = list(state, route, query)
    return await answer(200, await dressList(objects, metadata, dressing), dressing.syntax)
  }
  if (served.namespaced && route.namespace === undefined) throw methodNotAllowed()
  if (method === 'POST' && served.verbs.includes('create')) return await createOne(call)
  if (served.custom && (method === 'PUT' || method === 'PATCH')) throw badRequest('name must be provided')
  if (method === 'DELETE' && served.verbs.includes('deletecollection')) {
    const deleting = await readDeleting(call)
    const { objects, metadata } = list(state, route, query)
    for (const { metadata: own } of objects) await removeOne(call, own.namespace, own.name ?? '', deleting)
    // What is told is what was found, not what became of it.
    return await answer(200, await dressList(objects, metadata, dressing), dressing.syntax)
  }
  throw methodNotAllowed()
}

async function createOne(call: Call): Promise<TransportResponse> {
  const { state, route } = call
  const answering = startWriting(call)
  const body = await readRequest(call)
  if (isReview(route.served.kind)) {
    return await answering.value(201, review(state, answering.writing, decode(answering.writing, body)))
  }
  if (route.served.table === 'bindings') return await bindPod(bindingOf(call, body))
  if (!route.served.verbs.includes('get')) throw methodNotAllowed()
  return await answering.object(201, await create(state, answering.writing, body))
}

/** The old way to bind: the pod is named in the body. */
function bindingOf(call: Call, body: Json): Call {
  const metadata = isJsonObject(body) && isJsonObject(body['metadata']) ? body['metadata'] : {}
  const name = typeof metadata['name'] === 'string' ? metadata['name'] : ''
  const served = call.state.catalog.ofTable('pods')!
  return { ...call, route: { ...call.route, served, name, subresource: 'binding' } }
}

async function onObject(call: Call): Promise<TransportResponse> {
  const { state, request, route, dressing } = call
  switch (request.method) {
    case 'GET':
      checkVerb(route, 'get')
      return await answer(200, await dressObject(existing(call), dressing), dressing.syntax)
    case 'PUT': {
      checkVerb(route, 'update')
      const answering = startWriting(call)
      const { object, isNew } = await update(state, answering.writing, await readRequest(call))
      return await answering.object(isNew ? 201 : 200, object)
    }
    case 'PATCH': {
      checkVerb(route, 'patch')
      if (route.served.custom) checkPatchType(route.served, contentType(request.headers))
      const answering = startWriting(call)
      const { object, isNew } = await patch(state, answering.writing, patchOf(call))
      return await answering.object(isNew ? 201 : 200, object)
    }
    case 'DELETE':
      checkVerb(route, 'delete')
      return await deleteOne(call)
    case 'POST':
      // The address of a custom object is as good as that of all: what is made has its name in the body.
      if (!route.served.custom) throw methodNotAllowed()
      return await createOne({ ...call, route: { ...route, name: undefined } })
    default:
      throw methodNotAllowed()
  }
}

async function deleteOne(call: Call): Promise<TransportResponse> {
  const { route, dressing } = call
  const { served, namespace, name = '' } = route
  const deleting = await readDeleting(call)
  const outcome = await removeOne(call, namespace, name, deleting)
  if (!outcome) throw notFound(served, name)
  const deleted = deletionAnswer(served, outcome)
  const shown = deleted.kind === 'Status' ? deleted : await dressObject(deleted as StoredObject, dressing)
  return await answer(200, shown, dressing.syntax, warningHeaders(deletionWarnings(route, deleting)))
}

/** One object goes, if it is still there when all who have a say have spoken. Of a collection they are told no name. */
async function removeOne(
  { state, route, user, warnings }: Call,
  namespace: string | undefined,
  name: string,
  deleting: Deleting,
): Promise<ReturnType<typeof remove> | undefined> {
  const { served } = route
  const found = findObject(state, served, namespace, name)
  if (!found) return undefined
  await checkAdmission(state, {
    operation: 'DELETE',
    served,
    subresource: '',
    namespace,
    name: route.name ?? '',
    user,
    dryRun: deleting.dryRun,
    options: deleting.options,
    object: undefined,
    oldObject: await oneAtVersion(found, served),
    warn: (text) => void warnings.add(text),
  })
  const live = findObject(state, served, namespace, name)
  return live && remove(state, served, live, deleting)
}

function deletionWarnings({ served }: Route, { propagation }: Deleting): readonly string[] {
  if (propagation !== undefined || served.table !== 'jobs.batch' || !defaultPropagation(served)) return []
  return [
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  ]
}

function startWatch({ state, request, route, query, dressing }: Call): TransportResponse {
  const body = watch(state, { route, query, dressing, signal: request.signal })
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

async function readDeleting(call: Call): Promise<Deleting> {
  const { request, query } = call
  const isEmpty = request.body === undefined || request.body.length === 0
  return deletingOf(isEmpty ? undefined : await readRequest(call), query)
}

function checkVerb({ served }: Route, verb: string): void {
  if (!served.verbs.includes(verb)) throw methodNotAllowed()
}
