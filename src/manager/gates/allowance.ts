/**
 * Allowance: how many changes an operator may make a minute. What is not used is saved, up to a burst.
 *
 * A run may make several changes, and nobody knows how many before it did: so it starts whenever there is anything left,
 * pays afterwards, and debts keep the next one waiting. Over time the rate holds; for a moment it may be exceeded by what
 * one run does.
 */

export interface AllowanceOptions {
  /** @default 600 */
  readonly perMinute: number
  /** The most that can be saved. @default 100 */
  readonly burst: number
}

/** What is left; below zero it is a debt. */
export interface Allowance {
  readonly left: number
  readonly at: number
}

export function fullAllowance({ burst }: AllowanceOptions, now: number): Allowance {
  return { left: burst, at: now }
}

export function earned({ left, at }: Allowance, { perMinute, burst }: AllowanceOptions, now: number): Allowance {
  // A clock that jumps back earns nothing, and takes nothing away: nobody waits until it is again what it was.
  const passed = Math.max(now - at, 0)
  return { left: Math.min(left + (passed * perMinute) / 60_000, burst), at: now }
}

export function spend(allowance: Allowance, changes: number, options: AllowanceOptions, now: number): Allowance {
  const { left, at } = earned(allowance, options, now)
  return { left: left - changes, at }
}

/** Under other rules from now on: what is spent stays spent. */
export function regranted(allowance: Allowance, from: AllowanceOptions, to: AllowanceOptions, now: number): Allowance {
  const { left, at } = earned(allowance, from, now)
  return { left: to.burst - (from.burst - left), at }
}

/** The moment a run may start: when there is one change to spend. */
export function affordableAt({ left, at }: Allowance, { perMinute }: AllowanceOptions): number {
  return left >= 1 ? at : at + ((1 - left) * 60_000) / perMinute
}
