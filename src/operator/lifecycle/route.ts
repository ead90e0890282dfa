/** Ways through the graph: the shortest one to a state, what can be reached at all, and where a passing state ends up. */
import { type Edge, type LifecycleNode, type LifecycleNodes, onward, waysOut } from './graph.ts'

/**
 * The states after `from` on the shortest way to `to`; empty when it is there, undefined when there is no way. Of two
 * equally long ones, the way that the author wrote first.
 */
export function routeTo(nodes: LifecycleNodes, from: string, to: string): readonly string[] | undefined {
  if (from === to) return []
  const cameFrom = new Map<string, string>()
  // Only the state one is in may be left as after a failure; on the way everything is expected to go well.
  const queue: (readonly [string, (node: LifecycleNode) => readonly Edge[]])[] = [[from, waysOut]]
  for (const [name, exits] of queue) {
    const node = nodes.get(name)
    for (const { state } of node ? exits(node) : []) {
      if (state === from || cameFrom.has(state)) continue
      cameFrom.set(state, name)
      if (state === to) return trace(cameFrom, from, to)
      queue.push([state, onward])
    }
  }
  return undefined
}

function trace(cameFrom: ReadonlyMap<string, string>, from: string, to: string): readonly string[] {
  const way: string[] = []
  for (let at: string | undefined = to; at !== undefined && at !== from; at = cameFrom.get(at)) way.unshift(at)
  return way
}

/** Everything that can be reached from these, themselves included. */
export function reachableFrom(
  nodes: LifecycleNodes,
  from: readonly string[],
  exits: (node: LifecycleNode) => readonly Edge[] = onward,
): ReadonlySet<string> {
  const found = new Set(from)
  // A set is walked in the order of insertion, what is added on the way included.
  for (const name of found) {
    const node = nodes.get(name)
    for (const { state } of node ? exits(node) : []) found.add(state)
  }
  return found
}

/** The resting state that this one leads to by itself: itself, if it rests. */
export function restOf(nodes: LifecycleNodes, state: string): string {
  let at = state
  for (let leadsTo = nodes.get(at)?.leadsTo; leadsTo; leadsTo = nodes.get(at)?.leadsTo) at = leadsTo.state
  return at
}
