/**
 * One manager against as many resident processes as it hosts operators: the question that whoever moves operators into one
 * process asks. What the manager takes is measured; what processes would take is worked out from what was measured, and from
 * assumptions that favour them: each caches what its operator sees, as densely as it is cached here, and nothing else.
 */
import { extrapolate } from './cost.ts'
import type { ManagerReport } from './report.ts'

export interface ResidentAssumptions {
  /** What a process takes before it caches anything. */
  readonly baseBytes: number
  /** How often it renews its lease: one request. */
  readonly leaseMs: number
  /** How long its watches last before they are opened anew: one request each. */
  readonly watchMs: number
}

/**
 * The memory is that of an operator of controller-runtime 0.25 without any objects, as measured (33 MB resident); leases and
 * watches are renewed as its defaults have it.
 */
export const usualResident: ResidentAssumptions = { baseBytes: 33e6, leaseMs: 2000, watchMs: 450_000 }

export interface Side {
  readonly processes: number
  readonly bytes: number
  readonly gbSeconds: number
  readonly watches: number
  readonly requests: number
}

export interface CostComparison {
  readonly manager: Side
  readonly resident: Side
}

export function compareWithResident(
  { operators, process }: ManagerReport,
  overMs: number,
  { baseBytes, leaseMs, watchMs }: ResidentAssumptions = usualResident,
): CostComparison {
  const passed = Math.max(process.sampledAt - process.since, 1)
  const sum = (of: (cost: (typeof operators)[number]['cost']) => number): number =>
    operators.reduce((total, { cost }) => total + of(cost), 0)
  const bytes = sum(({ aloneBytes }) => baseBytes + aloneBytes)
  const atRest = sum(({ aloneWatches }) => overMs / leaseMs + (aloneWatches * overMs) / watchMs)
  return {
    manager: {
      processes: 1,
      bytes: process.bytes,
      gbSeconds: (process.gbSeconds * overMs) / passed,
      watches: process.watches,
      requests: Math.round((process.requests * overMs) / passed),
    },
    resident: {
      processes: operators.length,
      bytes,
      gbSeconds: (bytes / 1e9) * (overMs / 1000),
      watches: sum(({ aloneWatches }) => aloneWatches),
      requests: Math.round(atRest + sum((cost) => extrapolate(cost, overMs).writes)),
    },
  }
}
