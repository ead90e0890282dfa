/** `pods/NAME/binding`: a scheduler assigns a pod to a node. The assignment is final. */
import type { TransportResponse } from '../../transport/transport.ts'
import { type Condition, setCondition } from '../../kube/meta/condition.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { admitObject, checkAdmission } from '../cluster/admission.ts'
import type { ApiCall } from '../cluster/call.ts'
import { change } from '../write/change.ts'
import { unsupported } from '../../kube/validation/field-error.ts'
import { badRequest, conflict, methodNotAllowed, StatusError } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { admissionOf } from '../write/writing.ts'
import { readRequest, startWriting } from '../write/write-call.ts'

const kind = { group: '', version: 'v1', kind: 'Binding' } as const
const bindings = { group: '', plural: 'pods/binding' } as const

export async function bindPod(call: ApiCall): Promise<TransportResponse> {
  if (call.request.method !== 'POST') throw methodNotAllowed()
  const { state, route } = call
  const answering = startWriting(call)
  const body = await readRequest(call)
  if (!isJsonObject(body)) throw badRequest('a Binding must be an object')
  const { name = '', namespace = '' } = route
  const asked = { ...admissionOf(answering.writing, 'CREATE'), kind, name, oldObject: undefined }
  const binding = await admitObject(state, { ...asked, object: bindingOf(body, namespace) })
  const { target, metadata: sent } = binding as {
    readonly target?: { readonly kind?: string; readonly name?: string }
    readonly metadata: UntypedObject['metadata']
  }
  if (sent.name !== name) throw badRequest('name in URL does not match name in Binding object')
  // Reported as a plain error, for historical reasons.
  if (target?.kind && target.kind !== 'Node') {
    const { message } = unsupported('target.kind', target.kind, ['Node', '<empty>'])
    throw new StatusError(500, '', `target.kind: ${message}`)
  }
  if (!target?.name) throw new StatusError(500, '', 'target.name: Required value')
  const nodeName = target.name
  await checkAdmission(state, { ...asked, object: binding })
  await change(state, answering.writing, (live) => bound(state, live, nodeName, sent.annotations))
  return await answering.value(201, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    code: 201,
  })
}

/** The Binding as admission sees it. */
function bindingOf({ metadata, ...rest }: JsonObject, namespace: string): UntypedObject {
  return { apiVersion: 'v1', kind: 'Binding', ...rest, metadata: { ...(metadata as object), namespace } }
}

/** The pod, assigned to this node. */
export function bound(
  { clock }: ClusterState,
  live: StoredObject,
  nodeName: string,
  added?: Readonly<Record<string, string>>,
): UntypedObject {
  const { name } = live.metadata
  const spec = (live['spec'] ?? {}) as { readonly nodeName?: string }
  if (live.metadata.deletionTimestamp) {
    throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`)
  }
  if (spec.nodeName) {
    throw conflict(bindings, name, `pod ${name} is already assigned to node "${spec.nodeName}"`)
  }
  const status = (live['status'] ?? {}) as { readonly conditions?: readonly Condition[] }
  const scheduled = { type: 'PodScheduled', status: 'True', reason: '', message: '' } as const
  const conditions = setCondition(status.conditions ?? [], scheduled, clock.now()).map(
    ({ reason: _reason, message: _message, ...condition }) => Object.assign({ lastProbeTime: null }, condition),
  )
  const annotations = { ...live.metadata.annotations, ...added }
  return {
    ...live,
    metadata: { ...live.metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
    spec: { ...spec, nodeName },
    status: { ...status, conditions },
  }
}
