/**
 * The graph of an application's life: its states, and how one leads to the next.
 *
 * A state is *resting* (`running`: it stays until somebody wishes otherwise) or *passing* (`start`: it leads on by itself
 * when what it is for is done). Entering a state may take an action, which is long, done by the application's sidecar and
 * may fail. All of it is data: it can be checked, drawn, walked, and made part of a CRD.
 */
import type { Json } from '../../kube/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { Fields, ReadObject } from '../field.ts'
import type { View } from '../view.ts'
import type { Observed } from './observation.ts'

/** What a guard or an input may look at. Frozen, all of it. */
export interface LifecycleContext<Spec extends Fields = Fields> {
  readonly cr: KubeObject & { readonly spec: ReadObject<Spec> }
  readonly view: View
  /** The application as it was seen last. */
  readonly observed: Observed
}

/** `true`, or why not yet. Asked anew at each reconcile. */
export type Guard<Spec extends Fields = Fields> = (context: LifecycleContext<Spec>) => true | string

/** A way to another state; with a guard, if there is a condition. */
export type Exit<Name extends string, Spec extends Fields = Fields> =
  | Name
  | { readonly state: Name; readonly guard: Guard<Spec> }

export interface ActionDefinition<Spec extends Fields = Fields> {
  /** What the sidecar calls it. */
  readonly name: string
  /**
   * Made once, when the state is entered, and kept in the CR's status until the action is over, so that it is resumed as
   * it was begun. No secrets, leadsTo: name the Secret instead. @default null
   */
  readonly input?: (context: LifecycleContext<Spec>) => Json
}

/** What to do when a state cannot be entered: its action failed, or it took too long. */
export interface OnFailure<Name extends string> {
  /** Further attempts after the first. @default 3 */
  readonly retries?: number
  /** The wait before the first of them; it doubles each time. @default 1000 */
  readonly firstMs?: number
  /** The longest wait. @default 60_000 */
  readonly mostMs?: number
  /** Where to go after the last. @default nowhere: it waits for a change of the spec */
  readonly goTo?: Name
}

export interface StateDefinition<Name extends string, Spec extends Fields = Fields> {
  readonly description?: string
  /** Makes it a passing state: where it leads by itself. */
  readonly leadsTo?: Exit<Name, Spec>
  /** Where one may go from here; from a passing state: when it failed. @default nowhere */
  readonly to?: readonly Exit<Name, Spec>[]
  /** Done on entering. */
  readonly action?: ActionDefinition<Spec>
  /** How long an attempt to enter may take, until the application itself confirms it. @default 300_000 */
  readonly timeoutMs?: number
  readonly onFailure?: OnFailure<Name>
  /** The application gets there on its own (`unavailable`): nothing in the graph needs to lead there. @default false */
  readonly onItsOwn?: boolean
}

/** A way to another state, as the graph holds it. */
export interface Edge {
  readonly state: string
  readonly guard: Guard | undefined
}

/** A state, as the graph holds it: everything that was left out is filled in. */
export interface LifecycleNode {
  readonly name: string
  readonly description: string
  /** Passing states have it. */
  readonly leadsTo: Edge | undefined
  readonly to: readonly Edge[]
  readonly action: ActionDefinition | undefined
  readonly timeoutMs: number
  readonly onFailure: FailurePolicy
  readonly onItsOwn: boolean
}

export interface FailurePolicy {
  readonly retries: number
  readonly firstMs: number
  readonly mostMs: number
  readonly goTo: string | undefined
}

/** States by name: a map, because `constructor` may be one. */
export type LifecycleNodes = ReadonlyMap<string, LifecycleNode>

export interface LifecycleGraph {
  /** For messages: `Database`. */
  readonly name: string
  readonly start: string
  readonly end: string
  readonly wishes: readonly string[]
  readonly defaultWish: string
  readonly nodes: LifecycleNodes
}

export function nodesOf(states: Readonly<Record<string, StateDefinition<string>>>): LifecycleNodes {
  return new Map(Object.entries(states).map(([name, state]) => [name, nodeOf(name, state)]))
}

function nodeOf(name: string, state: StateDefinition<string>): LifecycleNode {
  const { description = '', leadsTo, to = [], action, timeoutMs = 300_000, onFailure = {}, onItsOwn = false } = state
  const { retries = 3, firstMs = 1000, mostMs = 60_000, goTo } = onFailure
  return {
    name,
    description,
    leadsTo: leadsTo === undefined ? undefined : edgeOf(leadsTo),
    to: to.map(edgeOf),
    action,
    timeoutMs,
    onFailure: { retries, firstMs, mostMs, goTo },
    onItsOwn,
  }
}

function edgeOf(exit: Exit<string>): Edge {
  return typeof exit === 'string' ? { state: exit, guard: undefined } : exit
}

/** Where a state leads when all goes well. */
export function onward({ leadsTo, to }: LifecycleNode): readonly Edge[] {
  return leadsTo ? [leadsTo] : to
}

/** Ways that are taken on purpose: all of a resting state; of a passing one those that are left when it failed. */
export function sideExits({ leadsTo, to, onFailure: { goTo } }: LifecycleNode): readonly Edge[] {
  return leadsTo && goTo !== undefined ? [...to, { state: goTo, guard: undefined }] : to
}

/** Every way out of the state that one is in. */
export function waysOut(node: LifecycleNode): readonly Edge[] {
  return node.leadsTo ? [node.leadsTo, ...sideExits(node)] : node.to
}
