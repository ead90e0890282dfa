/**
 * Allowance: a token bucket of changes per minute and operator. Unused changes accumulate up to a burst.
 *
 * How many changes a reconcile makes is known only afterwards: so it starts when at least one is left, is charged
 * afterwards, and a negative balance delays the next one. Over time the rate holds; a single reconcile may exceed it.
 */

export interface AllowanceOptions {
  /** Changes that an operator may make a minute. @default 6000 */
  readonly perMinute: number
  /** The most changes that accumulate. @default 1000 */
  readonly burst: number
}

/** The balance; below zero it is a debt. */
export interface Allowance {
  readonly left: number
  readonly at: number
}

export function fullAllowance({ burst }: AllowanceOptions, now: number): Allowance {
  return { left: burst, at: now }
}

export function earned({ left, at }: Allowance, { perMinute, burst }: AllowanceOptions, now: number): Allowance {
  // A clock that jumps back adds nothing and takes nothing away: no key waits until the old time is reached again.
  const passed = Math.max(now - at, 0)
  return { left: Math.min(left + (passed * perMinute) / 60_000, burst), at: now }
}

export function spend(allowance: Allowance, changes: number, options: AllowanceOptions, now: number): Allowance {
  const { left, at } = earned(allowance, options, now)
  return { left: left - changes, at }
}

/** The balance under new options: changes already made stay charged. */
export function regranted(allowance: Allowance, from: AllowanceOptions, to: AllowanceOptions, now: number): Allowance {
  const { left, at } = earned(allowance, from, now)
  return { left: to.burst - (from.burst - left), at }
}

/** The moment a reconcile may start: when there is one change left. */
export function affordableAt({ left, at }: Allowance, { perMinute }: AllowanceOptions): number {
  return left >= 1 ? at : at + ((1 - left) * 60_000) / perMinute
}
