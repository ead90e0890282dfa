/**
 * The life-cycle graph of an application: its states and transitions.
 *
 * A state is *stable* (`running`: it stays until another state is desired) or *transient* (`start`: it moves on when
 * its work is done). Entering a state may take an action, which is long, run by the application's sidecar, and may
 * fail. The graph is data: it can be checked, drawn, walked, and turned into CEL rules.
 */
import type { Json } from '../../kube/json.ts'
import type { Named } from '../../kube/object.ts'
import type { Fields, ReadObject } from '../kind/field.ts'
import type { View } from '../view/view.ts'
import type { Observed } from './observation.ts'

/** The context of guards and inputs. Frozen. */
export interface LifecycleContext<Spec extends Fields = Fields, Config = unknown> {
  readonly cr: Named & { readonly spec: ReadObject<Spec> }
  readonly view: View
  readonly config: Config
  /** The last observation of the application. */
  readonly observed: Observed
}

/** `true`, or why not yet. Evaluated at each reconcile. */
export type Guard<Spec extends Fields = Fields, Config = unknown> = (
  context: LifecycleContext<Spec, Config>,
) => true | string

/** A transition to another state; with a guard, if there is a condition. */
export type Exit<Name extends string, Spec extends Fields = Fields, Config = unknown> =
  | Name
  | { readonly state: Name; readonly guard: Guard<Spec, Config> }

interface ActionDefinition<Spec extends Fields = Fields, Config = unknown> {
  /** Its name in the sidecar's configuration. */
  readonly name: string
  /**
   * Computed once, when the state is entered, and kept in the CR's status until the action has ended, so that a retry
   * sends the same input. It must not hold secrets: name the Secret instead. @default null
   */
  readonly input?: (context: LifecycleContext<Spec, Config>) => Json
}

/** What to do when a state cannot be entered: its action failed or timed out. */
export interface OnFailure<Name extends string> {
  /** Further attempts after the first. @default 3 */
  readonly retries?: number
  /** The delay before the first retry; it doubles each time. @default 1000 */
  readonly firstMs?: number
  /** The longest wait. @default 60_000 */
  readonly mostMs?: number
  /** The next state after the last attempt. @default none: it waits for a change of the spec */
  readonly goTo?: Name
}

export interface StateDefinition<Name extends string, Spec extends Fields = Fields, Config = unknown> {
  readonly description?: string
  /** Makes the state transient: the state that it leads to. */
  readonly leadsTo?: Exit<Name, Spec, Config>
  /** The transitions from here; of a transient state: those after a failure. @default none */
  readonly to?: readonly Exit<Name, Spec, Config>[]
  /** Run on entering. */
  readonly action?: ActionDefinition<Spec, Config>
  /** The time-out of an attempt, up to the confirmation by the application. @default 300_000 */
  readonly timeoutMs?: number
  readonly onFailure?: OnFailure<Name>
  /** The application enters it by itself (`unavailable`): no transition needs to lead there. @default false */
  readonly onItsOwn?: boolean
}

/** A transition, normalized. */
export interface Edge {
  readonly state: string
  readonly guard: Guard | undefined
}

/** A state, normalized: with all defaults. */
export interface LifecycleNode {
  readonly name: string
  readonly description: string
  /** Set for transient states. */
  readonly leadsTo: Edge | undefined
  readonly to: readonly Edge[]
  readonly action: ActionDefinition | undefined
  readonly timeoutMs: number
  readonly onFailure: FailurePolicy
  readonly onItsOwn: boolean
}

interface FailurePolicy {
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
  readonly desiredStates: readonly string[]
  readonly defaultState: string
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

/** The transitions of a state that did not fail. */
export function onward({ leadsTo, to }: LifecycleNode): readonly Edge[] {
  return leadsTo ? [leadsTo] : to
}

/** Transitions that are chosen: all of a stable state; of a transient one those after a failure. */
export function sideExits({ leadsTo, to, onFailure: { goTo } }: LifecycleNode): readonly Edge[] {
  return leadsTo && goTo !== undefined ? [...to, { state: goTo, guard: undefined }] : to
}

/** All transitions out of the current state. */
export function waysOut(node: LifecycleNode): readonly Edge[] {
  return node.leadsTo ? [node.leadsTo, ...sideExits(node)] : node.to
}
