/**
 * The warm-up of a cache: its first objects are parsed by `JSON.parse` and share no memory.
 *
 * Decoding by difference examines single characters, in code that is slow until the engine has compiled it. Compiling costs
 * a process some 10 MB and as much time as decoding the first hundred Pods: a process with few objects would never gain
 * that back. So the native parser handles the first two million characters of new objects, and of changes to such objects.
 * The memory that they fail to share is bounded by the same figure; later objects share with them, and so do they from
 * their first change after the warm-up.
 */

export interface WarmUp {
  /** Is a text of this length still part of the warm-up? */
  take(characters: number): boolean
}

export function createWarmUp(characters: number = 1 << 21): WarmUp {
  let left = characters
  return {
    take(length) {
      left -= length
      return left >= 0
    },
  }
}
