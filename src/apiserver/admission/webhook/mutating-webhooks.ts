/**
 * Mutating webhooks are called one after the other, each with the object as changed by those before it. A webhook with
 * `reinvocationPolicy: IfNeeded` is called again in a second round if later plugins changed the object.
 */
import { equalJson, type Json, type JsonObject } from '../../../kube/json.ts'
import { applyJsonPatch } from '../../../kube/patch/json-patch.ts'
import { formatApiVersion } from '../../../kube/kind.ts'
import { isMusterError } from '../../../kube/muster-error.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { pruneUnknownFields } from '../../codec/prune.ts'
import { internal, StatusError } from '../../errors/status-error.ts'
import { checkDepth } from '../../codec/request-body.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { StorageTable } from '../../storage/storage.ts'
import { withDefaults } from '../../write/writing.ts'
import type { AdmissionRequest, MutatingRequest } from '../../cluster/admission.ts'
import type { OutsideView } from '../../policy/outside-view.ts'
import { callWebhook, type Hook, hooksIn, type Patch, viewFor } from './webhook.ts'

/** State that the first round leaves for the reinvocation. */
interface Memory {
  /** Webhooks that were called, and must be called again if a later one changes the object. */
  readonly asked: Set<string>
  /** Webhooks to call again. */
  readonly due: Set<string>
  last: UntypedObject | undefined
}

const memoryKey = 'MutatingAdmissionWebhook'

export async function mutateByWebhooks(
  state: ClusterState,
  request: MutatingRequest,
  table: StorageTable,
): Promise<UntypedObject> {
  const { rounds } = request
  const memory = (rounds.memory.get(memoryKey) ?? { asked: new Set(), due: new Set(), last: undefined }) as Memory
  rounds.memory.set(memoryKey, memory)
  const reinvoke = (): void => {
    for (const id of memory.asked) memory.due.add(id)
    memory.asked.clear()
  }
  let { object } = request
  if (rounds.isSecond && !isSame(memory.last, object)) reinvoke()
  for (const hook of hooksIn(table)) {
    const view = await viewFor(state, { ...request, object }, hook)
    if (!view || (rounds.isSecond && !memory.due.has(hook.id))) continue
    const patch = await callWebhook(state, view, hook, true)
    const changed = patch.length === 0 ? object : await patched(view, patch, hook)
    if (!isSame(changed, object)) {
      reinvoke()
      rounds.again()
    }
    object = changed
    if (hook.webhook.reinvocationPolicy === 'IfNeeded') memory.asked.add(hook.id)
  }
  memory.last = object
  return object
}

/** Webhooks may reject a deletion, but change nothing. */
export async function callForDeletion(
  state: ClusterState,
  request: AdmissionRequest,
  table: StorageTable,
): Promise<void> {
  for (const hook of hooksIn(table)) {
    const view = await viewFor(state, request, hook)
    if (!view) continue
    const patch = await callWebhook(state, view, hook, true)
    if (patch.length > 0) {
      const name = JSON.stringify(hook.webhook.name)
      throw internal(
        `admission webhook ${name} attempted to modify the object, which is not supported for this operation`,
      )
    }
  }
}

function isSame(a: UntypedObject | undefined, b: UntypedObject): boolean {
  return a === b || equalJson((a ?? null) as unknown as Json, b as unknown as Json)
}

/** The object after a patch: pruned and defaulted by its kind. */
async function patched(view: OutsideView, patch: Patch, { webhook }: Hook): Promise<UntypedObject> {
  const { object, served, request, kind } = view
  let outcome: Json
  try {
    outcome = applyJsonPatch(object as unknown as JsonObject, patch)
    // Copies within a patch can nest deeper than both the object and the patch.
    checkDepth(outcome)
  } catch (error) {
    if (error instanceof StatusError)
      throw internal(`${webhook.name}: the patch makes an object that is nested too deep`)
    if (!isMusterError(error)) throw error
    throw internal(error.message)
  }
  const isOwnKind = !request.kind && request.subresource !== 'scale'
  const { object: known, problem } = isOwnKind
    ? pruneUnknownFields({ apiVersion: formatApiVersion(served), kind: kind.kind, ...(outcome as JsonObject) }, served)
    : { object: outcome as JsonObject, problem: undefined }
  if (problem !== undefined) throw internal(`${webhook.name}: ${problem}`)
  const next = known as unknown as UntypedObject
  return await view.back(isOwnKind ? withDefaults(served, next) : next)
}
