/**
 * A FIFO queue with constant cost per item. `Array.shift` moves every item behind the first: taking a hundred thousand
 * objects one by one would be ten billion moves.
 */
export interface Queue<T> {
  readonly length: number
  /** @returns the new length */
  push(item: T): number
  /** Removes and returns the oldest item; undefined if the queue is empty. */
  take(): T | undefined
}

/** The array is compacted when at least this many items, and half of it, have been taken. */
const minCompacted = 1024

export function emptyQueue<T>(): Queue<T> {
  let items: (T | undefined)[] = []
  let first = 0
  return {
    get length() {
      return items.length - first
    },
    push(item) {
      return items.push(item) - first
    },
    take() {
      if (first === items.length) return undefined
      const item = items[first]
      // Lets the item be garbage-collected.
      items[first++] = undefined
      if (first >= minCompacted && first * 2 >= items.length) {
        items = items.slice(first)
        first = 0
      }
      return item
    },
  }
}
