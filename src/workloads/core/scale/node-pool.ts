/**
 * A pool of equal machines: a MachineSet, a MachineDeployment, a managed pool. Which of its machines were added for which workload
 * is stored on the pool itself, in the same write that changes its replicas: so a decision needs no other memory, and what a
 * person adds or removes by hand is neither counted nor undone.
 */
import type { CandidateNode } from '../../../kube/scheduling/node-match.ts'
import type { ResourceAmounts } from '../../../kube/scheduling/pod-needs.ts'

/** Machines that were added for a workload, or handed over to it. */
export interface NodeClaim {
  readonly workload: string
  readonly namespace: string
  readonly name: string
  readonly count: number
  /** When machines were last added or handed over: milliseconds. */
  readonly since: number
}

/** Machines that were added and that no workload needs any more. */
export interface IdleMachines {
  readonly count: number
  readonly since: number
}

/** What is stored on a pool. */
export interface PoolRecord {
  readonly claims: readonly NodeClaim[]
  readonly idle: readonly IdleMachines[]
  /** Failures in a row: each doubles the time until the pool is tried again. */
  readonly failures: number
  /** It is not scaled out before this time: 0 for at once. */
  readonly notBefore: number
}

export const emptyRecord: PoolRecord = { claims: [], idle: [], failures: 0, notBefore: 0 }

/** An empty node of a pool. */
export interface NodeTemplate {
  /** Equal for equal nodes. */
  readonly key: string
  readonly node: CandidateNode
  readonly allocatable: ResourceAmounts
  /** What an hour costs, in any unit that is the same for all pools; otherwise estimated by size. */
  readonly price?: number | undefined
}

export interface PoolMachine {
  readonly name: string
  /** The node that it has become. */
  readonly node?: string | undefined
  readonly createdAt: number
  readonly isReady: boolean
  /** Why it will never become ready, such as a stock-out. */
  readonly failure?: string | undefined
  /** It is being deleted. */
  readonly isLeaving: boolean
  /** It is marked to be deleted first. */
  readonly isMarked: boolean
  /** The workload that it was labelled for; empty: for none any more; undefined: it was never labelled. */
  readonly owner?: string | undefined
  /** Workloads with pods on it that have not ended. */
  readonly users: readonly string[]
}

export interface NodePool {
  readonly id: string
  readonly name: string
  readonly instanceType: string | undefined
  /** Undefined: what its nodes are like is not known, so it is chosen by its instance type only. */
  readonly template: NodeTemplate | undefined
  readonly replicas: number
  readonly min: number
  readonly max: number
  readonly record: PoolRecord
  readonly machines: readonly PoolMachine[]
  /** Whether single machines can be named to be deleted first. */
  readonly names: boolean
  /**
   * `shared`: its machines serve many workloads. `own`: it was made for a workload, has one at a time, and is removed when it is
   * empty. `pattern`: it is never scaled; pools of the sort `own` are made after it.
   */
  readonly sort: 'shared' | 'own' | 'pattern'
  /** Of a pool of the sort `own`: the id of its pattern. */
  readonly pattern?: string | undefined
  /** It is being deleted. */
  readonly isLeaving: boolean
}

export function claimed(record: PoolRecord): number {
  return record.claims.reduce((sum, { count }) => sum + count, 0)
}

export function idleCount(record: Pick<PoolRecord, 'idle'>): number {
  return record.idle.reduce((sum, { count }) => sum + count, 0)
}

/** Machines that the scaler has added to the pool. */
export function added(record: PoolRecord): number {
  return claimed(record) + idleCount(record)
}

/** A pool that is being changed by a decision. */
export interface PoolDraft {
  readonly pool: NodePool
  replicas: number
  claims: NodeClaim[]
  idle: IdleMachines[]
  failures: number
  notBefore: number
}

export function poolDraft(pool: NodePool): PoolDraft {
  const { replicas, record } = pool
  const { claims, idle, failures, notBefore } = record
  return { pool, replicas, claims: [...claims], idle: [...idle], failures, notBefore }
}

/** Adds machines to the claim of a workload. */
export function give(draft: PoolDraft, to: Omit<NodeClaim, 'count' | 'since'>, count: number, since: number): void {
  if (count <= 0) return
  const at = draft.claims.findIndex(({ workload }) => workload === to.workload)
  if (at < 0) draft.claims.push({ workload: to.workload, namespace: to.namespace, name: to.name, count, since })
  else draft.claims[at] = { ...draft.claims[at]!, count: draft.claims[at]!.count + count, since }
}

/** Removes machines from a claim; without any left, the claim is gone. */
export function takeBack(draft: PoolDraft, workload: string, count: number): void {
  draft.claims = draft.claims.flatMap((claim) => {
    if (claim.workload !== workload) return [claim]
    return claim.count > count ? [{ ...claim, count: claim.count - count }] : []
  })
}

/** Machines of a claim that no workload needs from now on. */
export function releaseMachines(draft: PoolDraft, workload: string, count: number, now: number): void {
  if (count <= 0) return
  takeBack(draft, workload, count)
  const last = draft.idle.findIndex(({ since }) => since === now)
  if (last < 0) draft.idle.push({ count, since: now })
  else draft.idle[last] = { count: draft.idle[last]!.count + count, since: now }
}

/** Since when machines are idle that failed: they are for no other workload, and not kept for the grace time. */
export const failedSince = 0

/** Machines that may be handed over. */
export function spareCount({ idle }: Pick<PoolRecord, 'idle'>): number {
  return idle.reduce((sum, { count, since }) => sum + (since === failedSince ? 0 : count), 0)
}

/** Removes idle machines, those that are idle the longest first, unless they are to be spared; how many it removed. */
export function takeIdle(draft: PoolDraft, count: number, spares = (_idle: IdleMachines): boolean => false): number {
  let left = count
  const rest: IdleMachines[] = []
  for (const entry of draft.idle.toSorted((a, b) => a.since - b.since)) {
    const taken = spares(entry) ? 0 : Math.min(left, entry.count)
    left -= taken
    if (entry.count > taken) rest.push({ ...entry, count: entry.count - taken })
  }
  draft.idle = rest
  return count - left
}

/** Gives a workload machines that are idle, as many as there are; how many it got. */
export function handOver(draft: PoolDraft, to: Omit<NodeClaim, 'count' | 'since'>, count: number, now: number): number {
  const taken = takeIdle(draft, count, ({ since }) => since === failedSince)
  give(draft, to, taken, now)
  return taken
}
