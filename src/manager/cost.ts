/**
 * What an operator costs: what comes in for it, what it reads and writes, what is cached on its behalf, the time it takes.
 * Counted as it happens and told for a day, so that dozens of resident processes can be compared with one.
 */
import type { FeedReport } from '../cache/shared-cache.ts'
import { isWrite, type Ledger } from '../operator/ledger.ts'

export interface Cost {
  readonly since: number
  readonly reconciles: number
  /** Changes that woke it. */
  readonly events: number
  /** Objects and lists that it looked at: none of them is a request. */
  readonly reads: number
  /** Requests that changed something. */
  readonly writes: number
  readonly failures: number
  /** Time that its code and the kit's took for it. */
  readonly cpuMs: number
  /** Its part of the cache, now. */
  readonly bytes: number
  /** Memory over time. */
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
    gbSeconds: 0,
    sampledAt: now,
  }
}

export function addEvents(cost: Cost, events: number): Cost {
  return { ...cost, events: cost.events + events }
}

export function addReconcile(
  cost: Cost,
  ledger: Ledger,
  { reads, cpuMs }: { readonly reads: number; readonly cpuMs: number },
): Cost {
  return {
    ...cost,
    reconciles: cost.reconciles + 1,
    reads: cost.reads + reads,
    writes: cost.writes + ledger.entries.filter(isWrite).length,
    failures: cost.failures + (ledger.failure && !ledger.failure.gaveUp ? 1 : 0),
    cpuMs: cost.cpuMs + cpuMs,
  }
}

/** What is cached for it costs as long as it is there. */
export function sampleMemory(cost: Cost, feeds: readonly FeedReport[], consumer: string, now: number): Cost {
  const bytes = feeds
    .flatMap(({ consumers }) => consumers)
    .filter((share) => share.consumer === consumer)
    .reduce((sum, share) => sum + share.bytes, 0)
  // Between two samples it is taken to have been what it was at the first.
  const seconds = Math.max(now - cost.sampledAt, 0) / 1000
  return { ...cost, bytes, gbSeconds: cost.gbSeconds + (cost.bytes / 1e9) * seconds, sampledAt: now }
}

/** What it would come to in that time, if it went on like this; what is cached now counts as it is. */
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
