/** What of a revision is embedded for an Installation: phases for the action under way, policies, ownership. */
import { type Condition, findCondition } from '../../kube/meta/condition.ts'
import { type Health, healthOf } from '../../kube/meta/health.ts'
import { kindOf } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { EmbeddedObject, EmbeddedPhase } from '../../operator/embedded/embedded-set.ts'
import { type HookAction, hookOf } from '../phase/hook.ts'
import { healthWith } from '../phase/health-rules.ts'
import { isBuiltInGroup } from '../phase/kind-order.ts'
import { hookPhases, phasesOf } from '../phase/phases.ts'
import { holderLabel, objectPlace } from './holder.ts'
import { createOnce, isCreatedOnce, isLeftToPeople, managedAnnotation, policyAnnotation } from './object-annotations.ts'
import type { InstallationAttempt, InstallationSpec } from './installation.ts'
import { waveOf } from '../phase/wave.ts'
import type { RevisionContent, RevisionItem } from './revision.ts'

const hookAnnotation = 'platform.muster.dev/hook-run'

interface PhaseOptions {
  readonly spec: Pick<InstallationSpec, 'drift' | 'crds' | 'health' | 'adopt'>
  /** The namespace of the release. */
  readonly namespace: string | undefined
  /** Undefined: no hooks run. */
  readonly action: Exclude<HookAction, 'delete'> | undefined
  /** Tells one run of the hooks from another. */
  readonly run: string
  /** The live object of an embedded one. */
  readonly live: (object: UntypedObject) => UntypedObject | undefined
  /** `createdOnce` of the status. */
  readonly createdOnce: readonly string[]
}

export function installedPhases({ items }: RevisionContent, options: PhaseOptions): readonly EmbeddedPhase[] {
  const { action, run } = options
  const byObject = new Map(items.map((item) => [item.object, item]))
  const hooks = items.flatMap(({ object }) => hookOf(object) ?? [])
  const own = items.filter(({ object }) => hookOf(object) === undefined).map(({ object }) => object)
  const phases = phasesOf(own, action === undefined ? undefined : { action, hooks })
  return phases.map(({ name, objects, hook }) => ({
    name,
    objects: objects.map((object) =>
      hook
        ? embeddedHook(object as UntypedObject, run)
        : embeddedObject(byObject.get(object as UntypedObject)!, options),
    ),
  }))
}

interface RemovalHooks {
  readonly before: readonly EmbeddedPhase[]
  readonly after: readonly EmbeddedPhase[]
}

/** The hooks that run before anything is removed, and when all of it is gone. */
export function removalHooks({ items }: RevisionContent): RemovalHooks {
  const hooks = items.flatMap(({ object }) => hookOf(object) ?? [])
  const phases = (event: 'pre-delete' | 'post-delete'): readonly EmbeddedPhase[] =>
    hookPhases(event, hooks).map(({ name, objects }) => ({
      name,
      objects: objects.map((object) => embeddedHook(object as UntypedObject, event)),
    }))
  return { before: phases('pre-delete'), after: phases('post-delete') }
}

/** Whether hooks run when the content is active again after a failed upgrade. */
export function hasRollbackHooks({ items }: RevisionContent): boolean {
  return items.some(({ object }) => hookOf(object)?.events.some((event) => event.endsWith('-rollback')) ?? false)
}

function embeddedHook(object: UntypedObject, run: string): EmbeddedObject {
  const { metadata } = object
  const annotations = { ...metadata.annotations, [hookAnnotation]: run }
  return { object: { ...object, metadata: { ...metadata, annotations } }, policy: 'recreate', health: hookHealth }
}

/** A hook is over when its Job or Pod has ended. */
function hookHealth(object: UntypedObject, now: number): Health {
  const status = (object['status'] ?? {}) as { readonly phase?: string; readonly conditions?: readonly Condition[] }
  const is = (type: string): boolean => findCondition(status.conditions, type)?.status === 'True'
  const isJob = object.kind === 'Job'
  if (!isJob && object.kind !== 'Pod') return healthOf(object, now)
  if (isFailedHook(object)) {
    const { message = 'The hook failed.' } = findCondition(status.conditions, 'Failed') ?? {}
    return { status: 'Failed', reason: 'HookFailed', message }
  }
  return (isJob ? is('Complete') : status.phase === 'Succeeded')
    ? { status: 'Current', reason: 'Completed', message: 'It has completed.' }
    : { status: 'InProgress', reason: 'Running', message: 'The hook has not completed yet.' }
}

function isFailedHook(object: UntypedObject): boolean {
  const status = (object['status'] ?? {}) as { readonly phase?: string; readonly conditions?: readonly Condition[] }
  if (object.kind === 'Job') return findCondition(status.conditions, 'Failed')?.status === 'True'
  return object.kind === 'Pod' && status.phase === 'Failed'
}

