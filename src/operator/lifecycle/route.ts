/**
 * Paths through the graph: the shortest one to a state, the reachable states, and the stable state that a transient one
 * leads to.
 */
import { type Edge, type LifecycleNode, type LifecycleNodes, onward, waysOut } from './graph.ts'

/**
 * The states after `from` on the shortest path to `to`; empty when it is there, undefined without a path. Of two
 * equally short paths the one that the author declared first.
 */
export function routeTo(nodes: LifecycleNodes, from: string, to: string): readonly string[] | undefined {
  if (from === to) return []
  const cameFrom = new Map<string, string>()
  // Exits after a failure count for the current state only; on the rest of the path transitions are expected to
  // succeed.
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

/** The states that are reachable from these, themselves included. */
export function reachableFrom(
  nodes: LifecycleNodes,
  from: readonly string[],
  exits: (node: LifecycleNode) => readonly Edge[] = onward,
): ReadonlySet<string> {
  const found = new Set(from)
  // Iterating a set includes elements that are added on the way.
  for (const name of found) {
    const node = nodes.get(name)
    for (const { state } of node ? exits(node) : []) found.add(state)
  }
  return found
}

/** The stable state that this one leads to; itself, if it is stable. */
export function restOf(nodes: LifecycleNodes, state: string): string {
  let at = state
  for (let leadsTo = nodes.get(at)?.leadsTo; leadsTo; leadsTo = nodes.get(at)?.leadsTo) at = leadsTo.state
  return at
}
