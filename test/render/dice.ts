/** Random choices that a seed repeats. */
export class Dice {
  private state: number

  constructor(seed: number) {
    this.state = (seed * 2654435761 + 1) >>> 0
    for (let warm = 0; warm < 5; warm++) this.next()
  }

  private next(): number {
    // xorshift32
    let x = this.state || 1
    x ^= x << 13
    x >>>= 0
    x ^= x >>> 17
    x ^= x << 5
    x >>>= 0
    this.state = x
    return x / 2 ** 32
  }

  /** A whole number from 0 to below the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }

  /** A list of up to `most` items. */
  times<Item>(most: number, make: () => Item): Item[] {
    return Array.from({ length: this.below(most + 1) }, make)
  }
}
