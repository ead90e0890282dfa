/**
 * Subresources: the endpoints below an object. Some write a part of it (`status`, `approval`: see reset-fields.ts),
 * some show it as another kind (`scale`), some are actions (`eviction`, `binding`).
 */
import type { TransportResponse } from '../../transport/transport.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Pod } from '../../kube/types/core/v1.ts'
import { admitObject, checkAdmission } from '../cluster/admission.ts'
import { type ApiCall, existing } from '../cluster/call.ts'
import { bindPod } from './binding.ts'
import { change } from '../write/change.ts'
import { evictPod } from './eviction.ts'
import { logsOf } from '../kinds/pod/pod-script.ts'
import { finalizerProblems } from '../../kube/validation/object-meta.ts'
import { patch, patchOf } from '../write/patch.ts'
import { badRequest, invalid, methodNotAllowed, noSuchResource, notFound } from '../errors/status-error.ts'
import { answer, answerText, type Dressing, dressValue } from '../representation/representation.ts'
import { checkReplicas, scaleOf, withScale } from '../catalog/scale.ts'
import type { StoredObject } from '../storage/storage.ts'
import { oneAtVersion } from '../catalog/versions.ts'
import { replacement } from '../write/update.ts'
import { admissionOf, checkIdentity, decode } from '../write/writing.ts'
import { readRequest, startWriting } from '../write/write-call.ts'

type Action = (call: ApiCall) => Promise<TransportResponse>

/** By table and subresource. Every other subresource answers 405. */
const actions: ReadonlyMap<string, Action> = new Map<string, Action>([
  ['namespaces/finalize', finalizeNamespace],
  ['serviceaccounts/token', async (call) => await (await import('./token-request.ts')).requestToken(call)],
  ['pods/eviction', evictPod],
  ['pods/binding', bindPod],
  ['pods/log', readLog],
  ['pods/exec', withoutHost],
  ['pods/attach', withoutHost],
  ['pods/portforward', withoutHost],
  ['pods/proxy', withoutAddress],
])

/** Subresources that read and write the object itself, limited to a part of it. */
const partialEndpoints = new Set(['status', 'approval', 'ephemeralcontainers', 'resize'])

export async function onSubresource(call: ApiCall, onObject: Action): Promise<TransportResponse> {
  const { served, subresource } = call.route
  const declared = served.subresources.find(({ name }) => name === subresource)
  if (!declared) throw served.custom ? notFound(served, call.route.name ?? '') : noSuchResource()
  if (subresource === 'scale' && served.scale) return await onScale(call)
  if (partialEndpoints.has(subresource)) {
    if (call.request.method === 'DELETE' || call.request.method === 'POST') throw methodNotAllowed()
    return await onObject(call)
  }
  const action = actions.get(`${served.table}/${subresource}`)
  if (!action) throw methodNotAllowed()
  return await action(call)
}

async function onScale(call: ApiCall): Promise<TransportResponse> {
  const { state, request, route, dressing } = call
  const { served } = route
  const paths = served.scale!
  if (request.method === 'GET') {
    const scale = scaleOf(await oneAtVersion(existing(call), served), paths)
    return await answer(200, await dressScale(scale, dressing), dressing.syntax)
  }
  const answering = startWriting(call)
  const writeScale = async (): Promise<StoredObject> => {
    if (request.method === 'PATCH') return (await patch(state, answering.writing, patchOf(call))).object
    if (request.method !== 'PUT') throw methodNotAllowed()
    const scale = await readRequest(call)
    if (!isJsonObject(scale)) throw badRequest('a Scale must be an object')
    const { metadata: sent } = scale as { readonly metadata?: UntypedObject['metadata'] }
    checkIdentity(answering.writing, { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: sent ?? {} })
    checkReplicas(scale, paths, true)
    return await change(state, answering.writing, (live) => {
      const scaled = withScale(live, scale, paths)
      const resourceVersion = sent?.resourceVersion || live.metadata.resourceVersion
      return replacement(state, answering.writing, live, {
        ...scaled,
        metadata: { ...scaled.metadata, resourceVersion },
      })
    })
  }
  const scale = scaleOf(await oneAtVersion(await writeScale(), served), paths)
  return await answering.shown(200, await dressScale(scale, dressing))
}

