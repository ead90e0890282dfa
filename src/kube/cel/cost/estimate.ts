/**
 * Ranges of sizes and costs: from the minimum to the maximum. Both saturate at a largest number, which also stands for
 * "unknown".
 */

export interface Estimate {
  readonly min: number
  readonly max: number
}

/** The server uses 64 bits. Numbers of that size are not exact here, but far beyond any limit. */
export const mostPossible: number = 2 ** 64

export const unknownEstimate: Estimate = { min: 0, max: mostPossible }
export const zeroEstimate: Estimate = { min: 0, max: 0 }
export const one: Estimate = { min: 1, max: 1 }

export function exactEstimate(value: number): Estimate {
  return { min: value, max: value }
}

const capped = (value: number): number => Math.min(value, mostPossible)

export function plus(...parts: readonly Estimate[]): Estimate {
  let [min, max] = [0, 0]
  for (const part of parts) {
    min = capped(min + part.min)
    max = capped(max + part.max)
  }
  return { min, max }
}

export function times(a: Estimate, b: Estimate): Estimate {
  return { min: capped(a.min * b.min), max: capped(a.max * b.max) }
}

/** By a factor that may be fractional; rounded up. */
export function scaled({ min, max }: Estimate, factor: number): Estimate {
  return { min: capped(Math.ceil(min * factor)), max: capped(Math.ceil(max * factor)) }
}

/** Either is possible. */
export function either(a: Estimate, b: Estimate): Estimate {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }
}
