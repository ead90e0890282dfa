/**
 * The graph as rules that the API server itself enforces: a wish that cannot be reached from where the application is
 * gets refused when it is written, with the wishes that can.
 *
 * A rule looks only at wishes that *change*. The operator's reports must always get through: an application that went
 * where its wish can no longer be reached is the truth, however unwelcome.
 */
import type { ValidationRule } from '../../kube/types/apiextensions/v1.ts'
import { type LifecycleGraph, waysOut } from './graph.ts'
import { reachableFrom } from './route.ts'

export function wishRules(graph: LifecycleGraph): readonly ValidationRule[] {
  const { nodes, wishes } = graph
  return [...nodes.keys()].flatMap((state) => {
    const allowed = reachableWishes(graph, state)
    // A rule that refuses nothing only costs time.
    return allowed.length === wishes.length ? [] : [ruleFor(state, allowed)]
  })
}

/** The wishes that can come true from here. */
export function reachableWishes({ nodes, wishes }: LifecycleGraph, state: string): readonly string[] {
  const node = nodes.get(state)
  const exits = node ? waysOut(node).map((edge) => edge.state) : []
  const reached = reachableFrom(nodes, exits)
  return wishes.filter((wish) => wish === state || reached.has(wish))
}

function ruleFor(state: string, allowed: readonly string[]): ValidationRule {
  const unchanged = 'has(oldSelf.spec.state) && self.spec.state == oldSelf.spec.state'
  return {
    rule: [
      '!has(self.spec) || !has(self.spec.state)',
      '!has(oldSelf.status) || !has(oldSelf.status.lifecycle)',
      `oldSelf.status.lifecycle.state != '${state}'`,
      `(has(oldSelf.spec) && ${unchanged})`,
      `self.spec.state in [${allowed.map((wish) => `'${wish}'`).join(', ')}]`,
    ].join(' || '),
    message: `the application is ${state}: from there ${listed(allowed)} can be wished`,
    fieldPath: '.spec.state',
    reason: 'FieldValueInvalid',
  }
}

function listed(wishes: readonly string[]): string {
  return wishes.length === 0 ? 'nothing' : `only ${wishes.join(', ')}`
}
