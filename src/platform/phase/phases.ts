/**
 * The order in which objects are applied. A phase begins when all objects of the one before are healthy; inside a phase objects
 * are applied one after another without waiting.
 *
 * Waves come first, in ascending order. Each has up to three phases:
 *
 * 1. definitions: CRDs and Namespaces, which must exist before anything that needs them;
 * 2. objects: all others in Helm's order of kinds, custom kinds last;
 * 3. interception: webhooks and APIServices, which break requests while their backends are not ready.
 *
 * A custom object never comes before its CRD, nor an object before its Namespace, whatever their waves say.
 */
import { isJsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { ownMember } from '../../kube/json-member.ts'
import { kindOf } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type HelmHook, type HookAction, hooksFor } from './hook.ts'
import { compareInstallOrder } from './kind-order.ts'
import { waveOf } from './wave.ts'

const stages = ['definitions', 'objects', 'interception'] as const
type Stage = (typeof stages)[number]

export interface InstallPhase {
  /** `wave 0: objects`, `pre-install hook migrate`. */
  readonly name: string
  readonly objects: readonly KubeObject[]
  /** The hook whose run is this phase. */
  readonly hook?: HelmHook
}

interface PhaseHooks {
  readonly action: Exclude<HookAction, 'delete'>
  readonly hooks: readonly HelmHook[]
}

/**
 * Phases of the objects, with the hooks of an action before and after them. They do not depend on the order of the objects.
 *
 * @throws InvalidWave
 */
export function phasesOf(
  objects: readonly KubeObject[],
  { action, hooks }: PhaseHooks = none,
): readonly InstallPhase[] {
  const phases = objectPhases(objects)
  const before = hookPhases(`pre-${action}`, hooks)
  // Hooks of an install may use the kinds and namespaces; those of an upgrade may have to prepare their change.
  const first = action === 'install' && phases[0]?.stage === 'definitions' ? 1 : 0
  return [
    ...phases.slice(0, first).map(({ phase }) => phase),
    ...before,
    ...phases.slice(first).map(({ phase }) => phase),
    ...hookPhases(`post-${action}`, hooks),
  ]
}

const none: PhaseHooks = { action: 'install', hooks: [] }

/** The hooks of an event, one after another. */
export function hookPhases(
  event: `${'pre' | 'post'}-${HookAction}`,
  hooks: readonly HelmHook[],
): readonly InstallPhase[] {
  return hooksFor(event, hooks).map((hook) => ({
    name: `${event} hook ${hook.object.metadata.name ?? ''}`,
    objects: [hook.object],
    hook,
  }))
}

interface StagedPhase {
  readonly stage: Stage
  readonly phase: InstallPhase
}

function objectPhases(objects: readonly KubeObject[]): readonly StagedPhase[] {
  const waveOfNeeded = neededWaves(objects)
  const byWave = new Map<number, KubeObject[]>()
  for (const object of objects) {
    const wave = Math.max(waveOf(object), waveOfNeeded(object))
    const own = byWave.get(wave) ?? []
    own.push(object)
    byWave.set(wave, own)
  }
  const waves = [...byWave].toSorted(([one], [other]) => one - other)
  return waves.flatMap(([wave, own]) =>
    stages.flatMap((stage) => {
      const staged = own.filter((object) => stageOf(object) === stage).toSorted(compareInstallOrder)
      return staged.length === 0 ? [] : [{ stage, phase: { name: `wave ${wave}: ${stage}`, objects: staged } }]
    }),
  )
}

const definitions = new Set(['/Namespace', 'apiextensions.k8s.io/CustomResourceDefinition'])
const interceptions = new Set([
  'apiregistration.k8s.io/APIService',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
])

function stageOf(object: KubeObject): Stage {
  const key = keyOfKind(object)
  return definitions.has(key) ? 'definitions' : interceptions.has(key) ? 'interception' : 'objects'
}

function keyOfKind(object: KubeObject): string {
  const { group, kind } = kindOf(object)
  return `${group}/${kind}`
}

/** The wave of what an object needs: its CRD and its Namespace, if they are among the objects. */
function neededWaves(objects: readonly KubeObject[]): (object: KubeObject) => number {
  const kinds = new Map<string, number>()
  const namespaces = new Map<string, number>()
  const note = (waves: Map<string, number>, key: string, wave: number): void => {
    waves.set(key, Math.max(wave, waves.get(key) ?? wave))
  }
  for (const object of objects) {
    const kind = keyOfKind(object)
    if (kind === '/Namespace') note(namespaces, object.metadata.name ?? '', waveOf(object))
    const defined = kind === 'apiextensions.k8s.io/CustomResourceDefinition' ? definedKind(object) : undefined
    if (defined !== undefined) note(kinds, defined, waveOf(object))
  }
  const least = Number.NEGATIVE_INFINITY
  return (object) => {
    // Definitions are objects of the cluster, also where a manifest gives them a namespace.
    if (stageOf(object) === 'definitions') return least
    return Math.max(kinds.get(keyOfKind(object)) ?? least, namespaces.get(object.metadata.namespace ?? '') ?? least)
  }
}

/** Group and kind that a CRD defines. */
function definedKind(crd: KubeObject): string | undefined {
  const spec = ownMember(asJson(crd), 'spec')
  const names = isJsonObject(spec) ? ownMember(spec, 'names') : undefined
  const group = isJsonObject(spec) ? ownMember(spec, 'group') : undefined
  const kind = isJsonObject(names) ? ownMember(names, 'kind') : undefined
  return typeof group === 'string' && typeof kind === 'string' ? `${group}/${kind}` : undefined
}
