/**
 * The admission chain. First every plugin may mutate the object, then every plugin may reject it. They run in the order
 * of kube-apiserver, which is part of the contract: a quota must count the object that the webhooks produced.
 *
 * Most plugins are synchronous, so a write only waits where a plugin does (a webhook).
 */
import type { JsonObject } from '../../kube/json.ts'
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Identity } from '../access/identity.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import type { ClusterState } from './state.ts'

export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  /** A create by a PUT or PATCH of an object that does not exist. @default false */
  readonly isByUpdate?: boolean | undefined
  readonly served: ServedResource
  /** Empty for the object itself. */
  readonly subresource: string
  /** The kind of the object if it differs from the resource's: Eviction, at `pods/eviction`. */
  readonly kind?: GroupVersionKind | undefined
  readonly namespace: string | undefined
  readonly name: string
  readonly user: Identity
  readonly dryRun: boolean
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as the client sent them; null in a CONNECT. */
  readonly options: JsonObject | null
  /** The object to be stored, at the version of the request; absent in a DELETE. In a CONNECT, the request body or options. */
  readonly object: UntypedObject | undefined
  /** The stored object, at the version of the request; absent in a CREATE. */
  readonly oldObject: UntypedObject | undefined
  /** Adds a warning to the response. */
  readonly warn: (message: string) => void
}

/**
 * Reinvocation: a late mutation may invalidate the decision of an earlier plugin, so there may be a second round, but
 * never a third.
 */
interface Rounds {
  readonly isSecond: boolean
  /** Requests the second round. */
  again(): void
  /** State that plugins keep between the rounds, by plugin. */
  readonly memory: Map<string, unknown>
}

export interface MutatingRequest extends AdmissionRequest {
  readonly object: UntypedObject
  readonly rounds: Rounds
}

export interface AdmissionPlugin {
  /** The name in kube-apiserver: `NamespaceLifecycle`. */
  readonly name: string
  /** Returns the mutated object, or the same one. Throws a StatusError. */
  readonly mutate?: (state: ClusterState, request: MutatingRequest) => UntypedObject | Promise<UntypedObject>
  /** Throws a StatusError. */
  readonly validate?: (state: ClusterState, request: AdmissionRequest) => void | Promise<void>
  /** The final check, in the same turn as the write to storage: nothing can come between. Throws a StatusError. */
  readonly settle?: (state: ClusterState, request: AdmissionRequest) => void
}

/** Runs the mutating phase; synchronous unless a plugin calls a webhook. */
export function admitObject(
  state: ClusterState,
  request: AdmissionRequest & { readonly object: UntypedObject },
): UntypedObject | Promise<UntypedObject> {
  const memory = new Map<string, unknown>()
  let wantsSecond = false
  const first = { isSecond: false, again: () => void (wantsSecond = true), memory }
  const second = (object: UntypedObject): UntypedObject | Promise<UntypedObject> =>
    wantsSecond ? oneRound(state, { ...request, object, rounds: { ...first, isSecond: true } }) : object
  const object = oneRound(state, { ...request, rounds: first })
  return object instanceof Promise ? object.then(second) : second(object)
}

function oneRound(state: ClusterState, request: MutatingRequest, from = 0): UntypedObject | Promise<UntypedObject> {
  const plugins = state.admission()
  let asked = request
  for (let at = from; at < plugins.length; at++) {
    const outcome = plugins[at]!.mutate?.(state, asked)
    if (outcome instanceof Promise) return outcome.then((next) => oneRound(state, { ...request, object: next }, at + 1))
    // Most plugins do not change the object.
    if (outcome && outcome !== asked.object) asked = { ...request, object: outcome }
  }
  return asked.object
}

/** Runs the validating phase; synchronous unless a plugin calls a webhook. */
export function checkAdmission(state: ClusterState, request: AdmissionRequest, from = 0): void | Promise<void> {
  const plugins = state.admission()
  for (let at = from; at < plugins.length; at++) {
    const outcome = plugins[at]!.validate?.(state, request)
    if (outcome instanceof Promise) return outcome.then(() => checkAdmission(state, request, at + 1))
  }
}

/** The object's name in error messages; a generated name may not exist yet. */
export function shownName({ name, object }: AdmissionRequest): string {
  return name || object?.metadata.name || object?.metadata.generateName || 'Unknown'
}

/** Runs the final checks. Call it in the same turn as the write to storage. */
export function settleAdmission(state: ClusterState, request: AdmissionRequest): void {
  for (const { settle } of state.admission()) settle?.(state, request)
}
