/** From a request to the verb that answers it: by path, then by method. */
import type { TransportRequest, TransportResponse } from '../client/transport.ts'
import { isJsonObject, type Json } from '../kube/json.ts'
import { create } from './create.ts'
import { type Deleting, deletingOf, deletionAnswer, remove } from './delete.ts'
import { discover, versionDocument } from './discovery.ts'
import { list } from './list.ts'
import { patch } from './patch.ts'
import { badRequest, methodNotAllowed, notFound } from './refusal.ts'
import { answer, answerText, type Dressing, dressList, dressObject, representationOf } from './representation.ts'
import { contentType, readBody } from './request-body.ts'
import { isReview, review } from './reviews.ts'
import { findRoute, type Route, splitPath } from './route.ts'
import { scaleOf, withScale } from './scale.ts'
import { type ClusterState, findObject } from './state.ts'
import type { StoredObject } from './storage.ts'
import { replace, update } from './update.ts'
import { watch } from './watch.ts'
import { admit, type Writing, writingOf } from './writing.ts'

/** One request as the verbs see it. */
interface Call {
  readonly state: ClusterState
  readonly request: TransportRequest
  readonly route: Route
  readonly query: URLSearchParams
  readonly dressing: Dressing
}

/** Answers a request, or raises a Refusal. */
export async function dispatch(state: ClusterState, request: TransportRequest): Promise<TransportResponse> {
  const mark = request.path.indexOf('?')
  const path = (mark < 0 ? request.path : request.path.slice(0, mark)).replace(/(.)\/$/, '$1')
  const query = new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1))
  const route = findRoute(path, state.catalog)
  if (!route) return await respondAbove(state, request, path)
  const representation = representationOf(request.headers['accept'])
  const includeObject = query.get('includeObject') ?? 'Metadata'
  const dressing = { ...representation, served: route.served, includeObject, now: state.clock.now() }
  const call: Call = { state, request, route, query, dressing }
  const { subresource, name } = route
  if (subresource !== '') return await onSubresource(call)
  return name === undefined ? await onCollection(call) : await onObject(call)
}

/** What is not about resources: discovery, health, version. */
async function respondAbove(
  state: ClusterState,
  { method, headers }: TransportRequest,
  path: string,
): Promise<TransportResponse> {
  if (method === 'GET') {
    if (path === '/version') return await answer(200, versionDocument)
    if (/^\/(?:healthz|readyz|livez)(?:\/|$)/.test(path)) return answerText(200, 'ok')
    const segments = splitPath(path)
    const isDiscovery = segments && (segments[0] === 'api' || segments[0] === 'apis')
    const found = isDiscovery ? discover(state.catalog, segments, headers['accept']) : undefined
    if (found) return await answer(200, found.document, 'json', { 'content-type': found.contentType })
  }
  return answerText(404, '404 page not found\n')
}

async function onCollection(call: Call): Promise<TransportResponse> {
  const { state, request, route, query, dressing } = call
  const { served } = route
  const { method } = request
  if (method === 'GET' && served.verbs.includes('list')) {
    if (isTrue(query.get('watch'))) return startWatch(call)
    const { objects, metadata } = list(state, route, query)
    return await answer(200, dressList(objects, metadata, dressing), dressing.syntax)
  }
  if (served.namespaced && route.namespace === undefined) throw methodNotAllowed()
  if (method === 'POST' && served.verbs.includes('create')) return await createOne(call)
  if (method === 'DELETE' && served.verbs.includes('deletecollection')) {
    const deleting = await readDeleting(call)
    const { objects, metadata } = list(state, route, query)
    const deleted = objects.map((object) => remove(state, served, object as StoredObject, deleting).object)
    return await answer(200, dressList(deleted, metadata, dressing), dressing.syntax)
  }
  throw methodNotAllowed()
}

async function createOne(call: Call): Promise<TransportResponse> {
  const { state, request, route, dressing } = call
  const { writing, headers } = startWriting(call)
  const body = await readRequest(request)
  if (isReview(route.served.kind))
    return await answer(201, review(admit(writing, body), request.headers), dressing.syntax)
  // Kinds that are only created (bindings, token reviews) are actions, and not carried out here.
  if (!route.served.verbs.includes('get')) throw methodNotAllowed()
  const object = create(state, writing, body)
  return await answer(201, dressObject(object, dressing), dressing.syntax, headers())
}