async function dressScale(scale: UntypedObject, dressing: Dressing): Promise<unknown> {
  if (dressing.form !== 'table') return dressValue(scale, dressing)
  const { scaleTable } = await import('../printer/scale.ts')
  return scaleTable(scale, dressing.now)
}

/** The only way to change `spec.finalizers` of a namespace. */
async function finalizeNamespace(call: ApiCall): Promise<TransportResponse> {
  if (call.request.method !== 'PUT') throw methodNotAllowed()
  const answering = startWriting(call)
  const object = decode(answering.writing, await readRequest(call))
  const { state } = call
  const { finalizers = [] } = (object['spec'] ?? {}) as { readonly finalizers?: readonly string[] }
  const problems = finalizerProblems(finalizers, 'spec.finalizers')
  if (problems.length > 0) throw invalid(call.route.served, call.route.name ?? '', problems)
  const changed = await change(state, answering.writing, (live) => replacement(state, answering.writing, live, object))
  return await answering.object(200, changed)
}

/** No kubelet writes logs here: a pod has logged what its annotations say. */
async function readLog(call: ApiCall): Promise<TransportResponse> {
  if (call.request.method !== 'GET') throw methodNotAllowed()
  const pod = existing(call) as unknown as Pod
  if (!pod.spec?.nodeName) return answerText(204, '')
  return answerText(200, logsOf(pod, call.query.get('container') ?? pod.spec.containers[0]?.name ?? ''))
}

/** The kind of options of a CONNECT request, by subresource. */
const connectKinds: Readonly<Record<string, string>> = {
  exec: 'PodExecOptions',
  attach: 'PodAttachOptions',
  portforward: 'PodPortForwardOptions',
  proxy: 'PodProxyOptions',
}

/** Admission runs although the connection will be refused. */
async function admitConnect(call: ApiCall): Promise<void> {
  const { route, query, state } = call
  const kind = { group: '', version: 'v1', kind: connectKinds[route.subresource]! }
  const about = admissionOf(startWriting(call).writing, 'CONNECT')
  const asked = { ...about, kind, name: route.name ?? '', options: null, oldObject: undefined }
  const object = { apiVersion: 'v1', kind: kind.kind, metadata: {}, ...connectOptions(query) }
  await checkAdmission(state, { ...asked, object: await admitObject(state, { ...asked, object }) })
}

function connectOptions(query: URLSearchParams): JsonObject {
  const isSet = (name: string): boolean => query.has(name) && !/^(?:false|0)$/i.test(query.get(name)!)
  const [command, ports] = [query.getAll('command'), query.getAll('ports').map(Number)]
  return {
    ...Object.fromEntries(['stdin', 'stdout', 'stderr', 'tty'].filter(isSet).map((name) => [name, true])),
    ...Object.fromEntries(['container', 'path'].flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))),
    ...(command.length > 0 && { command }),
    ...(ports.length > 0 && { ports }),
  }
}

async function withoutHost(call: ApiCall): Promise<TransportResponse> {
  await admitConnect(call)
  checkHost(call)
  throw badRequest('no container runs behind a pod of the embedded server')
}

async function withoutAddress(call: ApiCall): Promise<TransportResponse> {
  await admitConnect(call)
  existing(call)
  throw badRequest('address not allowed')
}

function checkHost(call: ApiCall): void {
  const { metadata, spec } = existing(call) as { metadata: { name: string }; spec?: { nodeName?: string } }
  if (!spec?.nodeName) throw badRequest(`pod ${metadata.name} does not have a host assigned`)
}
