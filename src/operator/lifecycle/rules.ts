/**
 * The graph as CEL rules: the API server rejects a desired state that cannot be reached from the current one, and lists
 * those that can.
 *
 * A rule applies only to a *changed* desired state. The operator's status writes must always pass: an application that
 * moved to where its desired state cannot be reached is a fact.
 */
import type { ValidationRule } from '../../kube/types/apiextensions/v1.ts'
import { type LifecycleGraph, waysOut } from './graph.ts'
import { reachableFrom } from './route.ts'

export function desiredStateRules(graph: LifecycleGraph): readonly ValidationRule[] {
  const { nodes, desiredStates } = graph
  return [...nodes.keys()].flatMap((state) => {
    const allowed = reachableStates(graph, state)
    // A rule that rejects nothing only costs time.
    return allowed.length === desiredStates.length ? [] : [ruleFor(state, allowed)]
  })
}

/** The desired states that can be reached from here. */
export function reachableStates({ nodes, desiredStates }: LifecycleGraph, state: string): readonly string[] {
  const node = nodes.get(state)
  const exits = node ? waysOut(node).map((edge) => edge.state) : []
  const reached = reachableFrom(nodes, exits)
  return desiredStates.filter((desired) => desired === state || reached.has(desired))
}

function ruleFor(state: string, allowed: readonly string[]): ValidationRule {
  const unchanged = 'has(oldSelf.spec.state) && self.spec.state == oldSelf.spec.state'
  return {
    rule: [
      '!has(self.spec) || !has(self.spec.state)',
      '!has(oldSelf.status) || !has(oldSelf.status.lifecycle)',
      `oldSelf.status.lifecycle.state != '${state}'`,
      `(has(oldSelf.spec) && ${unchanged})`,
      `self.spec.state in [${allowed.map((desired) => `'${desired}'`).join(', ')}]`,
    ].join(' || '),
    message: `the application is ${state}: from there ${listed(allowed)} can be requested`,
    fieldPath: '.spec.state',
    reason: 'FieldValueInvalid',
  }
}

function listed(desiredStates: readonly string[]): string {
  return desiredStates.length === 0 ? 'nothing' : `only ${desiredStates.join(', ')}`
}
