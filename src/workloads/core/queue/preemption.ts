/**
 * Whose place a waiting workload may take.
 *
 * In its own queue: lower priority, if the queue allows it. In other queues of its tree: borrowers, if its own queue stays within its
 * quota, or has a policy for borrowers that evict borrowers. No workload of a queue that stays within its quota leaves for another
 * queue. Priorities are compared as declared, not as they grow while waiting: otherwise two workloads could evict each other for ever.
 *
 * Borrowers of other queues come first, then the lowest priority, then the newest.
 */
import type { ChargeOption } from './flavors.ts'
import type { EvictionReason } from './queue-decisions.ts'
import { type QueuePolicies, queueDefaults } from '../quota/quota-node.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import { compareShares, type NodeCharge, type QuotaTree } from '../quota/quota-tree.ts'
import { findRoom, type RoomPlan, type ShortQuota } from './room-search.ts'
import { charge, compareVictims, type Room, type Running, type RunningSet } from './running-set.ts'

interface PreemptionRules {
  /** Workloads that are charged to no quota evict those of lower priority. */
  readonly preemption: boolean
  readonly fairSharing: boolean
  /** Who took whose place before, with fair sharing. */
  readonly replaced: ReadonlySet<string>
}

/** One workload that takes the place of another. */
export function replacementKey(by: string, victim: string): string {
  return `${by}\n${victim}`
}

interface VictimSearch {
  readonly plan: RoomPlan<EvictionReason> | undefined
  /** How many candidates it has looked at. */
  readonly work: number
  /** A victim has to run until then: afterwards the search may find one. */
  readonly again: number
}

export function policiesOf(quota: QuotaTree | undefined, node: string): QueuePolicies {
  return quota?.policies(node) ?? queueDefaults
}

/** Whether a search for victims could find one, without looking at any. */
export function mayPreempt(
  { quota }: Room,
  running: RunningSet,
  { preemption, fairSharing }: Omit<PreemptionRules, 'replaced'>,
  workload: QueuedWorkload,
  { charges }: ChargeOption,
): boolean {
  if (charges.length === 0) return preemption && (running.of('')[0]?.workload.priority ?? Infinity) < workload.priority
  return charges.some(({ node, amounts }) => {
    const { withinQueue, reclaim, whileBorrowing } = policiesOf(quota, node)
    const lowest = running.of(node)[0]?.workload.priority ?? Infinity
    if (withinQueue === 'LowerPriority' && lowest < workload.priority) return true
    if (withinQueue === 'LowerOrNewerEqualPriority' && lowest <= workload.priority) return true
    if (whileBorrowing.policy !== 'Never' && !fairSharing) return true
    return reclaim !== 'Never' && (fairSharing || quota!.hasRight({ node, amounts }))
  })
}

export function findVictims(
  room: Room,
  running: RunningSet,
  rules: PreemptionRules,
  workload: QueuedWorkload,
  option: ChargeOption,
  now: number,
): VictimSearch {
  const { quota } = room
  let again = Infinity
  const candidates = candidatesFor(room, running, workload, option).filter(
    ({ leaving, isPlanned, isConfirmed, startedAt, workload: one }) => {
      if (leaving) return true
      if (!isConfirmed) return false
      if (!isPlanned || one.preemptible === false || one.id === workload.id) return false
      if (rules.fairSharing && rules.replaced.has(replacementKey(workload.id, one.id))) return false
      const until = startedAt + (one.minimumRunMs ?? 0)
      if (until > now) again = Math.min(again, until)
      return until <= now
    },
  )
  const search = (isFinal: boolean): RoomPlan<EvictionReason> | undefined =>
    findRoom(room, option, rules.fairSharing ? fairOrder(room, option, candidates) : candidates, (one, short) =>
      one.leaving ? one.leaving.reason : reasonFor(room, rules, workload, option, one, short, isFinal),
    )
  const plan =
    candidates.length === 0 ? undefined : (search(true) ?? (rules.fairSharing && quota ? search(false) : undefined))
  return { plan, work: candidates.length, again }
}

