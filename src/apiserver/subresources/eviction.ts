/**
 * `pods/NAME/eviction`: a deletion that the pod's disruption budget must allow. The budget's controller computes how
 * many disruptions are allowed; an eviction only decrements that number.
 */
import type { TransportResponse } from '../../transport/transport.ts'
import { type Condition, setCondition } from '../../kube/meta/condition.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { labelsOf, type LabelSelectorSpec, matchLabels } from '../../kube/selector/selector.ts'
import { admitObject, checkAdmission } from '../cluster/admission.ts'
import { type ApiCall, existing } from '../cluster/call.ts'
import { commit } from '../write/change.ts'
import { readDeleteOptions, removeObject } from '../write/delete.ts'
import { badRequest, forbidden, internal, methodNotAllowed, StatusError } from '../errors/status-error.ts'
import type { ClusterState } from '../cluster/state.ts'
import type { StoredObject } from '../storage/storage.ts'
import { admissionOf } from '../write/writing.ts'
import { readRequest, startWriting } from '../write/write-call.ts'

const budgetTable = 'poddisruptionbudgets.policy'

interface PodLike {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

interface BudgetLike {
  readonly spec?: { readonly selector?: LabelSelectorSpec; readonly unhealthyPodEvictionPolicy?: string }
  readonly status?: {
    readonly observedGeneration?: number
    readonly disruptionsAllowed?: number
    readonly currentHealthy?: number
    readonly desiredHealthy?: number
    readonly disruptedPods?: Readonly<Record<string, string>>
    readonly conditions?: readonly Condition[]
  }
}

export async function evictPod(call: ApiCall): Promise<TransportResponse> {
  if (call.request.method !== 'POST') throw methodNotAllowed()
  const body = await readRequest(call)
  if (!isJsonObject(body)) throw badRequest('an Eviction must be an object')
  const { state, route, query } = call
  const { served, namespace = '', name = '' } = route
  const answering = startWriting(call)
  const asked = { ...admissionOf(answering.writing, 'CREATE'), kind: evictionKind, name, oldObject: undefined }
  const eviction = await admitObject(state, { ...asked, object: evictionOf(body, namespace) })
  const { metadata, deleteOptions } = eviction as UntypedObject & { readonly deleteOptions?: Json }
  if (metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object')
  await checkAdmission(state, { ...asked, object: eviction })
  // Read only now, and nothing is awaited from here on: the pod may have been removed or recreated meanwhile.
  const pod = existing(call)
  const requested = readDeleteOptions(deleteOptions, query)
  const deletion = { ...requested, dryRun: requested.dryRun || answering.writing.dryRun }
  if (!needsNoBudget(pod)) decrementBudget(state, pod, deletion.dryRun)
  removeObject(state, served, deletion.dryRun ? pod : state.storage.put(served.table, disrupted(pod, state)), deletion)
  return await answering.value(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })
}

/** The pod with the condition DisruptionTarget. */
function disrupted(pod: StoredObject, { clock }: ClusterState): UntypedObject {
  const status = (pod['status'] ?? {}) as { readonly conditions?: readonly { readonly type: string }[] }
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: formatTime(clock.now()),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  }
  const others = (status.conditions ?? []).filter(({ type }) => type !== condition.type)
  return { ...pod, status: { ...status, conditions: [...others, condition] } }
}

const evictionKind = { group: 'policy', version: 'v1', kind: 'Eviction' } as const

/** The Eviction as admission sees it. */
function evictionOf({ metadata, ...rest }: JsonObject, namespace: string): UntypedObject {
  const own = isJsonObject(metadata) ? metadata : {}
  if (own['namespace'] && own['namespace'] !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  return { apiVersion: 'policy/v1', kind: 'Eviction', ...rest, metadata: { ...own, namespace } }
}

/** Whether the eviction needs no budget: the pod is finished, not running yet, or being deleted already. */
function needsNoBudget(pod: StoredObject): boolean {
  const { phase } = (pod as PodLike).status ?? {}
  const isIdle = phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending'
  return isIdle || pod.metadata.deletionTimestamp !== undefined
}

function isReady(pod: StoredObject): boolean {
  const conditions = (pod as PodLike).status?.conditions ?? []
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

function decrementBudget(state: ClusterState, pod: StoredObject, dryRun: boolean): void {
  const { namespace, name, labels } = pod.metadata
  const budgets = state.storage.table(budgetTable).objects(namespace)
  const matching = budgets.filter((budget) => {
    const { selector } = (budget as BudgetLike).spec ?? {}
    return selector !== undefined && matchLabels(labelsOf(selector), labels)
  })
  if (matching.length > 1) {
    throw internal('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  }
  const budget = matching[0]
  if (!budget) return
  const { spec, status = {} } = budget as BudgetLike
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, disruptedPods = {} } = status
  if (!isReady(pod)) {
    // Evicting a pod that is not ready disrupts nothing, as long as enough others are healthy.
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return
    if (currentHealthy >= desiredHealthy && desiredHealthy > 0) return
  }
  const budgetName = budget.metadata.name
  if ((status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) {
    throw violates(`The disruption budget ${budgetName} is still being processed by the server.`, 10)
  }
  const served = state.catalog.ofTable(budgetTable)!
  if (disruptionsAllowed < 0) throw forbidden(served, budgetName, 'pdb disruptions allowed is negative')
  if (Object.keys(disruptedPods).length > 2000) {
    throw forbidden(
      served,
      budgetName,
      'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    )
  }
  if (disruptionsAllowed === 0) {
    throw violates(
      `The disruption budget ${budgetName} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    )
  }
  const left = disruptionsAllowed - 1
  const allowed = {
    type: 'DisruptionAllowed',
    status: left > 0 ? 'True' : 'False',
    reason: left > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    observedGeneration: status.observedGeneration ?? 0,
  } as const
  const spent: UntypedObject = {
    ...budget,
    status: {
      ...status,
      conditions: setCondition(status.conditions ?? [], allowed, state.clock.now()),
      disruptionsAllowed: left,
      disruptedPods: { ...disruptedPods, [name]: formatTime(state.clock.now()) },
    },
  }
  commit(state, { served, dryRun }, budget, spent)
}

function violates(why: string, retryAfterSeconds?: number): StatusError {
  const message = "Cannot evict pod as it would violate the pod's disruption budget."
  return new StatusError(429, 'TooManyRequests', message, {
    causes: [{ reason: 'DisruptionBudget', message: why }],
    ...(retryAfterSeconds && { retryAfterSeconds }),
  })
}
