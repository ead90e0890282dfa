/** The source of randomness. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
}

export const systemRandom: Random = { next: () => Math.random() }

/** The same seed gives the same numbers (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
  }
}

/** `ms` with jitter over [1 − share, 1 + share), so that many waiters do not wake at the same time. */
export function jitter(ms: number, random: Random, share = 0.2): number {
  return ms * (1 + share * (2 * random.next() - 1))
}
