/**
 * What both kinds of admission webhook share: which webhooks match a write, the AdmissionReview that they get, and how
 * their answer is interpreted. A webhook that denies the request decides; if it cannot be reached, its failure policy
 * decides.
 */
import { kubeErrors } from '../../../kube/errors.ts'
import { isMusterError } from '../../../kube/muster-error.ts'
import { quoteGo } from '../../../kube/go/go-text.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../kube/json.ts'
import { type JsonPatchOperation, parseJsonPatch } from '../../../kube/patch/json-patch.ts'
import type { Status, UntypedObject } from '../../../kube/object.ts'
import type { MutatingWebhook, ValidatingWebhook } from '../../../kube/types/admissionregistration/v1.ts'
import { badRequest, forbidden, internal, StatusError } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { StoredObject, StorageTable } from '../../storage/storage.ts'
import { WebhookError } from '../../webhook/webhook-caller.ts'
import { type AdmissionRequest, shownName } from '../../cluster/admission.ts'
import { compileConditions, type AdmissionExpression, meetsConditions, valuesOf } from '../../policy/expression.ts'
import { matchedVersion } from '../../policy/matching.ts'
import { type OutsideView, outsideView, requestFacts } from '../../policy/outside-view.ts'

type AnyWebhook = ValidatingWebhook & Pick<MutatingWebhook, 'reinvocationPolicy'>

export interface Hook {
  /** Unique among all webhooks: configuration, name and index. */
  readonly id: string
  readonly webhook: AnyWebhook
  readonly conditions: () => readonly AdmissionExpression[]
}

const known = new WeakMap<StoredObject, readonly Hook[]>()

/** All webhooks of these configurations: configurations sorted by name, webhooks in their order. */
export function hooksIn(table: StorageTable): readonly Hook[] {
  return table.objects().flatMap((configuration) => {
    const found = known.get(configuration) ?? hooksOf(configuration)
    known.set(configuration, found)
    return found
  })
}

function hooksOf(configuration: StoredObject): readonly Hook[] {
  const { webhooks = [] } = configuration as { readonly webhooks?: readonly AnyWebhook[] }
  return webhooks.map((webhook, index) => {
    let conditions: readonly AdmissionExpression[] | undefined
    return {
      id: `${configuration.metadata.name}/${webhook.name}/${index}`,
      webhook,
      conditions: () => (conditions ??= compileConditions(webhook.matchConditions ?? [])),
    }
  })
}

/** The write as this webhook sees it; undefined when it does not match. */
export async function viewFor(
  state: ClusterState,
  request: AdmissionRequest,
  { webhook, conditions }: Hook,
): Promise<OutsideView | undefined> {
  const { rules = [], matchPolicy, namespaceSelector, objectSelector, failurePolicy } = webhook
  const served = matchedVersion(state, request, { rules, matchPolicy, namespaceSelector, objectSelector })
  if (!served) return undefined
  const view = await outsideView(request, served)
  if (conditions().length === 0) return view
  const met = meetsConditions(conditions(), valuesOf(state, view))
  if (typeof met === 'boolean') return met ? view : undefined
  if (failurePolicy === 'Ignore') return undefined
  throw forbidden(request.served, shownName(request), met.error)
}

/** The changes by a webhook that allowed the request. */
export type Patch = readonly JsonPatchOperation[]

/** Calls a webhook. Throws a Refusal when it denies the request, or fails and its failure policy is Fail. */
export async function callWebhook(
  state: ClusterState,
  view: OutsideView,
  { webhook }: Hook,
  mayPatch: boolean,
): Promise<Patch> {
  const { name, failurePolicy, sideEffects } = webhook
  if (view.request.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
    throw badRequest(`admission webhook ${quoteGo(name)} does not support dry run`)
  }
  try {
    return await call(state, view, webhook, mayPatch)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    if (failurePolicy === 'Ignore') return []
    throw internal(`failed calling webhook ${quoteGo(name)}: ${error.message}`)
  }
}

async function call(state: ClusterState, view: OutsideView, webhook: AnyWebhook, mayPatch: boolean): Promise<Patch> {
  const { name, clientConfig, timeoutSeconds = 10, admissionReviewVersions } = webhook
  const version = admissionReviewVersions.find((one) => one === 'v1' || one === 'v1beta1')
  const uid = state.ids()
  const review = {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      ...requestFacts(view),
      object: jsonOf(view.object),
      oldObject: jsonOf(view.oldObject),
    },
  }
  const answered = await post(state, clientConfig, review, timeoutSeconds * 1000)
  checkReview(answered)
  const response = verified(answered, uid, review.apiVersion, mayPatch)
  for (const warning of response.warnings ?? []) view.request.warn(warning)
  if (response.allowed !== true) throw denied(name, response.status)
  return patchOf(response, name)
}

