/**
 * A queue whose cost per item does not grow with its length. `Array.shift` moves every item behind the first: of a hundred
 * thousand objects, taken one by one, that is ten billion moves.
 */
export interface Queue<T> {
  readonly length: number
  /** @returns the new length */
  push(item: T): number
  /** The oldest item; undefined when there is none. */
  take(): T | undefined
}

/** From here on, and when at least half of the array is empty, the rest moves to the front. */
const leastMoved = 1024

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
      // What has been taken is garbage.
      items[first++] = undefined
      if (first >= leastMoved && first * 2 >= items.length) {
        items = items.slice(first)
        first = 0
      }
      return item
    },
  }
}
