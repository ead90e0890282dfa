/**
 * The memory budget for request bodies, shared by all connections. Each body has its own limit; the budget bounds their
 * sum when many clients send at once.
 */

export interface BodyBudget {
  /** Takes that many bytes; returns false, and takes nothing, if they exceed the budget. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Twenty bodies of the maximum size, or thousands of typical ones. */
export const defaultBodiesBytes: number = 64 * 1024 * 1024

export function createBodyBudget(limit: number): BodyBudget {
  let taken = 0
  return {
    take(bytes) {
      if (taken + bytes > limit) return false
      taken += bytes
      return true
    },
    give(bytes) {
      taken -= bytes
    },
  }
}