async function post(
  state: ClusterState,
  config: AnyWebhook['clientConfig'],
  review: JsonObject,
  timeoutMs: number,
): Promise<Json> {
  try {
    return await state.webhooks(config, review, timeoutMs)
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error
    throw new WebhookError(`failed to call webhook: ${error.message}`)
  }
}

function jsonOf(object: UntypedObject | undefined): Json {
  return (object as unknown as JsonObject | undefined) ?? null
}

interface AdmissionResponse {
  readonly uid?: string
  readonly allowed?: boolean
  readonly status?: Partial<Status> & { readonly code?: number }
  readonly patch?: string | null
  readonly patchType?: string | null
  readonly warnings?: readonly string[] | null
}

/** An answer must be an AdmissionReview. */
function checkReview(answered: Json): void {
  const { apiVersion = '', kind = '' } = (isJsonObject(answered) ? answered : {}) as {
    readonly apiVersion?: string
    readonly kind?: string
  }
  if (/^admission\.k8s\.io\/v1(?:beta1)?$/.test(apiVersion) && kind === 'AdmissionReview') return
  const where = 'in scheme "pkg/runtime/scheme.go:111"'
  throw new WebhookError(
    `failed to call webhook: no kind ${quoteGo(kind)} is registered for version ${quoteGo(apiVersion)} ${where}`,
  )
}

function verified(answered: Json, uid: string, apiVersion: string, mayPatch: boolean): AdmissionResponse {
  const why = problemOf(answered, uid, apiVersion, mayPatch)
  if (why !== undefined) throw new WebhookError(`received invalid webhook response: ${why}`)
  return (answered as JsonObject)['response'] as unknown as AdmissionResponse
}

function problemOf(answered: Json, uid: string, apiVersion: string, mayPatch: boolean): string | undefined {
  const { response: given, ...head } = isJsonObject(answered) ? answered : {}
  if (!isJsonObject(given)) return 'webhook response was absent'
  const response = given as unknown as AdmissionResponse
  const hasPatch = (response.patch ?? '') !== ''
  const hasType = response.patchType !== undefined && response.patchType !== null
  if (!mayPatch && hasPatch) return 'validating webhook may not return response.patch'
  if (!mayPatch && hasType) return 'validating webhook may not return response.patchType'
  // An AdmissionReview of version v1beta1 is not checked any further.
  if (apiVersion !== 'admission.k8s.io/v1') return undefined
  if (response.uid !== uid) return `expected response.uid=${quoteGo(uid)}, got ${quoteGo(response.uid ?? '')}`
  const { apiVersion: version = '', kind = '' } = head as { readonly apiVersion?: string; readonly kind?: string }
  if (version !== apiVersion || kind !== 'AdmissionReview') {
    return `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${version}, Kind=${kind}`
  }
  if (hasPatch && !hasType) return 'webhook returned response.patch but not response.patchType'
  if (!hasPatch && hasType) return 'webhook returned response.patchType but not response.patch'
  if (response.patchType === '') return 'webhook returned invalid response.patchType of ""'
  return undefined
}

function denied(name: string, given: AdmissionResponse['status']): StatusError {
  const deniedBy = `admission webhook ${quoteGo(name)} denied the request`
  const { code = 0, reason = '', message = '', details } = given ?? {}
  const why = message || reason
  return new StatusError(
    Math.max(code, 400),
    reason,
    why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    details,
  )
}

function patchOf({ patch, patchType }: AdmissionResponse, name: string): Patch {
  if (!patch) return []
  if (patchType !== undefined && patchType !== null && patchType !== 'JSONPatch') {
    throw new WebhookError(`unsupported patch type ${quoteGo(patchType)}`)
  }
  try {
    return parseJsonPatch(parseJson(Buffer.from(patch, 'base64').toString()))
  } catch (error) {
    const why = isMusterError(error, kubeErrors.InvalidPatch) ? error.message : `the patch of ${name} is no valid JSON`
    throw new WebhookError(`received undecodable patch in webhook response: ${why}`)
  }
}
