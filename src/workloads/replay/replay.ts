/**
 * Replays a trace through the queue: arrivals and ends are its only events, and the time jumps from one to the next. The
 * queue is the one that decides in a cluster, so a replay answers what another quota or other nodes would change.
 */
import { createAdmissionQueue } from '../core/admission-queue.ts'
import { createNodeTable, type NodeTable } from '../core/node-table.ts'
import type { WaitReason } from '../core/queue-decisions.ts'
import type { QueuedWorkload } from '../core/queued-workload.ts'
import { createQuotaTree, type QuotaTree } from '../core/quota-tree.ts'
import type { WorkloadTrace, TraceWorkloads } from './trace.ts'

export interface ReplayReport {
  /** From the first arrival to the last end: milliseconds. */
  readonly durationMs: number
  readonly admitted: number
  readonly classes: readonly ClassReport[]
  /** By resource: the share of the nominal quota, or else of the nodes, that was in use over that time. */
  readonly usage: ReadonlyMap<string, number>
  /** Workloads that never started, and why. */
  readonly unstarted: readonly UnstartedReport[]
}

interface ClassReport {
  readonly class: string
  readonly count: number
  readonly started: number
  readonly averageWaitMs: number
  readonly longestWaitMs: number
}

interface UnstartedReport {
  readonly class: string
  readonly count: number
  readonly reason: WaitReason | undefined
}

interface Arrival {
  readonly workload: QueuedWorkload
  readonly source: TraceWorkloads
}

interface Statistics {
  started: number
  waitMs: number
  longestMs: number
}

export function replay(trace: WorkloadTrace): ReplayReport {
  const nodes = trace.nodes.length > 0 ? nodesOf(trace) : undefined
  const quota = trace.queues.length > 0 ? quotaOf(trace) : undefined
  const queue = createAdmissionQueue(nodes, quota)
  const arrivals = arrivalsOf(trace)
  const pending = new Map<string, Arrival>()
  const statistics = new Map<string, Statistics>()
  const spent = new Map<string, number>()
  const ends = createEnds()
  let [arrived, admitted, last] = [0, 0, arrivals[0]?.workload.since ?? 0]
  while (arrived < arrivals.length || ends.size > 0) {
    const now = Math.min(arrivals[arrived]?.workload.since ?? Infinity, ends.next())
    last = now
    for (const id of ends.takeUntil(now)) queue.remove(id)
    for (; arrived < arrivals.length && arrivals[arrived]!.workload.since <= now; arrived++) {
      const arrival = arrivals[arrived]!
      pending.set(arrival.workload.id, arrival)
      queue.add(arrival.workload)
    }
    for (const { workload } of queue.decide(now).starts) {
      const { source } = pending.get(workload.id)!
      pending.delete(workload.id)
      admitted++
      note(statistics, source.class, now - workload.since)
      spend(spent, source)
      ends.add(now + source.duration, workload.id)
    }
  }
  const durationMs = last - (arrivals[0]?.workload.since ?? 0)
  return {
    durationMs,
    admitted,
    classes: classesOf(trace, statistics),
    usage: usageOf(trace, nodes, spent, durationMs),
    unstarted: [...Map.groupBy(pending.values(), ({ source }) => source.class)].map(([name, all]) => ({
      class: name,
      count: all.length,
      reason: queue.explain(all[0]!.workload.id, last),
    })),
  }
}

function nodesOf(trace: WorkloadTrace): NodeTable {
  const nodes = createNodeTable()
  let index = 0
  for (const { count, labels, allocatable } of trace.nodes)
    for (let each = 0; each < count; each++, index++) {
      const name = `node-${index}`
      nodes.setNode(name, { metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } } }, allocatable)
    }
  return nodes
}

function quotaOf(trace: WorkloadTrace): QuotaTree {
  const quota = createQuotaTree()
  quota.setNodes(trace.queues)
  return quota
}

function arrivalsOf(trace: WorkloadTrace): readonly Arrival[] {
  const arrivals: Arrival[] = []
  for (const [index, source] of trace.workloads.entries()) {
    const { queue, priority, slope, groups, at, every, count } = source
    for (let each = 0; each < count; each++) {
      const workload = { id: `${index}-${each}`, queue, priority, slope, since: at + each * every, groups }
      arrivals.push({ workload, source })
    }
  }
  return arrivals.toSorted((a, b) => a.workload.since - b.workload.since)
}

interface Ends {
  readonly size: number
  /** The time of the next end; Infinity without one. */
  next(): number
  add(at: number, id: string): void
  takeUntil(now: number): readonly string[]
}

/** Ends of running workloads by time. Workloads of few durations share times, so the times are few. */
function createEnds(): Ends {
  const byTime = new Map<number, string[]>()
  const times: number[] = []
  let size = 0
  return {
    get size() {
      return size
    },
    next: () => times.at(-1) ?? Infinity,
    add(at, id) {
      size++
      const known = byTime.get(at)
      if (known) {
        known.push(id)
        return
      }
      byTime.set(at, [id])
      let position = times.length
      while (position > 0 && times[position - 1]! < at) position--
      times.splice(position, 0, at)
    },
    takeUntil(now) {
      const taken: string[] = []
      while (times.length > 0 && times.at(-1)! <= now) {
        const ids = byTime.get(times.at(-1)!)!
        byTime.delete(times.pop()!)
        size -= ids.length
        for (const id of ids) taken.push(id)
      }
      return taken
    },
  }
}

function note(statistics: Map<string, Statistics>, name: string, waitMs: number): void {
  const own = statistics.get(name) ?? { started: 0, waitMs: 0, longestMs: 0 }
  statistics.set(name, own)
  own.started++
  own.waitMs += waitMs
  own.longestMs = Math.max(own.longestMs, waitMs)
}

/** Adds what one workload uses over its whole run. */
function spend(spent: Map<string, number>, { groups, duration }: TraceWorkloads): void {
  for (const { shape, count } of groups)
    for (const [resource, amount] of shape.requests)
      spent.set(resource, (spent.get(resource) ?? 0) + amount * count * duration)
}

function classesOf(trace: WorkloadTrace, statistics: ReadonlyMap<string, Statistics>): readonly ClassReport[] {
  return [...Map.groupBy(trace.workloads, (one) => one.class)].map(([name, sources]) => {
    const { started, waitMs, longestMs } = statistics.get(name) ?? { started: 0, waitMs: 0, longestMs: 0 }
    const count = sources.reduce((sum, one) => sum + one.count, 0)
    return {
      class: name,
      count,
      started,
      averageWaitMs: started === 0 ? 0 : waitMs / started,
      longestWaitMs: longestMs,
    }
  })
}

function usageOf(
  { queues }: WorkloadTrace,
  nodes: NodeTable | undefined,
  spent: ReadonlyMap<string, number>,
  durationMs: number,
): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  for (const { limits } of queues)
    for (const [resource, { nominal }] of limits ?? []) all.set(resource, (all.get(resource) ?? 0) + nominal)
  if (queues.length === 0)
    for (const [resource, { allocatable }] of nodes?.totals() ?? []) all.set(resource, allocatable)
  const usage = new Map<string, number>()
  for (const [resource, amount] of all)
    if (amount > 0 && durationMs > 0 && resource !== 'pods')
      usage.set(resource, (spent.get(resource) ?? 0) / (amount * durationMs))
  return usage
}
