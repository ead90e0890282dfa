/**
 * Quota in trees: a node has its own quota of each resource, borrows what its ancestors have left, and lends what it does
 * not use. All trees of a cluster are in one `QuotaTree`.
 *
 * The arithmetic is that of Kueue's cohorts. The quota trees of MCAD are the same with other words: a hard limit is a
 * borrowing limit of zero, and the quota of a parent includes that of its children.
 */
import type { ResourceAmounts } from '../../../kube/scheduling/pod-needs.ts'
import {
  type QuotaAccount,
  addUsage,
  availableIn,
  type QuotaLedger,
  makeAccounts,
  potentialOf,
  removeUsage,
} from './quota-accounts.ts'
import { type QueuePolicies, queueDefaults, type QuotaNode } from './quota-node.ts'

/** Amounts that a workload uses of one node. */
export interface NodeCharge {
  readonly node: string
  readonly amounts: ResourceAmounts
}

/** A resource that a node has too little of. */
interface QuotaShortage {
  readonly node: string
  readonly resource: string
  readonly requested: number
  readonly available: number
}

/** How much a node borrows of what its parent could lend. A node of weight 0 borrows last, whatever it borrows. */
interface FairShare {
  readonly isUnweighted: boolean
  readonly ratio: number
}

export interface QuotaTree {
  /** Incremented when nodes change. */
  readonly version: number
  /** Replaces all nodes. Usage is kept, also that of a node that is gone, or above a quota that shrank. */
  setNodes(nodes: readonly QuotaNode[]): void
  has(name: string): boolean
  node(name: string): QuotaNode | undefined
  /** With the defaults, also of a node that does not exist. */
  policies(name: string): QueuePolicies
  /** The tree of a node, by its root; undefined for a node that does not exist. */
  rootOf(name: string): string | undefined
  /** Adds to the usage of a node, in both ledgers or in one; a negative factor takes it away. */
  use(name: string, amounts: ResourceAmounts, factor: 1 | -1, ledger?: QuotaLedger): void
  /** The least of both ledgers. Negative after a quota shrank below its usage; 0 for a node that does not exist. */
  available(name: string, resource: string, ledger?: QuotaLedger): number
  /** The first resource that is too short for all of these. */
  shortage(charges: readonly NodeCharge[], ledger?: QuotaLedger): QuotaShortage | undefined
  /** Whether a node uses more of a resource than its own quota. */
  isBorrowing(name: string, resource: string): boolean
  /** Whether a node would use more than its own quota with this charge. */
  wouldBorrow(charge: NodeCharge): boolean
  /** Whether a node, or an ancestor of it, would stay within its quota of a resource with this charge, as planned. */
  hasRight(charge: NodeCharge): boolean
  /**
   * Whether a node has a right to what another one uses, as planned: below their common ancestor the first one stays within its
   * quota, and the other one borrows at each level. `any`: the first one may borrow, too.
   */
  mayReclaim(name: string, from: string, resource: string, any?: boolean): boolean
  /** The shares of two nodes below their common ancestor, as planned; undefined if there is none. */
  shares(name: string, other: string): readonly [FairShare, FairShare] | undefined
}

const both: readonly QuotaLedger[] = ['now', 'planned']