async function onObject(call: Call): Promise<TransportResponse> {
  const { state, request, route, dressing } = call
  const { served, namespace, name = '' } = route
  switch (request.method) {
    case 'GET':
      checkVerb(route, 'get')
      return await answer(200, dressObject(existing(call), dressing), dressing.syntax)
    case 'PUT': {
      checkVerb(route, 'update')
      const { writing, headers } = startWriting(call)
      const { object, isNew } = update(state, writing, await readRequest(request))
      return await answer(isNew ? 201 : 200, dressObject(object, dressing), dressing.syntax, headers())
    }
    case 'PATCH': {
      checkVerb(route, 'patch')
      const { object, isNew, headers } = await patchOne(call)
      return await answer(isNew ? 201 : 200, dressObject(object, dressing), dressing.syntax, headers())
    }
    case 'DELETE': {
      checkVerb(route, 'delete')
      const deleting = await readDeleting(call)
      const live = findObject(state, served, namespace, name)
      if (!live) throw notFound(served, name)
      const deleted = deletionAnswer(served, remove(state, served, live, deleting))
      return await answer(
        200,
        deleted.kind === 'Status' ? deleted : dressObject(deleted as StoredObject, dressing),
        dressing.syntax,
      )
    }
    default:
      throw methodNotAllowed()
  }
}

async function onSubresource(call: Call): Promise<TransportResponse> {
  const { route } = call
  const declared = route.served.subresources.find(({ name }) => name === route.subresource)
  if (!declared) return answerText(404, '404 page not found\n')
  if (route.subresource === 'scale' && route.served.scale) return await onScale(call)
  if (route.subresource === 'status') {
    if (call.request.method === 'DELETE') throw methodNotAllowed()
    return await onObject(call)
  }
  if (route.served.table === 'namespaces' && route.subresource === 'finalize') return await finalizeNamespace(call)
  throw methodNotAllowed()
}

async function onScale(call: Call): Promise<TransportResponse> {
  const { state, request, route, dressing } = call
  const paths = route.served.scale!
  const live = existing(call)
  if (request.method === 'GET') return await answer(200, scaleOf(live, paths), dressing.syntax)
  if (request.method === 'PATCH') {
    const { object } = await patchOne(call)
    return await answer(200, scaleOf(object, paths), dressing.syntax)
  }
  if (request.method !== 'PUT') throw methodNotAllowed()
  const scale = await readRequest(request)
  if (!isJsonObject(scale)) throw badRequest('a Scale must be an object')
  const { metadata: sent } = scale as { readonly metadata?: { readonly resourceVersion?: string } }
  const scaled = withScale(live, scale, paths)
  const resourceVersion = sent?.resourceVersion || live.metadata.resourceVersion
  const versioned = { ...scaled, metadata: { ...scaled.metadata, resourceVersion } }
  const { writing } = startWriting(call)
  return await answer(200, scaleOf(replace(state, writing, live, versioned), paths), dressing.syntax)
}

/** The one way to change what holds a namespace: `spec.finalizers`. */
async function finalizeNamespace(call: Call): Promise<TransportResponse> {
  if (call.request.method !== 'PUT') throw methodNotAllowed()
  const { writing } = startWriting(call)
  const object = admit(writing, await readRequest(call.request))
  return await answer(200, replace(call.state, writing, existing(call), object), call.dressing.syntax)
}

function startWatch({ state, request, route, query, dressing }: Call): TransportResponse {
  const body = watch(state, { route, query, dressing, signal: request.signal })
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

async function patchOne(
  call: Call,
): Promise<{ object: StoredObject; isNew: boolean; headers: () => Readonly<Record<string, string>> }> {
  const { state, request, query } = call
  const { writing, headers } = startWriting(call)
  const force = query.get('force')
  const updated = await patch(state, writing, {
    body: request.body,
    type: contentType(request.headers),
    force: force === null ? undefined : isTrue(force),
    hasManager: Boolean(query.get('fieldManager')),
  })
  return { ...updated, headers }
}

function existing({ state, route }: Call): StoredObject {
  const { served, namespace, name = '' } = route
  const object = findObject(state, served, namespace, name)
  if (!object) throw notFound(served, name)
  return object
}

/** A write, and the headers that its answer will need: known only when it is done. */
function startWriting({ request, route, query }: Call): {
  writing: Writing
  headers: () => Readonly<Record<string, string>>
} {
  const warnings: string[] = []
  const userAgent = request.headers['user-agent']
  const writing = writingOf(
    route,
    query,
    typeof userAgent === 'string' ? userAgent : '',
    (text) => void warnings.push(text),
  )
  const headers = (): Readonly<Record<string, string>> =>
    warnings.length === 0 ? {} : { warning: warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ') }
  return { writing, headers }
}

async function readRequest({ body, headers }: TransportRequest): Promise<Json> {
  return await readBody(body, contentType(headers))
}

async function readDeleting({ request, query }: Call): Promise<Deleting> {
  const isEmpty = request.body === undefined || request.body.length === 0
  return deletingOf(isEmpty ? undefined : await readRequest(request), query)
}

function checkVerb({ served }: Route, verb: string): void {
  if (!served.verbs.includes(verb)) throw methodNotAllowed()
}

function isTrue(value: string | null): boolean {
  return value === 'true' || value === '1'
}
