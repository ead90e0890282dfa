/**
 * A life cycle: the validated graph and everything derived from it: the fields and rules of the kind, and the types.
 *
 *     const life = defineLifecycle({ name: 'Database', start: 'start', end: 'ended', … })
 *     const Database = defineKind({ …, spec: { ...own, ...life.spec }, status: life.status, rules: life.rules })
 */
import type { CustomResourceColumnDefinition, ValidationRule } from '../../kube/types/apiextensions/v1.ts'
import type { ConfigSource, NeedsConfig } from '../config.ts'
import type { Fields } from '../kind/field.ts'
import { checkLifecycle } from './check.ts'
import { type LifecycleGraph, type LifecycleNodes, nodesOf, type StateDefinition } from './graph.ts'
import { desiredStateRules } from './rules.ts'
import { type LifecycleSpecFields, type LifecycleStatusFields, lifecycleSpecFields, statusFields } from './status.ts'

export interface LifecycleOptions<Name extends string, Desired extends Name, Spec extends Fields, Config = unknown> {
  /** The name of the application, for messages: `Database`. */
  readonly name: string
  /** The kind's own fields of the spec, so that guards and inputs know their types. */
  readonly own?: Spec
  /** The configuration of the operator, if guards or inputs read it: it types their `config`. */
  readonly config?: ConfigSource<Config>
  /** The state that a new application enters first. */
  readonly start: NoInfer<Name>
  /** The state in which there is no application. */
  readonly end: NoInfer<Name>
  /** The states that `spec.state` may have. */
  readonly desiredStates: readonly Desired[]
  readonly defaultState: NoInfer<Desired>
  readonly states: { readonly [K in Name]: StateDefinition<NoInfer<Name>, NoInfer<Spec>, NoInfer<Config>> }
}

export interface Lifecycle<
  Name extends string = string,
  Desired extends Name = Name,
  Spec extends Fields = Fields,
> extends LifecycleGraph {
  readonly start: Name
  readonly end: Name
  readonly desiredStates: readonly Desired[]
  readonly defaultState: Desired
  readonly nodes: LifecycleNodes
  /** The configuration that guards and inputs read. */
  readonly config: ConfigSource<unknown> | undefined
  /** For the kind's spec: the desired state. */
  readonly spec: LifecycleSpecFields<Desired>
  /** For the kind's status: the current state. */
  readonly status: LifecycleStatusFields<Name>
  /** For the kind: the API server rejects a desired state that cannot be reached. */
  readonly rules: readonly ValidationRule[]
  /** For the kind: what `kubectl get` shows. */
  readonly columns: readonly CustomResourceColumnDefinition[]
  /** For the compiler alone: nothing is ever stored here. */
  readonly [own]?: Spec
}

declare const own: unique symbol

/** The names of the states. */
export type StateOf<L> = L extends Lifecycle<infer Name, infer _Wish, infer _Spec> ? Name : never

/** @throws InvalidLifecycle with every problem of the graph */
export function defineLifecycle<
  Name extends string,
  Desired extends Name,
  Spec extends Fields = Fields,
  Config = unknown,
>(options: LifecycleOptions<Name, Desired, Spec, Config>): Lifecycle<Name, Desired, Spec> & NeedsConfig<Config> {
  const { name, start, end, desiredStates, defaultState } = options
  // `stepLifecycle` calls guards and inputs only with a spec that has the fields of `own`, and with this configuration.
  const states = options.states as unknown as Readonly<Record<string, StateDefinition<string>>>
  const graph = { name, start, end, desiredStates, defaultState, nodes: nodesOf(states) }
  checkLifecycle(graph)
  return {
    ...graph,
    config: options.config,
    spec: lifecycleSpecFields(desiredStates, defaultState),
    status: statusFields(Object.keys(states) as Name[]),
    rules: desiredStateRules(graph),
    columns: [
      { name: 'State', type: 'string', jsonPath: '.status.lifecycle.state' },
      { name: 'Desired', type: 'string', jsonPath: '.spec.state' },
    ],
  }
}
