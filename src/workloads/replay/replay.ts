/**
 * Replays a trace through the queue: arrivals, ends and evictions are its only events, and the time jumps from one to the next. The
 * queue is the one that decides in a cluster, so a replay answers what another quota or other nodes would change.
 */
import { seededRandom } from '../../clock/random.ts'
import { createHeap } from '../../manager/schedule/priority-queue.ts'
import { createAdmissionQueue } from '../core/queue/admission-queue.ts'
import { createNodeTable, type NodeTable } from '../core/nodes/node-table.ts'
import type { WaitReason } from '../core/queue/queue-decisions.ts'
import type { QueuedWorkload } from '../core/queue/queued-workload.ts'
import type { QuotaLimit } from '../core/quota/quota-node.ts'
import { createQuotaTree, type QuotaTree } from '../core/quota/quota-tree.ts'
import type { WorkloadTrace, TraceWorkloads } from './trace.ts'
import { createUsage, type UsageSeries } from './usage-series.ts'

export interface ReplayReport {
  /** From the first arrival to the last end: milliseconds. */
  readonly durationMs: number
  /** Starts, also those after an eviction. */
  readonly admitted: number
  readonly evicted: number
  readonly classes: readonly ClassReport[]
  /** By resource: the share of the nominal quota, or else of the nodes, that was in use over that time. */
  readonly usage: ReadonlyMap<string, number>
  /** Usage and waiting workloads over time. */
  readonly series: UsageSeries
  /** Workloads that wait at the end, and why. */
  readonly unstarted: readonly UnstartedReport[]
}

interface ClassReport {
  readonly class: string
  readonly count: number
  readonly started: number
  readonly evicted: number
  /** To the first start. */
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
  /** How long it runs if it is not evicted. */
  readonly runMs: number
}

/** A started workload. One that is evicted begins anew: what it has done is lost. */
interface Run {
  readonly arrival: Arrival
  readonly startedAt: number
  isLeaving: boolean
}

interface Statistics {
  started: number
  evicted: number
  waitMs: number
  longestMs: number
}

