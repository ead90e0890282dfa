/**
 * The queue: which waiting workloads start now, which running ones have to leave for them, and why the others wait.
 *
 * Nothing here reads a clock or calls an API: state, changes and the time go in, decisions come out. A decision stands until it is
 * carried out: a start makes the workload a running one, which `settle` tells where its pods are; an eviction ends with `remove`, and
 * the workload may be added again with the time since which it waits. After a restart the same state is rebuilt with `add` and
 * `restore` in any order.
 */
import { decideAll } from './decision-pass.ts'
import { estimateStart } from './estimate.ts'
import type { NodeAssignment, NodeTable, PodGroup } from '../nodes/node-table.ts'
import type { QueueDecisions, WaitReason } from './queue-decisions.ts'
import {
  chargesOf,
  createQueueState,
  endRunning,
  enterClass,
  leaveClass,
  type QueueOptions,
  recharge,
} from './queue-state.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { QuotaTree } from '../quota/quota-tree.ts'
import { amountsByPod, charge, type Leaving, occupy, type Running } from './running-set.ts'
import { classKey, makeWaiting } from './workload-class.ts'
import { aheadOf, explainWait, positionOf } from './wait-explanation.ts'

/** What of a running workload is known after a restart. */
interface RestoredWorkload {
  /** Its pods on nodes. */
  readonly pods?: readonly NodeAssignment[]
  /** Pods that are still to come: they keep room. */
  readonly pending?: readonly PodGroup[]
  /** It has been evicted, and is not gone yet. */
  readonly leaving?: Leaving
  /** By pod group: the flavor of each resource, as it was started with. */
  readonly flavors?: readonly ReadonlyMap<string, string>[]
}

interface AdmissionQueue {
  readonly waiting: number
  readonly running: number
  /** A workload waits; one that waits already is replaced. One that runs is left alone. */
  add(workload: QueuedWorkload): void
  /** A workload that is no longer wanted, or is gone with all its pods: its quota and its room are free. */
  remove(id: string): void
  /** A workload runs already, as after a restart; one that is known to run is charged anew, and keeps its pods. */
  restore(workload: QueuedWorkload, known?: RestoredWorkload): void
  /** Where the pods of a running workload are, and which are still to come. Pods of the queue are given to the table by it alone. */
  settle(id: string, pods: readonly NodeAssignment[], pending?: readonly PodGroup[]): void
  decide(now: number): QueueDecisions
  /** Why a workload waits; undefined if it does not, or if it would start with the next decision. */
  explain(id: string, now: number): WaitReason | undefined
  /** Its place in its queue, from 1; undefined if it does not wait. */
  position(id: string, now: number): number | undefined
  /** Who is ahead of it in its queue, the first ones first. */
  ahead(id: string, now: number, most: number): readonly string[]
  /** When it starts, by the declared ends of what runs and of what is ahead of it; undefined if they do not say. */
  estimate(id: string, now: number): number | undefined
}

