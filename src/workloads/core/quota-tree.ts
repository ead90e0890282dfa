/**
 * Quota in trees: a node has its own quota of each resource, borrows what its ancestors have left, and lends what it does
 * not use.
 *
 * The arithmetic is that of Kueue's cohorts. The quota trees of MCAD are the same with other words: a hard limit is a
 * borrowing limit of zero, and the quota of a parent includes that of its children.
 *
 * What a node uses beyond the quota that it keeps for itself counts in its parent, too. So one look at the ancestors answers
 * what is available, and no question walks over siblings.
 */
import type { ResourceAmounts } from '../../kube/scheduling/pod-needs.ts'

export interface QuotaLimit {
  readonly nominal: number
  /** Beyond the nominal quota, from ancestors. Without it there is no limit. */
  readonly borrowing?: number
  /** Of the nominal quota, to others. Without it all is lent. */
  readonly lending?: number
}

export interface QuotaNode {
  readonly name: string
  readonly parent?: string
  /** A resource that is not listed has no quota here. */
  readonly limits: ReadonlyMap<string, QuotaLimit>
}

/** A resource that a queue has too little of. */
export interface QuotaShortage {
  readonly resource: string
  readonly requested: number
  readonly available: number
}

export interface QuotaTree {
  /** Replaces all nodes. Usage is kept, also that of a node that is gone, or above a quota that shrank. */
  setNodes(nodes: readonly QuotaNode[]): void
  has(name: string): boolean
  /** Adds to the usage of a node; a negative factor takes it away. */
  use(name: string, amounts: ResourceAmounts, factor: 1 | -1): void
  /** Negative after a quota shrank below its usage; 0 for a node that does not exist. */
  available(name: string, resource: string): number
  /** The first resource that is too short for these amounts. */
  shortage(name: string, amounts: ResourceAmounts): QuotaShortage | undefined
  /** Whether a node uses more of a resource than its own quota. */
  isBorrowing(name: string, resource: string): boolean
}

/** One resource of one node. */
interface Account {
  readonly parent: Account | undefined
  readonly depth: number
  readonly borrowing: number
  readonly lending: number
  /** Its own quota and what its descendants lend. */
  subtree: number
  /** What of it is not lent to others. */
  kept: number
  /** Its own usage, and what its descendants use beyond what they keep. */
  usage: number
}

export function createQuotaTree(): QuotaTree {
  /** Accounts by resource, by node. */
  let accounts = new Map<string, Map<string, Account>>()
  /** Usage by node and resource, however it is counted: what remains when the tree changes. */
  const used = new Map<string, Map<string, number>>()

  const account = (name: string, resource: string): Account | undefined => accounts.get(name)?.get(resource)

  const tree: QuotaTree = {
    setNodes(nodes) {
      accounts = makeAccounts(nodes)
      for (const [name, amounts] of used)
        for (const [resource, amount] of amounts) addUsage(account(name, resource), amount)
    },
    has: (name) => accounts.has(name),
    use(name, amounts, factor) {
      const own = used.get(name) ?? new Map<string, number>()
      used.set(name, own)
      for (const [resource, amount] of amounts) {
        const sum = (own.get(resource) ?? 0) + factor * amount
        if (sum === 0) own.delete(resource)
        else own.set(resource, sum)
        if (factor > 0) addUsage(account(name, resource), amount)
        else removeUsage(account(name, resource), amount)
      }
      if (own.size === 0) used.delete(name)
    },
    available: (name, resource) => availableIn(account(name, resource)),
    shortage(name, amounts) {
      for (const [resource, requested] of amounts) {
        if (requested === 0) continue
        const available = availableIn(account(name, resource))
        if (requested > available) return { resource, requested, available }
      }
      return undefined
    },
    isBorrowing(name, resource) {
      const own = account(name, resource)
      return own !== undefined && own.usage > own.subtree
    },
  }
  return tree
}

function makeAccounts(nodes: readonly QuotaNode[]): Map<string, Map<string, Account>> {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const resources = new Set(nodes.flatMap(({ limits }) => [...limits.keys()]))
  const made = new Map<string, Map<string, Account>>()
  // A circle of parents is cut where it closes: its nodes have their own quota, and nothing is endless.
  const make = (node: QuotaNode, below: ReadonlySet<string>): Map<string, Account> => {
    const known = made.get(node.name)
    if (known) return known
    const path = new Set([...below, node.name])
    const parent = node.parent !== undefined && !path.has(node.parent) ? byName.get(node.parent) : undefined
    const above = parent && make(parent, path)
    const own = new Map<string, Account>()
    for (const resource of resources) {
      const { nominal = 0, borrowing = Infinity, lending = Infinity } = node.limits.get(resource) ?? {}
      const parentAccount = above?.get(resource)
      const depth = parentAccount ? parentAccount.depth + 1 : 0
      own.set(resource, { parent: parentAccount, depth, borrowing, lending, subtree: nominal, kept: 0, usage: 0 })
    }
    made.set(node.name, own)
    return own
  }
  for (const node of nodes) make(node, new Set())
  const all = made.values().flatMap((own) => own.values())
  const deepestFirst = [...all].toSorted((a, b) => b.depth - a.depth)
  for (const account of deepestFirst) {
    account.kept = Math.max(0, account.subtree - account.lending)
    if (account.parent) account.parent.subtree += account.subtree - account.kept
  }
  return made
}

function addUsage(account: Account | undefined, amount: number): void {
  if (!account) return
  const local = Math.max(0, account.kept - account.usage)
  account.usage += amount
  if (amount > local) addUsage(account.parent, amount - local)
}

function removeUsage(account: Account | undefined, amount: number): void {
  if (!account) return
  const above = account.usage - account.kept
  account.usage -= amount
  if (above > 0) removeUsage(account.parent, Math.min(amount, above))
}

function availableIn(account: Account | undefined): number {
  if (!account) return 0
  const { parent, subtree, kept, usage, borrowing } = account
  if (!parent) return subtree - usage
  const local = Math.max(0, kept - usage)
  const borrowable = subtree - kept - Math.max(0, usage - kept) + borrowing
  return local + Math.min(availableIn(parent), borrowable)
}