/** Those that leave already come first: their room is free without a further victim. */
function candidatesFor(
  { quota }: Room,
  running: RunningSet,
  workload: QueuedWorkload,
  { charges }: ChargeOption,
): readonly Running[] {
  const [own, others]: [Running[], Running[]] = [[], []]
  if (charges.length === 0) own.push(...running.of(''))
  else {
    const nodes = new Set(charges.map(({ node }) => node))
    const trees = new Set(charges.map(({ node }) => quota!.rootOf(node)))
    const seen = new Set<Running>()
    for (const node of running.nodes()) {
      if (!trees.has(quota!.rootOf(node))) continue
      for (const one of running.of(node)) {
        if (seen.has(one)) continue
        seen.add(one)
        if (one.charges.every((charged) => nodes.has(charged.node))) own.push(one)
        else others.push(one)
      }
    }
    own.sort(compareVictims)
    others.sort(compareVictims)
  }
  const all = [...others, ...own]
  const leaving = all.filter((one) => one.leaving && one.awaitedBy === undefined)
  leaving.sort((a, b) => Number(b.leaving?.by === workload.id) - Number(a.leaving?.by === workload.id))
  return [...leaving, ...all.filter((one) => !one.leaving)]
}

function reasonFor(
  room: Room,
  rules: PreemptionRules,
  workload: QueuedWorkload,
  { charges }: ChargeOption,
  victim: Running,
  short: ShortQuota | undefined,
  isFinal: boolean,
): EvictionReason | undefined {
  const isLower = victim.workload.priority < workload.priority
  if (charges.length === 0 && victim.charges.length === 0) return rules.preemption && isLower ? 'Preempted' : undefined
  const quota = room.quota!
  for (const own of charges)
    for (const other of victim.charges) {
      if (quota.rootOf(own.node) !== quota.rootOf(other.node)) continue
      const contested = short ? (short.get(own.node) ?? new Set<string>()) : own.amounts.keys()
      const resources = [...contested].filter((resource) => (other.amounts.get(resource) ?? 0) > 0)
      if (resources.length === 0) continue
      const { withinQueue, reclaim, whileBorrowing } = policiesOf(quota, own.node)
      if (own.node === other.node) {
        const isNewer = victim.workload.priority === workload.priority && victim.workload.since > workload.since
        if (withinQueue !== 'Never' && (isLower || (withinQueue === 'LowerOrNewerEqualPriority' && isNewer)))
          return 'Preempted'
        continue
      }
      const mayReclaim = (any: boolean): boolean =>
        resources.some((resource) => quota.mayReclaim(own.node, other.node, resource, any))
      if (reclaim === 'Any' || (reclaim === 'LowerPriority' && isLower)) {
        if (mayReclaim(false)) return 'ReclaimedQuota'
        if (rules.fairSharing && mayReclaim(true) && isFairer(room, own, other, victim, isFinal)) return 'FairSharing'
      }
      // By priority and by share at once, two queues could take each other's place for ever.
      if (rules.fairSharing) continue
      const { policy, highestPriority = Infinity } = whileBorrowing
      const isBelow = isLower && victim.workload.priority <= highestPriority
      if (policy === 'LowerPriority' && isBelow && mayReclaim(true)) return 'ReclaimedQuota'
    }
  return undefined
}

/**
 * Whether shares are fairer with the victim gone: the share of the waiting workload's queue is at most what the victim's queue keeps,
 * or, if that finds no room, less than what it has. Either way the victim could not take its place back.
 */
function isFairer(room: Room, own: NodeCharge, other: NodeCharge, { charges }: Running, isFinal: boolean): boolean {
  const [mine, before] = room.quota!.shares(own.node, other.node)!
  if (!isFinal) return compareShares(mine, before) < 0
  charge(room, charges, -1, 'planned')
  const [, after] = room.quota!.shares(own.node, other.node)!
  charge(room, charges, 1, 'planned')
  return compareShares(mine, after) <= 0
}

/** The queue with the largest share gives first; shares are those at that moment of the search. */
function* fairOrder({ quota }: Room, { charges }: ChargeOption, candidates: readonly Running[]): Generator<Running> {
  const queues = new Map<string, Running[]>()
  const rest: Running[] = []
  for (const one of candidates) {
    const other = one.charges.find(({ node }) =>
      charges.some((own) => own.node !== node && quota!.shares(own.node, node)),
    )
    if (one.leaving || !other) {
      if (one.leaving) yield one
      else rest.push(one)
      continue
    }
    const own = queues.get(other.node) ?? []
    queues.set(other.node, own)
    own.push(one)
  }
  for (const own of queues.values()) own.reverse()
  while (queues.size > 0) {
    let [largest, most] = ['', { isUnweighted: false, ratio: -1 }]
    for (const node of queues.keys()) {
      const own = charges.find((one) => quota!.shares(one.node, node))!
      const [, share] = quota!.shares(own.node, node)!
      if (largest !== '' && compareShares(share, most) <= 0) continue
      largest = node
      most = share
    }
    const own = queues.get(largest)!
    yield own.pop()!
    if (own.length === 0) queues.delete(largest)
  }
  yield* rest
}
