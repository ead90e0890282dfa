/** Picking by chance, so that a seed says it all. */
import { type Random, seededRandom } from '../../../src/clock/random.ts'

export interface Chance {
  /** True once in so many times. */
  once(inTimes: number): boolean
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  /** By weight. */
  weigh<T>(items: readonly (readonly [weight: number, item: T])[]): T
}

export function chanceOf(seed: number): Chance {
  const random: Random = seededRandom(seed)
  const below = (limit: number): number => Math.floor(random.next() * limit)
  return {
    once: (inTimes) => below(inTimes) === 0,
    below,
    pick: (items) => items[below(items.length)]!,
    weigh(items) {
      let rest = below(items.reduce((sum, [weight]) => sum + weight, 0))
      for (const [weight, item] of items) {
        if (rest < weight) return item
        rest -= weight
      }
      throw new Error('no weights')
    },
  }
}