export function createQuotaTree(): QuotaTree {
  let nodes = new Map<string, QuotaNode>()
  let policies = new Map<string, QueuePolicies>()
  let accounts: ReturnType<typeof makeAccounts> = new Map()
  /** Ancestors of a node from itself to its root. */
  let ways = new Map<string, readonly string[]>()
  let version = 0
  /** Usage by node and resource, however it is counted: what remains when the tree changes. */
  const used: Record<QuotaLedger, Map<string, Map<string, number>>> = { now: new Map(), planned: new Map() }
  /** Usage that differs between the ledgers, by node and resource. While there is none, one answer is that of both. */
  const differences = new Set<string>()

  const account = (name: string, resource: string): QuotaAccount | undefined => accounts.get(name)?.get(resource)

  const wayOf = (name: string): readonly string[] => {
    const known = ways.get(name)
    if (known) return known
    const way: string[] = []
    const onWay = new Set<string>()
    for (let at: string | undefined = name; at !== undefined && accounts.has(at) && !onWay.has(at);) {
      way.push(at)
      onWay.add(at)
      at = nodes.get(at)?.parent
    }
    ways.set(name, way)
    return way
  }

  /** The parts of both ways below their common ancestor. */
  const branches = (name: string, other: string): readonly [readonly string[], readonly string[]] | undefined => {
    const [own, others] = [wayOf(name), wayOf(other)]
    const above = new Set(own)
    const at = others.findIndex((one) => above.has(one))
    if (at === -1) return undefined
    return [own.slice(0, own.indexOf(others[at]!)), others.slice(0, at)]
  }

  const useIn = (name: string, amounts: ResourceAmounts, factor: 1 | -1, ledger: QuotaLedger): void => {
    const all = used[ledger]
    const own = all.get(name) ?? new Map<string, number>()
    all.set(name, own)
    for (const [resource, amount] of amounts) {
      if (amount === 0) continue
      const sum = (own.get(resource) ?? 0) + factor * amount
      if (sum === 0) own.delete(resource)
      else own.set(resource, sum)
      const one = account(name, resource)
      if (one && factor > 0) addUsage(one, amount, ledger)
      else if (one) removeUsage(one, amount, ledger)
    }
    if (own.size === 0) all.delete(name)
  }

  const availableOf = (name: string, resource: string, ledger?: QuotaLedger): number => {
    const one = account(name, resource)
    if (!one) return 0
    if (ledger) return availableIn(one, ledger)
    const now = availableIn(one, 'now')
    return differences.size === 0 ? now : Math.min(now, availableIn(one, 'planned'))
  }

  const shareOf = (name: string): FairShare => {
    let most = 0
    const borrowed = new Map<string, readonly [number, number]>()
    for (const [key, { parent, usage, subtree }] of accounts.get(name) ?? []) {
      if (!parent) continue
      const resource = key.slice(key.indexOf(':') + 1)
      const [before, lendable] = borrowed.get(resource) ?? [0, 0]
      borrowed.set(resource, [before + Math.max(0, usage.planned - subtree), lendable + potentialOf(parent)])
    }
    for (const [amount, lendable] of borrowed.values())
      if (amount > 0) most = Math.max(most, lendable > 0 ? (amount * 1000) / lendable : Infinity)
    const weight = nodes.get(name)?.policies?.weight ?? 1
    if (weight === 0) return { isUnweighted: most > 0, ratio: most }
    return { isUnweighted: false, ratio: most / weight }
  }

  return {
    get version() {
      return version
    },
    setNodes(all) {
      nodes = new Map(all.map((node) => [node.name, node]))
      policies = new Map(all.map((node) => [node.name, Object.assign({}, queueDefaults, node.policies)]))
      accounts = makeAccounts(all)
      ways = new Map()
      version++
      for (const ledger of both)
        for (const [name, amounts] of used[ledger])
          for (const [resource, amount] of amounts) {
            const one = account(name, resource)
            if (one) addUsage(one, amount, ledger)
          }
    },
    has: (name) => nodes.has(name),
    node: (name) => nodes.get(name),
    policies: (name) => policies.get(name) ?? queueDefaults,
    rootOf: (name) => wayOf(name).at(-1),
    use(name, amounts, factor, ledger) {
      if (ledger === undefined) for (const one of both) useIn(name, amounts, factor, one)
      else {
        useIn(name, amounts, factor, ledger)
        for (const resource of amounts.keys()) {
          const key = `${name}\n${resource}`
          if (used.now.get(name)?.get(resource) === used.planned.get(name)?.get(resource)) differences.delete(key)
          else differences.add(key)
        }
      }
    },
    available: availableOf,
    shortage(charges, ledger) {
      for (const { node, amounts } of charges)
        for (const [resource, requested] of amounts) {
          if (requested === 0) continue
          const available = availableOf(node, resource, ledger)
          if (requested > available) return { node, resource, requested, available }
        }
      return undefined
    },
    isBorrowing(name, resource) {
      const own = account(name, resource)
      return own !== undefined && own.usage.now > own.subtree
    },
    wouldBorrow({ node, amounts }) {
      for (const [resource, amount] of amounts) {
        const own = account(node, resource)
        if (own && amount > 0 && own.usage.planned + amount > own.subtree) return true
      }
      return false
    },
    hasRight({ node, amounts }) {
      for (const [resource, amount] of amounts) {
        let rest = amount
        for (let at = account(node, resource); at?.parent && rest > 0; at = at.parent) {
          if (at.usage.planned + rest <= at.subtree) return true
          rest -= Math.max(0, at.kept - at.usage.planned)
        }
      }
      return false
    },
    mayReclaim(name, from, resource, any = false) {
      const [own, others] = branches(name, from) ?? [[], []]
      if (own.length === 0 || others.length === 0) return false
      const isOver = (node: string): boolean => {
        const one = account(node, resource)
        return one !== undefined && one.usage.planned > one.subtree
      }
      return (any || !isOver(own.at(-1)!)) && others.every(isOver)
    },
    shares(name, other) {
      const found = branches(name, other)
      const [own, others] = [found?.[0].at(-1), found?.[1].at(-1)]
      return own === undefined || others === undefined ? undefined : [shareOf(own), shareOf(others)]
    },
  }
}

/** Negative if the first share is the smaller one. */
export function compareShares(a: FairShare, b: FairShare): number {
  return Number(a.isUnweighted) - Number(b.isUnweighted) || (a.ratio === b.ratio ? 0 : a.ratio - b.ratio)
}
