/**
 * Admission: who else has a say in a write. Plugins see what is about to be stored; first all may change it, then, when
 * nothing changes any more, all may refuse it. They run in the order of the real server's, which is part of the
 * contract: a quota must count what the webhooks made of an object.
 *
 * Most plugins answer at once, so a write waits only where a plugin has to (a webhook).
 */
import type { JsonObject } from '../../kube/json.ts'
import type { GroupVersionKind } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Identity } from '../access/identity.ts'
import type { ServedResource } from '../catalog/catalog.ts'
import type { ClusterState } from './state.ts'

export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  /** A create that came as an update or a patch of what is not there. @default false */
  readonly isByUpdate?: boolean | undefined
  readonly served: ServedResource
  /** Empty for the object itself. */
  readonly subresource: string
  /** What the object is, where it is not of the resource's own kind: an Eviction, at `pods/eviction`. */
  readonly kind?: GroupVersionKind | undefined
  readonly namespace: string | undefined
  readonly name: string
  readonly user: Identity
  readonly dryRun: boolean
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as the client sent them; null in a CONNECT. */
  readonly options: JsonObject | null
  /** As it would be stored, at the version of the request; absent in a DELETE. In a CONNECT, what is asked for. */
  readonly object: UntypedObject | undefined
  /** As it is stored, at the version of the request; absent in a CREATE. */
  readonly oldObject: UntypedObject | undefined
  /** Said to the client beside the answer. */
  readonly warn: (message: string) => void
}

/**
 * Whoever changes an object late may have made a decision of somebody earlier wrong. So there may be a second round, and
 * never a third.
 */
export interface Rounds {
  readonly isSecond: boolean
  /** Asks for the second round. */
  again(): void
  /** What plugins keep from one round to the next, by plugin. */
  readonly memory: Map<string, unknown>
}

export interface MutatingRequest extends AdmissionRequest {
  readonly object: UntypedObject
  readonly rounds: Rounds
}

export interface AdmissionPlugin {
  /** As the real server names it: `NamespaceLifecycle`. */
  readonly name: string
  /** The object as this plugin wants it, or itself. Raises a Refusal. */
  readonly mutate?: (state: ClusterState, request: MutatingRequest) => UntypedObject | Promise<UntypedObject>
  /** Raises a Refusal. */
  readonly validate?: (state: ClusterState, request: AdmissionRequest) => void | Promise<void>
  /** The last look, right before a change is stored: nothing can come between. Raises a Refusal. */
  readonly settle?: (state: ClusterState, request: AdmissionRequest) => void
}

/** At once, unless somebody outside must be asked. */
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
    // Most have nothing to say.
    if (outcome && outcome !== asked.object) asked = { ...request, object: outcome }
  }
  return asked.object
}

/** The same. */
export function checkAdmission(state: ClusterState, request: AdmissionRequest, from = 0): void | Promise<void> {
  const plugins = state.admission()
  for (let at = from; at < plugins.length; at++) {
    const outcome = plugins[at]!.validate?.(state, request)
    if (outcome instanceof Promise) return outcome.then(() => checkAdmission(state, request, at + 1))
  }
}

/** How a refusal calls an object that may not have its name yet. */
export function shownName({ name, object }: AdmissionRequest): string {
  return name || object?.metadata.name || object?.metadata.generateName || 'Unknown'
}

/** To be called in one go with storing the object. */
export function settleAdmission(state: ClusterState, request: AdmissionRequest): void {
  for (const { settle } of state.admission()) settle?.(state, request)
}
