/**
 * The indexes of items whose key an earlier item has. One pass over the list, where `findIndex` for each item would
 * compare every pair: a list of sixty thousand ports has two billion pairs.
 */
export function repetitions<T>(items: readonly T[], keyOf: (item: T) => unknown): ReadonlySet<number> {
  const seen = new Set<unknown>()
  const repeated = new Set<number>()
  for (const [index, item] of items.entries()) {
    const key = keyOf(item)
    if (seen.has(key)) repeated.add(index)
    seen.add(key)
  }
  return repeated
}

/** For values that are their own keys. */
export function repeatedValues(values: readonly unknown[]): ReadonlySet<number> {
  return repetitions(values, (value) => value)
}
