/**
 * The warm-up of a cache: its first objects are parsed plainly, and share nothing.
 *
 * Decoding by difference looks at single characters, in code that the engine must compile before it is fast. Compiling
 * costs a process some 10 MB and as much time as the first hundred Pods take: one that holds no more than those would
 * never earn it back. So the engine's own parser, compiled long ago, does the first two million characters of objects
 * that are new, and of changes to such objects. What they fail to share is bounded by the same figure; what comes after
 * them shares with them, and so do they from their first change after it.
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
