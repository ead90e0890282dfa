/**
 * Compares one manager with a separate process for each operator. The cost of the manager is measured; that of the
 * processes is estimated from the same measurements, with assumptions in their favour: each caches exactly what its
 * operator reads, as compactly as it is cached here.
 */
import { extrapolate } from './cost.ts'
import type { ManagerReport } from './report.ts'

interface SeparateProcessAssumptions {
  /** Memory of a process with empty caches. */
  readonly baseBytes: number
  /** How often it renews its lease: one request. */
  readonly leaseMs: number
  /** How long its watches last before they are reopened: one request each. */
  readonly watchMs: number
}

/**
 * Memory: an operator of controller-runtime 0.25 without objects, as measured (33 MB resident); leases and watches are
 * renewed by its defaults.
 */
export const defaultSeparateProcess: SeparateProcessAssumptions = { baseBytes: 33e6, leaseMs: 2000, watchMs: 450_000 }

export interface Side {
  readonly processes: number
  readonly bytes: number
  readonly gbSeconds: number
  readonly watches: number
  readonly requests: number
}

interface CostComparison {
  readonly manager: Side
  readonly separate: Side
}

export function compareWithSeparateProcesses(
  { operators, process, coLocated }: ManagerReport,
  overMs: number,
  { baseBytes, leaseMs, watchMs }: SeparateProcessAssumptions = defaultSeparateProcess,
): CostComparison {
  const passed = Math.max(process.sampledAt - process.since, 1)
  const sum = (of: (cost: (typeof operators)[number]['cost']) => number): number =>
    operators.reduce((total, { cost }) => total + of(cost), 0)
  // Like with like: the other side has no embedded cluster in its processes.
  const coLocatedBytes = coLocated?.bytes ?? 0
  const bytes = sum(({ aloneBytes }) => baseBytes + aloneBytes)
  const atRest = sum(({ aloneWatches }) => overMs / leaseMs + (aloneWatches * overMs) / watchMs)
  return {
    manager: {
      processes: 1,
      bytes: Math.max(process.bytes - coLocatedBytes, 0),
      gbSeconds: Math.max((process.gbSeconds * overMs) / passed - (coLocatedBytes / 1e9) * (overMs / 1000), 0),
      watches: process.watches,
      requests: Math.round((process.requests * overMs) / passed),
    },
    separate: {
      processes: operators.length,
      bytes,
      gbSeconds: (bytes / 1e9) * (overMs / 1000),
      watches: sum(({ aloneWatches }) => aloneWatches),
      requests: Math.round(atRest + sum((cost) => extrapolate(cost, overMs).writes)),
    },
  }
}
