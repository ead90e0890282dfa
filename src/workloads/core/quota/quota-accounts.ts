/**
 * The arithmetic of a quota tree: one account for each resource of each node.
 *
 * What a node uses beyond the quota that it keeps for itself counts in its parent, too. So one look at the ancestors answers what is
 * available, and no question walks over siblings. Using an amount lowers what is available by exactly that amount, so that "does it
 * fit" and "is it still positive after use" are the same question.
 */
import { type QuotaNode, quotaKey } from './quota-node.ts'

/**
 * Usage is counted twice. `now`: what runs, and what is leaving. `planned`: without what is leaving, and with the workloads that it
 * makes room for. What starts has to fit both.
 */
export type QuotaLedger = 'now' | 'planned'

/** One resource of one node. */
export interface QuotaAccount {
  readonly parent: QuotaAccount | undefined
  readonly depth: number
  readonly borrowing: number
  readonly lending: number
  /** Its own quota and what its descendants lend. */
  subtree: number
  /** What of it is not lent to others. */
  kept: number
  /** Its own usage, and what its descendants use beyond what they keep. */
  readonly usage: Record<QuotaLedger, number>
}

type Accounts = Map<string, Map<string, QuotaAccount>>

/** Accounts by node, by resource. A circle of parents is cut where it closes: nothing is endless. */
export function makeAccounts(nodes: readonly QuotaNode[]): Accounts {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const limits = new Map(nodes.map((node) => [node.name, limitsOf(node)]))
  const made: Accounts = new Map()
  const keysOf = keysByTree(nodes, byName, limits)
  for (const first of nodes) {
    // From the root down: a way as long as all nodes is no deep recursion.
    const way: QuotaNode[] = []
    const onWay = new Set<string>()
    for (let at: QuotaNode | undefined = first; at && !made.has(at.name) && !onWay.has(at.name);) {
      way.push(at)
      onWay.add(at.name)
      at = at.parent === undefined ? undefined : byName.get(at.parent)
    }
    for (const node of way.toReversed()) {
      const above = node.parent === undefined ? undefined : made.get(node.parent)
      const own = new Map<string, QuotaAccount>()
      for (const key of keysOf(node.name)) {
        const { nominal = 0, borrowing = Infinity, lending = Infinity } = limits.get(node.name)!.get(key) ?? {}
        const parent = above?.get(key)
        const depth = parent ? parent.depth + 1 : 0
        own.set(key, { parent, depth, borrowing, lending, subtree: nominal, kept: 0, usage: { now: 0, planned: 0 } })
      }
      made.set(node.name, own)
    }
  }
  const deepestFirst = made
    .values()
    .flatMap((own) => own.values())
    .toArray()
    .toSorted((a, b) => b.depth - a.depth)
  for (const account of deepestFirst) {
    account.kept = Math.max(0, account.subtree - account.lending)
    if (account.parent) account.parent.subtree += account.subtree - account.kept
  }
  return made
}

/** The resources of a whole tree: a node without quota of its own borrows them. */
function keysByTree(
  nodes: readonly QuotaNode[],
  byName: ReadonlyMap<string, QuotaNode>,
  limits: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
): (name: string) => ReadonlySet<string> {
  const roots = new Map<string, string>()
  const rootOf = (name: string): string => {
    const way: string[] = []
    const onWay = new Set<string>()
    let at = name
    while (!roots.has(at) && !onWay.has(at)) {
      way.push(at)
      onWay.add(at)
      const parent = byName.get(at)?.parent
      if (parent === undefined || !byName.has(parent)) break
      at = parent
    }
    const root = roots.get(at) ?? at
    for (const one of way) roots.set(one, root)
    return root
  }
  const keys = new Map<string, Set<string>>()
  for (const { name } of nodes) {
    const own = keys.get(rootOf(name)) ?? new Set<string>()
    keys.set(rootOf(name), own)
    for (const key of limits.get(name)!.keys()) own.add(key)
  }
  return (name) => keys.get(rootOf(name))!
}

function limitsOf({ limits = new Map(), groups = [] }: QuotaNode): NonNullable<QuotaNode['limits']> {
  if (groups.length === 0) return limits
  const all = new Map(limits)
  for (const { flavors } of groups)
    for (const flavor of flavors)
      for (const [resource, limit] of flavor.limits) all.set(quotaKey(flavor.name, resource), limit)
  return all
}

export function addUsage(account: QuotaAccount, amount: number, ledger: QuotaLedger): void {
  let rest = amount
  for (let at: QuotaAccount | undefined = account; at && rest > 0; at = at.parent) {
    const local = Math.max(0, at.kept - at.usage[ledger])
    at.usage[ledger] += rest
    rest -= local
  }
}

export function removeUsage(account: QuotaAccount, amount: number, ledger: QuotaLedger): void {
  let rest = amount
  for (let at: QuotaAccount | undefined = account; at && rest > 0; at = at.parent) {
    const above = at.usage[ledger] - at.kept
    at.usage[ledger] -= rest
    rest = Math.min(rest, above)
  }
}

export function availableIn(account: QuotaAccount, ledger: QuotaLedger): number {
  let [local, least] = [0, Infinity]
  for (let at = account; ;) {
    const { parent, subtree, kept, borrowing } = at
    const usage = at.usage[ledger]
    if (!parent) return Math.min(least, local + subtree - usage)
    local += Math.max(0, kept - usage)
    least = Math.min(least, local + subtree - kept - Math.max(0, usage - kept) + borrowing)
    at = parent
  }
}

/** What a node could use if nothing else ran. */
export function potentialOf(account: QuotaAccount): number {
  let [local, least] = [0, Infinity]
  for (let at = account; ;) {
    const { parent, subtree, kept, borrowing } = at
    if (!parent) return Math.min(least, local + subtree)
    local += kept
    least = Math.min(least, local + subtree - kept + borrowing)
    at = parent
  }
}
