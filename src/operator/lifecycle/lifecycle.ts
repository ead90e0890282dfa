/**
 * A life cycle: the validated graph and everything derived from it: the fields and rules of the kind, and the types.
 *
 *     const life = defineLifecycle({ name: 'Database', start: 'start', end: 'ended', … })
 *     const Database = defineKind({ …, spec: { ...own, ...life.spec }, status: life.status, rules: life.rules })
 */
import type { CustomResourceColumnDefinition, ValidationRule } from '../../kube/types/apiextensions/v1.ts'
import type { Fields } from '../field.ts'
import { checkLifecycle } from './check.ts'
import { type LifecycleGraph, type LifecycleNodes, nodesOf, type StateDefinition } from './graph.ts'
import { wishRules } from './rules.ts'
import { type LifecycleSpecFields, type LifecycleStatusFields, lifecycleSpecFields, statusFields } from './status.ts'

export interface LifecycleOptions<Name extends string, Wish extends Name, Spec extends Fields> {
  /** The name of the application, for messages: `Database`. */
  readonly name: string
  /** The kind's own fields of the spec, so that guards and inputs know their types. */
  readonly own?: Spec
  /** The state that a new application enters first. */
  readonly start: NoInfer<Name>
  /** The state in which there is no application. */
  readonly end: NoInfer<Name>
  /** The states that `spec.state` may have. */
  readonly wishes: readonly Wish[]
  readonly defaultWish: NoInfer<Wish>
  readonly states: { readonly [K in Name]: StateDefinition<NoInfer<Name>, NoInfer<Spec>> }
}

export interface Lifecycle<
  Name extends string = string,
  Wish extends Name = Name,
  Spec extends Fields = Fields,
> extends LifecycleGraph {
  readonly start: Name
  readonly end: Name
  readonly wishes: readonly Wish[]
  readonly defaultWish: Wish
  readonly nodes: LifecycleNodes
  /** For the kind's spec: the desired state. */
  readonly spec: LifecycleSpecFields<Wish>
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
export function defineLifecycle<Name extends string, Wish extends Name, Spec extends Fields = Fields>(
  options: LifecycleOptions<Name, Wish, Spec>,
): Lifecycle<Name, Wish, Spec> {
  const { name, start, end, wishes, defaultWish } = options
  // `stepLifecycle` calls guards and inputs only with a spec that has the fields of `own`.
  const states = options.states as unknown as Readonly<Record<string, StateDefinition<string>>>
  const graph = { name, start, end, wishes, defaultWish, nodes: nodesOf(states) }
  checkLifecycle(graph)
  return {
    ...graph,
    spec: lifecycleSpecFields(wishes, defaultWish),
    status: statusFields(Object.keys(states) as Name[]),
    rules: wishRules(graph),
    columns: [
      { name: 'State', type: 'string', jsonPath: '.status.lifecycle.state' },
      { name: 'Wished', type: 'string', jsonPath: '.spec.state' },
    ],
  }
}
