/** Binding: a scheduler says where a pod runs. Once said, it stays. */
import type { TransportResponse } from '../client/transport.ts'
import { type Condition, setCondition } from '../kube/condition.ts'
import { isJsonObject } from '../kube/json.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Call } from './call.ts'
import { change } from './change.ts'
import { unsupported } from './kinds/problem.ts'
import { badRequest, conflict, methodNotAllowed, Refusal } from './refusal.ts'
import type { ClusterState } from './state.ts'
import type { StoredObject } from './storage.ts'
import { readRequest, startWriting } from './written-call.ts'

const bindings = { group: '', plural: 'pods/binding' } as const

export async function bindPod(call: Call): Promise<TransportResponse> {
  if (call.request.method !== 'POST') throw methodNotAllowed()
  const answering = startWriting(call)
  const body = await readRequest(call)
  if (!isJsonObject(body)) throw badRequest('a Binding must be an object')
  const { target, metadata: sent } = body as {
    readonly target?: { readonly kind?: string; readonly name?: string }
    readonly metadata?: {
      readonly name?: string
      readonly annotations?: Readonly<Record<string, string>>
      readonly uid?: string
    }
  }
  if (sent?.name !== call.route.name) throw badRequest('name in URL does not match name in Binding object')
  // Told as a plain error, for historical reasons.
  if (target?.kind && target.kind !== 'Node') {
    const { message } = unsupported('target.kind', target.kind, ['Node', '<empty>'])
    throw new Refusal(500, '', `target.kind: ${message}`)
  }
  if (!target?.name) throw new Refusal(500, '', 'target.name: Required value')
  const nodeName = target.name
  const { state } = call
  await change(state, answering.writing, (live) => bound(state, live, nodeName, sent?.annotations))
  return await answering.value(201, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    code: 201,
  })
}

/** The pod as one that runs on this node. */
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