export function replay(trace: WorkloadTrace): ReplayReport {
  const nodes = trace.nodes.length > 0 ? nodesOf(trace) : undefined
  const quota = trace.queues.length > 0 ? quotaOf(trace) : undefined
  const queue = createAdmissionQueue(nodes, quota, trace.settings)
  const arrivals = arrivalsOf(trace)
  const pending = new Map<string, Arrival>()
  const runs = new Map<string, Run>()
  const started = new Set<string>()
  const statistics = new Map<string, Statistics>()
  const spent = new Map<string, number>()
  const usage = createUsage(capacityOf(trace, nodes))
  const ends = createHeap<{ readonly at: number; readonly run: Run }>((a, b) => a.at < b.at)
  const patienceMs = (trace.settings.backoffMs ?? 0) + (trace.settings.headOfLineHoldingMs ?? 0) + 1
  const begin = arrivals[0]?.workload.since ?? 0
  let [arrived, admitted, last, again] = [0, 0, begin, Infinity]

  const finish = (run: Run, now: number): void => {
    const { arrival, startedAt, isLeaving } = run
    const { workload, source } = arrival
    if (runs.get(workload.id) !== run) return
    runs.delete(workload.id)
    queue.remove(workload.id)
    usage.change(now, source.groups, -1)
    spend(spent, source, now - startedAt)
    if (!isLeaving) return
    pending.set(workload.id, arrival)
    queue.add(workload)
  }

  for (;;) {
    const next = Math.min(arrivals[arrived]?.workload.since ?? Infinity, ends.peek()?.at ?? Infinity)
    // A time to ask again matters only as long as something waits.
    const now = pending.size > 0 ? Math.min(next, again) : next
    if (now === Infinity) break
    if (next !== Infinity) last = now
    // Nothing runs and nothing comes: what waits starts after its back-off, or never.
    else if (now > last + patienceMs) break
    for (let end = ends.peek(); end && end.at <= now; end = ends.peek()) {
      ends.pop()
      finish(end.run, now)
    }
    for (; arrived < arrivals.length && arrivals[arrived]!.workload.since <= now; arrived++) {
      const arrival = arrivals[arrived]!
      pending.set(arrival.workload.id, arrival)
      queue.add(arrival.workload)
    }
    const decided = queue.decide(now)
    for (const { workload, assignments } of decided.starts) {
      const arrival = pending.get(workload.id)!
      const run: Run = { arrival, startedAt: now, isLeaving: false }
      pending.delete(workload.id)
      runs.set(workload.id, run)
      queue.settle(workload.id, assignments)
      admitted++
      if (!started.has(workload.id)) note(statistics, arrival.source.class, now - workload.since)
      started.add(workload.id)
      usage.change(now, arrival.source.groups, 1)
      ends.push({ at: now + arrival.runMs, run })
    }
    for (const { id } of decided.evictions) {
      const run = runs.get(id)!
      run.isLeaving = true
      statistics.get(run.arrival.source.class)!.evicted++
      ends.push({ at: now + run.arrival.source.shutdown, run })
    }
    usage.waiting(now, pending.size)
    again = decided.again ?? Infinity
    if (again <= now) again = now + 1
  }
  const durationMs = last - begin
  return {
    durationMs,
    admitted,
    evicted: [...statistics.values()].reduce((sum, { evicted }) => sum + evicted, 0),
    classes: classesOf(trace, statistics),
    usage: usageOf(capacityOf(trace, nodes), spent, durationMs),
    series: usage.series(),
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
  for (const { count, labels, taints, allocatable } of trace.nodes)
    for (let each = 0; each < count; each++, index++) {
      const name = `node-${index}`
      const metadata = { name, labels: { 'kubernetes.io/hostname': name, ...labels } }
      nodes.setNode(name, { metadata, spec: { taints } }, allocatable)
    }
  return nodes
}

function quotaOf(trace: WorkloadTrace): QuotaTree {
  const quota = createQuotaTree()
  quota.setNodes(trace.queues)
  return quota
}

function arrivalsOf(trace: WorkloadTrace): readonly Arrival[] {
  const random = seededRandom(trace.settings.seed)
  const arrivals: Arrival[] = []
  for (const [index, source] of trace.workloads.entries()) {
    const { queue, priority, slope, groups, at, every, count, duration, variation, preemptible } = source
    const { limitMs, expectedMs, minimumRunMs } = source
    for (let each = 0; each < count; each++) {
      const varied = variation === 0 ? duration : duration * (1 + variation * (2 * random.next() - 1))
      const workload: QueuedWorkload = {
        id: `${index}-${each}`,
        queue,
        priority,
        slope,
        since: at + each * every,
        groups,
        preemptible,
        ...(limitMs !== undefined && { limitMs }),
        ...(expectedMs !== undefined && { expectedMs }),
        ...(minimumRunMs !== undefined && { minimumRunMs }),
      }
      arrivals.push({ workload, source, runMs: Math.min(Math.round(varied), limitMs ?? Infinity) })
    }
  }
  return arrivals.toSorted((a, b) => a.workload.since - b.workload.since)
}

function note(statistics: Map<string, Statistics>, name: string, waitMs: number): void {
  const own = statistics.get(name) ?? { started: 0, evicted: 0, waitMs: 0, longestMs: 0 }
  statistics.set(name, own)
  own.started++
  own.waitMs += waitMs
  own.longestMs = Math.max(own.longestMs, waitMs)
}

/** Adds what one workload has used over its run. */
function spend(spent: Map<string, number>, { groups }: TraceWorkloads, duration: number): void {
  for (const { shape, count } of groups)
    for (const [resource, amount] of shape.requests)
      spent.set(resource, (spent.get(resource) ?? 0) + amount * count * duration)
}

function classesOf(trace: WorkloadTrace, statistics: ReadonlyMap<string, Statistics>): readonly ClassReport[] {
  return [...Map.groupBy(trace.workloads, (one) => one.class)].map(([name, sources]) => {
    const { started, evicted, waitMs, longestMs } = statistics.get(name) ?? {
      started: 0,
      evicted: 0,
      waitMs: 0,
      longestMs: 0,
    }
    const count = sources.reduce((sum, one) => sum + one.count, 0)
    return {
      class: name,
      count,
      started,
      evicted,
      averageWaitMs: started === 0 ? 0 : waitMs / started,
      longestWaitMs: longestMs,
    }
  })
}

/** By resource: the nominal quota, or else what the nodes have. */
function capacityOf({ queues }: WorkloadTrace, nodes: NodeTable | undefined): ReadonlyMap<string, number> {
  const all = new Map<string, number>()
  const add = (resource: string, amount: number): void => void all.set(resource, (all.get(resource) ?? 0) + amount)
  for (const { limits = new Map<string, QuotaLimit>(), groups = [] } of queues) {
    for (const [resource, { nominal }] of limits) add(resource, nominal)
    for (const { flavors } of groups)
      for (const { limits: own } of flavors) for (const [resource, { nominal }] of own) add(resource, nominal)
  }
  if (queues.length === 0)
    for (const [resource, { allocatable }] of nodes?.totals() ?? [])
      if (resource !== 'pods') all.set(resource, allocatable)
  return new Map([...all].filter(([, amount]) => amount > 0))
}

function usageOf(
  capacity: ReadonlyMap<string, number>,
  spent: ReadonlyMap<string, number>,
  durationMs: number,
): ReadonlyMap<string, number> {
  const usage = new Map<string, number>()
  if (durationMs === 0) return usage
  for (const [resource, amount] of capacity) usage.set(resource, (spent.get(resource) ?? 0) / (amount * durationMs))
  return usage
}
