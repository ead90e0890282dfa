/** Helm hooks: objects that run at an event of an installation and are no part of it, such as a Job that migrates a database. */
import type { KubeObject } from '../../kube/object.ts'
import { compareInstallOrder } from './kind-order.ts'

const events = new Set(
  ['install', 'upgrade', 'rollback', 'delete'].flatMap((action) => [`pre-${action}`, `post-${action}`]),
)
const policies = ['before-hook-creation', 'hook-succeeded', 'hook-failed'] as const

/** What happens to an installation. */
export type HookAction = 'install' | 'upgrade' | 'rollback' | 'delete'
export type HookEvent = `${'pre' | 'post'}-${HookAction}` | 'test'
type HookDeletePolicy = (typeof policies)[number]

export interface HelmHook {
  readonly object: KubeObject
  /** Empty: an event that Helm does not know; the hook never runs. */
  readonly events: readonly HookEvent[]
  /** Hooks of an event run one after another, the lightest first. */
  readonly weight: number
  /** When it is deleted. Helm's default: before the next run of the hook. */
  readonly deletePolicies: readonly HookDeletePolicy[]
}

/** The hook in an object; undefined if the object is a part of the installation. */
export function hookOf(object: KubeObject): HelmHook | undefined {
  const { annotations = {} } = object.metadata
  if (!Object.hasOwn(annotations, 'helm.sh/hook')) return undefined
  const named = wordsOf(annotations['helm.sh/hook']).map((word) => (word === 'test-success' ? 'test' : word))
  const isKnown = named.every(isHookEvent)
  const given = wordsOf(annotations['helm.sh/hook-delete-policy']).filter(isDeletePolicy)
  return {
    object,
    // As Helm does, which drops a hook with one unknown event.
    events: isKnown ? [...new Set(named as readonly HookEvent[])] : [],
    weight: weightOf(annotations['helm.sh/hook-weight']),
    deletePolicies: given.length === 0 ? ['before-hook-creation'] : [...new Set(given)],
  }
}

/** Hooks of an event in the order in which they run: by weight, kind and name. */
export function hooksFor(event: HookEvent, hooks: readonly HelmHook[]): readonly HelmHook[] {
  return hooks
    .filter((hook) => hook.events.includes(event))
    .toSorted((one, other) => one.weight - other.weight || compareInstallOrder(one.object, other.object))
}

function wordsOf(text: unknown): readonly string[] {
  return typeof text === 'string' ? text.split(',').map((word) => word.trim().toLowerCase()) : []
}

function isHookEvent(word: string): word is HookEvent {
  return word === 'test' || events.has(word)
}

function isDeletePolicy(word: string): word is HookDeletePolicy {
  return policies.some((policy) => policy === word)
}

/** Helm takes a weight that is no integer for zero. */
function weightOf(text: unknown): number {
  return typeof text === 'string' && /^[+-]?\d{1,9}$/.test(text) ? Number(text) : 0
}
