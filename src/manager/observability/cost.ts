/**
 * The cost of an operator: events, reads, writes, cached memory and processor time. Counted as it happens and
 * extrapolated to a day, so that one manager can be compared with dozens of separate processes.
 */
import type { InformerReport } from '../../cache/shared-cache.ts'
import { isWrite, type Ledger } from '../../operator/ledger.ts'

export interface Cost {
  readonly since: number
  readonly reconciles: number
  /** Changes that enqueued a key. */
  readonly events: number
  /** Objects and lists read from caches; none of them is a request. */
  readonly reads: number
  /** Write requests. */
  readonly writes: number
  readonly failures: number
  /** Processor time of the operator's code and of the kit on its behalf. */
  readonly cpuMs: number
  /** Its current share of the caches. */
  readonly bytes: number
  /** What it would cache alone: everything that it reads, unshared. */
  readonly aloneBytes: number
  /** Watches that it would need alone. */
  readonly aloneWatches: number
  /** Its share of the caches over time. */
  readonly gbSeconds: number
  readonly sampledAt: number
}

export function noCost(now: number): Cost {
  return {
    since: now,
    reconciles: 0,
    events: 0,
    reads: 0,
    writes: 0,
    failures: 0,
    cpuMs: 0,
    bytes: 0,
    aloneBytes: 0,
    aloneWatches: 0,
    gbSeconds: 0,
    sampledAt: now,
  }
}

export function addEvents(cost: Cost, events: number): Cost {
  return { ...cost, events: cost.events + events }
}

/** The effort of a reconcile is in its ledger, where it was measured. */
export function addReconcile(cost: Cost, ledger: Ledger): Cost {
  const { reads = 0, cpuMs = 0 } = ledger.effort ?? {}
  return {
    ...cost,
    reconciles: cost.reconciles + 1,
    reads: cost.reads + reads,
    writes: cost.writes + ledger.entries.filter(isWrite).length,
    failures: cost.failures + (ledger.failure && !ledger.failure.gaveUp ? 1 : 0),
    cpuMs: cost.cpuMs + cpuMs,
  }
}

/** Cached memory costs for as long as it is cached. */
export function sampleMemory(cost: Cost, informers: readonly InformerReport[], consumer: string, now: number): Cost {
  const shares = informers.flatMap(({ consumers, bytes, objects, watches }) =>
    consumers
      .filter((share) => share.consumer === consumer)
      .map((share) => ({
        bytes: share.bytes,
        aloneBytes: objects === 0 ? 0 : (bytes / objects) * share.objects,
        watches: Math.min(watches, 1),
      })),
  )
  const sum = (of: (share: (typeof shares)[number]) => number): number =>
    Math.round(shares.reduce((total, share) => total + of(share), 0))
  return {
    ...cost,
    bytes: sum((share) => share.bytes),
    aloneBytes: sum((share) => share.aloneBytes),
    aloneWatches: sum((share) => share.watches),
    gbSeconds: cost.gbSeconds + gbSecondsOf(cost, now),
    sampledAt: now,
  }
}

/** Between two samples, memory is assumed to stay as it was at the first. */
function gbSecondsOf(cost: { readonly bytes: number; readonly sampledAt: number }, now: number): number {
  return (cost.bytes / 1e9) * (Math.max(now - cost.sampledAt, 0) / 1000)
}

/** The cost over that time at the same rate; the cached memory is that of now. */
export function extrapolate(cost: Cost, overMs: number): Cost {
  const passed = Math.max(cost.sampledAt - cost.since, 1)
  const scaled = (value: number): number => Math.round((value * overMs) / passed)
  return {
    ...cost,
    reconciles: scaled(cost.reconciles),
    events: scaled(cost.events),
    reads: scaled(cost.reads),
    writes: scaled(cost.writes),
    failures: scaled(cost.failures),
    cpuMs: scaled(cost.cpuMs),
    gbSeconds: (cost.gbSeconds * overMs) / passed,
  }
}

/** The cost of the whole process. */
export interface ProcessCost {
  readonly since: number
  /** Processor time of all threads. */
  readonly cpuMs: number
  /** Resident memory. */
  readonly bytes: number
  readonly peakBytes: number
  readonly gbSeconds: number
  /** Open watches. */
  readonly watches: number
  /** Requests sent, retries included. */
  readonly requests: number
  readonly sampledAt: number
  readonly node?: NodeUsage
}

/** What Node reports about itself. */
export interface NodeUsage {
  readonly version: string
  readonly startedAt: number
  readonly heapUsedBytes: number
  readonly heapTotalBytes: number
  readonly heapLimitBytes: number
  /** Buffers and other data outside of the heap. */
  readonly externalBytes: number
  /** Time that the event loop was busy since the start. */
  readonly loopBusyMs: number
}

/** The current usage of the process. */
export interface ProcessUsage {
  readonly cpuMs: number
  readonly bytes: number
  readonly peakBytes: number
  readonly requests: number
  readonly node?: NodeUsage
}

export function noProcessCost(now: number): ProcessCost {
  return { since: now, cpuMs: 0, bytes: 0, peakBytes: 0, gbSeconds: 0, watches: 0, requests: 0, sampledAt: now }
}

export function sampleProcess(
  cost: ProcessCost,
  usage: ProcessUsage | undefined,
  watches: number,
  now: number,
): ProcessCost {
  const gbSeconds = cost.gbSeconds + gbSecondsOf(cost, now)
  return { ...cost, ...usage, watches, gbSeconds, sampledAt: now }
}
