/**
 * The write path: everything that changes stored objects, with the defaults and validation of all kinds. It is nine
 * tenths of the server's code, and reads do not need it: `dispatch` loads it with the first request that does.
 */
import type { TransportResponse } from '../../transport/transport.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { administrator } from '../access/identity.ts'
import { isReview, review } from '../subresources/reviews.ts'
import { startRoleAggregation } from '../controllers/role-aggregation.ts'
import { checkAdmission } from '../cluster/admission.ts'
import { admissionPlugins } from '../admission/plugins.ts'
import { trackQuotas } from '../admission/quota/quota-ledger.ts'
import { startApiServiceController } from '../controllers/api-service.ts'
import { bindPod } from '../subresources/binding.ts'
import { type ApiCall, checkVerb, getObject } from '../cluster/call.ts'
import { create, withoutSystemFields } from '../write/create.ts'
import { type DeleteRequestOptions, readDeleteOptions, deletionAnswer, removeObject } from '../write/delete.ts'
import { startCoreControllers } from '../controllers/core-controllers.ts'
import { listObjects } from '../read/list.ts'
import { checkPatchType, patch, patchOf } from '../write/patch.ts'
import { badRequest, methodNotAllowed, modified, notFound } from '../errors/status-error.ts'
import { answer, dressList, dressObject } from '../representation/representation.ts'
import { contentType } from '../codec/request-body.ts'
import type { Route } from '../catalog/route.ts'
import { startServiceAccountController } from '../controllers/service-accounts.ts'
import { findObject, type WritePath } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { defaultPropagation } from '../kinds/strategy/strategy.ts'
import { onSubresource } from '../subresources/subresources.ts'
import { updateResource } from '../write/update.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import { warningHeaders } from '../representation/warning-header.ts'
import { readRequest, startWriting } from '../write/write-call.ts'
import { decode, recordUpdate, writingOf } from '../write/writing.ts'

export const writePath: WritePath = {
  answer(call) {
    const { route } = call
    if (route.subresource !== '') return onSubresource(call, onObject)
    return route.name === undefined ? onCollection(call) : onObject(call)
  },
  warmUp(state) {
    const served = state.catalog.find('', 'v1', 'configmaps')!
    const route: Route = { served, namespace: 'default', name: undefined, subresource: '' }
    const writing = writingOf(route, {
      query: new URLSearchParams(),
      userAgent: '',
      user: administrator,
      optionsKind: 'CreateOptions',
      scan: () => ({ duplicates: [], order: [] }),
      warn: () => undefined,
    })
    const object = decode(writing, { metadata: { name: 'warm-up' }, data: { key: 'value' } })
    recordUpdate(state, writing, undefined, withoutSystemFields(writing, object))
  },
  admissionPlugins,
  startControllers(state, { controllerManager, collectGarbage, serviceAccounts, rootCa }) {
    startCoreControllers(state, { controllerManager, collectGarbage })
    if (controllerManager) startRoleAggregation(state)
    if (controllerManager) trackQuotas(state)
    if (collectGarbage || !controllerManager) startApiServiceController(state)
    if (serviceAccounts) startServiceAccountController(state, rootCa)
  },
}

async function onCollection(call: ApiCall): Promise<TransportResponse> {
  const { state, request, route, query, dressing } = call
  const { served } = route
  const { method } = request
  if (served.namespaced && route.namespace === undefined) throw methodNotAllowed()
  if (method === 'POST' && served.verbs.includes('create')) return await createOne(call)
  if (served.custom && (method === 'PUT' || method === 'PATCH')) throw badRequest('name must be provided')
  if (method === 'DELETE' && served.verbs.includes('deletecollection')) {
    const deletion = await requestedDeleteOptions(call)
    const { objects, metadata } = listObjects(state, route, query)
    for (const { metadata: own } of objects) await removeOne(call, own.namespace, own.name ?? '', deletion)
    // The response lists the objects as they were before the deletion.
    return await answer(200, await dressList(objects, metadata, dressing), dressing.syntax)
  }
  throw methodNotAllowed()
}

async function createOne(call: ApiCall): Promise<TransportResponse> {
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

/** The legacy `bindings` resource: the Pod is named in the body. */
function bindingOf(call: ApiCall, body: Json): ApiCall {
  const metadata = isJsonObject(body) && isJsonObject(body['metadata']) ? body['metadata'] : {}
  const name = typeof metadata['name'] === 'string' ? metadata['name'] : ''
  const served = call.state.catalog.ofTable('pods')!
  return { ...call, route: { ...call.route, served, name, subresource: 'binding' } }
}

async function onObject(call: ApiCall): Promise<TransportResponse> {
  const { state, request, route } = call
  switch (request.method) {
    case 'GET':
      return await getObject(call)
    case 'PUT': {
      checkVerb(route, 'update')
      const answering = startWriting(call)
      const { object, isNew } = await updateResource(state, answering.writing, await readRequest(call))
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
      // Custom resources accept a POST to an object's path; the name comes from the body.
      if (!route.served.custom) throw methodNotAllowed()
      return await createOne({ ...call, route: { ...route, name: undefined } })
    default:
      throw methodNotAllowed()
  }
}

async function deleteOne(call: ApiCall): Promise<TransportResponse> {
  const { route, dressing } = call
  const { served, namespace, name = '' } = route
  const deletion = await requestedDeleteOptions(call)
  const outcome = await removeOne(call, namespace, name, deletion)
  if (!outcome) throw notFound(served, name)
  const deleted = deletionAnswer(served, outcome)
  const shown = deleted.kind === 'Status' ? deleted : await dressObject(deleted as StoredObject, dressing)
  return await answer(200, shown, dressing.syntax, warningHeaders(deletionWarnings(route, deletion)))
}

/** How often admission runs again for an object that changed meanwhile. */
const attempts = 5

/** Deletes one object, if it still exists after admission. In a deletecollection, admission requests have no name. */
async function removeOne(
  { state, route, user, warnings }: ApiCall,
  namespace: string | undefined,
  name: string,
  deletion: DeleteRequestOptions,
): Promise<ReturnType<typeof removeObject> | undefined> {
  const { served } = route
  for (let attempt = 1; ; attempt++) {
    const found = findObject(state, served, namespace, name)
    if (!found) return undefined
    await checkAdmission(state, {
      operation: 'DELETE',
      served,
      subresource: '',
      namespace,
      name: route.name ?? '',
      user,
      dryRun: deletion.dryRun,
      options: deletion.options,
      object: undefined,
      oldObject: await oneAtVersion(found, served),
      warn: (text) => void warnings.add(text),
    })
    const live = findObject(state, served, namespace, name)
    if (!live) return undefined
    if (live === found) return removeObject(state, served, live, deletion)
    if (attempt < attempts) continue
    // Constant writes do not prevent a deletion; an object with another uid is not the one to delete.
    if (live.metadata.uid !== found.metadata.uid) throw modified(served, name)
    return removeObject(state, served, live, deletion)
  }
}

function deletionWarnings({ served }: Route, { propagation }: DeleteRequestOptions): readonly string[] {
  if (propagation !== undefined || served.table !== 'jobs.batch' || !defaultPropagation(served)) return []
  return [
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  ]
}

async function requestedDeleteOptions(call: ApiCall): Promise<DeleteRequestOptions> {
  const { request, query } = call
  const isEmpty = request.body === undefined || request.body.length === 0
  return readDeleteOptions(isEmpty ? undefined : await readRequest(call), query)
}