/** Without nodes only the quota decides, without quota only the nodes. */
export function createAdmissionQueue(
  nodes: NodeTable | undefined,
  quota: QuotaTree | undefined,
  options: QueueOptions = {},
): AdmissionQueue {
  const state = createQueueState({ nodes, quota }, options)
  const { waiting, running, claims, unplaced } = state

  const drop = (id: string): void => {
    const one = waiting.get(id)
    if (!one) return
    const claim = claims.get(id)
    if (claim) claims.remove(claim)
    leaveClass(state, one)
    waiting.delete(id)
  }

  const settle = (one: Running, pods: readonly NodeAssignment[], pending: readonly PodGroup[]): void => {
    // Pods that come to where they were expected change nothing.
    const counts = amountsByPod([...one.pods, ...one.reserved])
    const left = new Map(pending.map(({ shape, count }) => [shape.key, count]))
    const reserved: NodeAssignment[] = []
    for (const assignment of one.reserved) {
      const kept = Math.min(assignment.count, left.get(assignment.shape.key) ?? 0)
      if (kept === 0) continue
      left.set(assignment.shape.key, left.get(assignment.shape.key)! - kept)
      reserved.push({ ...assignment, count: kept })
    }
    const wanted = amountsByPod([...pods, ...reserved])
    for (const [key, { assignment, count }] of wanted) {
      const difference = count - (counts.get(key)?.count ?? 0)
      if (difference > 0) occupy(state, [{ ...assignment, count: difference }], 1)
    }
    for (const [key, { assignment, count }] of counts) {
      const difference = count - (wanted.get(key)?.count ?? 0)
      if (difference > 0) occupy(state, [{ ...assignment, count: difference }], -1)
    }
    one.pods = pods
    one.reserved = reserved
    one.pending = pending.flatMap(({ shape }): readonly PodGroup[] => {
      const count = left.get(shape.key) ?? 0
      left.delete(shape.key)
      return count > 0 ? [{ shape, count }] : []
    })
    if (one.pending.length > 0) unplaced.add(one)
    else unplaced.delete(one)
    claims.noteLeaver(one, false)
  }

  return {
    get waiting() {
      return waiting.size
    },
    get running() {
      return running.size
    },
    add(workload) {
      const { id } = workload
      if (running.has(id)) return
      const one = makeWaiting(workload, state.options.dynamicPriority)
      const known = waiting.get(id)
      if (known) {
        if (isSame(known.workload, workload) && classKey(known, []) === classKey(one, [])) return
        drop(id)
      }
      waiting.set(id, one)
      enterClass(state, one, 0)
    },
    remove(id) {
      drop(id)
      const one = running.get(id)
      if (!one) return
      endRunning(state, one)
      if (!one.leaving) state.replaced.clear()
    },
    restore(workload, { pods = [], pending = [], leaving, flavors } = {}) {
      const { id } = workload
      const known = running.get(id)
      if (known) {
        known.isConfirmed = true
        recharge(state, known, { ...workload, startedAt: known.startedAt })
        return
      }
      drop(id)
      const one: Running = {
        workload,
        startedAt: workload.startedAt ?? workload.since,
        charges: chargesOf(state, workload, flavors),
        flavors,
        pods: [],
        reserved: [],
        pending: [],
        leaving,
        isPlanned: !leaving,
        awaitedBy: undefined,
        isConfirmed: true,
      }
      running.add(one)
      charge(state, one.charges, 1, 'now')
      if (one.isPlanned) charge(state, one.charges, 1, 'planned')
      settle(one, pods, pending)
      if (leaving?.by !== undefined) state.leaversOf.add(leaving.by)
    },
    settle(id, pods, pending = []) {
      const one = running.get(id)
      if (one) settle(one, pods, pending)
    },
    decide: (now) => decideAll(state, now),
    explain(id, now) {
      const one = waiting.get(id)
      return one && explainWait(state, one, now)
    },
    position(id, now) {
      const one = waiting.get(id)
      return one && positionOf(state, one, now)
    },
    ahead(id, now, most) {
      const one = waiting.get(id)
      return one ? aheadOf(state, one, now, most).map(({ workload }) => workload.id) : []
    },
    estimate(id, now) {
      const one = waiting.get(id)
      return one && estimateStart(state, one, now)
    },
  }
}

/** Whether nothing has changed but what its class has, too. */
function isSame(a: QueuedWorkload, b: QueuedWorkload): boolean {
  return (
    a.priority === b.priority &&
    a.since === b.since &&
    a.notBefore === b.notBefore &&
    a.held === b.held &&
    a.preemptible === b.preemptible &&
    a.minimumRunMs === b.minimumRunMs &&
    a.limitMs === b.limitMs &&
    a.expectedMs === b.expectedMs &&
    (a.quotas ?? []).join('\n') === (b.quotas ?? []).join('\n')
  )
}
