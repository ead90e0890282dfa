/** The gates of one operator, and their defaults. Each gate has its own file here; `order.ts` has their order. */
import type { AllowanceOptions } from './allowance.ts'
import type { CoolDownOptions } from './cool-down.ts'
import type { DebounceOptions } from './debounce.ts'
import type { PriorityOptions } from './priority.ts'

/** What an operator may use of shared resources; enforced by `budgets/`. */
export interface BudgetOptions {
  /** Bytes cached for the operator. @default no limit */
  readonly memoryBytes?: number
  /** Requests to API servers. @default no limit */
  readonly requestsPerMinute?: number
}

export interface GateOptions {
  readonly debounce: DebounceOptions
  readonly coolDown: CoolDownOptions
  readonly allowance: AllowanceOptions
  readonly priority: PriorityOptions
  /** Concurrent reconciles of this operator. @default 8 */
  readonly concurrency: number
  /** @default no limits */
  readonly budget?: BudgetOptions
}

export const defaultGates: GateOptions = {
  debounce: { quietMs: 0, maxMs: 1000 },
  coolDown: { leastMs: 0 },
  allowance: { perMinute: 6000, burst: 1000 },
  priority: { ageMs: 10_000 },
  concurrency: 8,
}

/** For an operator that runs alone: only its concurrency limits it. */
export const openGates: GateOptions = {
  ...defaultGates,
  allowance: { perMinute: Number.MAX_SAFE_INTEGER, burst: Number.MAX_SAFE_INTEGER },
}