function embeddedObject(item: RevisionItem, options: PhaseOptions): EmbeddedObject {
  const { object } = item
  const { spec, live, namespace } = options
  const found = live(object)
  const managed = found?.metadata.annotations?.[managedAnnotation]
  return {
    object,
    policy: (found && isLeftToPeople(found)) || isOfUsers(object, options) ? 'ignore' : policyOf(item, spec),
    yields: managed === 'true' ? [] : yieldedFields(object, spec),
    ...(spec.health.length > 0 && { health: healthWith(spec.health) }),
    ...(spec.adopt && { adopts: (other) => isAdopted(other, spec.adopt!, namespace) }),
  }
}

/** It was created before: whether it still exists is a matter of users. */
function isOfUsers(object: UntypedObject, { createdOnce, namespace: fallback }: PhaseOptions): boolean {
  if (!isCreatedOnce(object)) return false
  const { kind, metadata } = object
  const { name, namespace = fallback } = metadata
  return [objectPlace({ kind, name, namespace }), objectPlace({ kind, name })].some((one) => createdOnce.includes(one))
}

/** Helm says in each object which release it belongs to. An object of another Installation is never taken. */
function isAdopted(
  { metadata }: UntypedObject,
  { helmRelease, anyOwner }: NonNullable<InstallationSpec['adopt']>,
  namespace: string | undefined,
): boolean {
  const { annotations = {}, labels = {} } = metadata
  if (labels[holderLabel] !== undefined) return false
  const isOfRelease =
    helmRelease !== undefined &&
    annotations['meta.helm.sh/release-name'] === helmRelease &&
    annotations['meta.helm.sh/release-namespace'] === namespace
  return anyOwner || isOfRelease
}

export function policyOf(
  { object, isCrdFile = false }: RevisionItem,
  { crds }: Pick<InstallationSpec, 'crds'>,
): NonNullable<EmbeddedObject['policy']> {
  if (isCrdFile) return crds === 'skip' ? 'ignore' : crds
  const policy = object.metadata.annotations?.[policyAnnotation]
  if (policy === createOnce) return 'create-only'
  return policy === 'create-only' || policy === 'ignore' ? policy : 'apply'
}

function yieldedFields(object: UntypedObject, { drift }: Pick<InstallationSpec, 'drift'>): readonly string[] {
  const { group, kind } = kindOf(object)
  const { name, namespace } = object.metadata
  const own: Readonly<Record<string, string | undefined>> = { group, kind, name, namespace }
  return drift.ignore
    .filter(({ target = {} }) => Object.entries(target).every(([key, value]) => own[key] === value))
    .flatMap(({ paths }) => paths)
}

/** Objects that stay when a revision leaves them out, and when the Installation is deleted. */
export function staysInstalled(object: UntypedObject): boolean {
  const { annotations = {} } = object.metadata
  return (
    annotations['helm.sh/resource-policy'] === 'keep' ||
    annotations['platform.muster.dev/prune'] === 'disabled' ||
    isLeftToPeople(object)
  )
}

/**
 * A hook stays until its next run, unless its policy deletes it; one that the content does not have goes.
 *
 * @param failedRun of an attempt that failed: its hooks stay, so that people can see why
 */
export function isKeptHook(object: UntypedObject, { items }: RevisionContent, failedRun: string | undefined): boolean {
  const run = object.metadata.annotations?.[hookAnnotation]
  if (run === undefined) return false
  const { kind, metadata } = object
  const isOfContent = items.some((item) => item.object.kind === kind && item.object.metadata.name === metadata.name)
  return (isOfContent || run === failedRun) && !isDeletedByPolicy(object)
}

export function isHookRun({ metadata }: UntypedObject): boolean {
  return metadata.annotations?.[hookAnnotation] !== undefined
}

/** Whether the delete policy of a hook says that it goes, now that it has ended. */
export function isDeletedByPolicy(object: UntypedObject): boolean {
  const policies = hookOf(object)?.deletePolicies ?? []
  return isFailedHook(object) ? policies.includes('hook-failed') : policies.includes('hook-succeeded')
}

/** A run of the hooks: a new one runs them again. */
export function hookRun({ revision, failures }: Pick<InstallationAttempt, 'revision' | 'failures'>): string {
  return `${revision}.${failures}`
}

/** Objects with a higher rank are deleted first: the reverse of the order in which they are created, the last wave first. */
export function removalRank(object: UntypedObject): number {
  return stageOf(object) * waveSpan + removalWave(object)
}

/** More than the waves from the lowest to the highest. */
const waveSpan = 4e9

function stageOf(object: UntypedObject): number {
  const { kind, metadata } = object
  if (metadata.annotations?.[hookAnnotation] !== undefined) return 6
  if (/WebhookConfiguration$|PolicyBinding$|^APIService$/.test(kind)) return 5
  if (kind === 'CustomResourceDefinition') return 1
  if (kind === 'Namespace') return 0
  // Its controller, which may have to finalize it, is removed after it.
  if (!isBuiltInGroup(kindOf(object).group)) return 4
  // Controllers need their rights until the objects that they finalize are gone.
  return /^(?:ServiceAccount|(?:Cluster)?Role(?:Binding)?)$/.test(kind) ? 2 : 3
}

/** A live object may have been annotated by a user: what is no wave must not keep it from being removed. */
function removalWave(object: UntypedObject): number {
  try {
    return waveOf(object)
  } catch {
    return 0
  }
}
