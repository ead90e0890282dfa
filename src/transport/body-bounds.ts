/** Bounds of a decoded body: recursive code must not overflow its stack on what another program sends. */
import type { Json, JsonObject } from '../kube/json.ts'

/** Deeper than any real object. */
const maxDepth = 500

/** Why a body is rejected: nested too deeply, or a number out of range. */
export function bodyProblem(value: Json | undefined, depth = 0): string | undefined {
  if (depth > maxDepth) return `the body of the request is nested deeper than ${maxDepth} levels`
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return 'a number in the body of the request is out of range'
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) {
      const problem = bodyProblem(item, depth + 1)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const problem = bodyProblem((value as JsonObject)[key], depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}
