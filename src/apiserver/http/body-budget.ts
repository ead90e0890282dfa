/**
 * A budget of bytes for the bodies of requests under way, shared by all connections. Each body is bounded by itself; only
 * their sum says what a server has to hold when many clients send at once.
 */

export interface BodyBudget {
  /** False when there is no room for that many bytes: nothing is taken then. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Twenty of the largest bodies, or thousands of usual ones. */
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
