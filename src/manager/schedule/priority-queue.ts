/** A binary heap: reads the smallest item in constant time, adds and removes in logarithmic time. */

export interface Heap<T> {
  size(): number
  peek(): T | undefined
  push(item: T): void
  pop(): T | undefined
}

export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = []

  const swap = (a: number, b: number): void => {
    const kept = items[a]!
    items[a] = items[b]!
    items[b] = kept
  }

  return {
    size: () => items.length,
    peek: () => items[0],
    push(item) {
      let at = items.push(item) - 1
      while (at > 0) {
        const above = (at - 1) >> 1
        if (!isBefore(items[at]!, items[above]!)) break
        swap(at, above)
        at = above
      }
    },
    pop() {
      const first = items[0]
      const last = items.pop()
      if (items.length === 0 || last === undefined) return first
      items[0] = last
      let at = 0
      for (;;) {
        let least = at
        for (const child of [2 * at + 1, 2 * at + 2]) {
          if (child < items.length && isBefore(items[child]!, items[least]!)) least = child
        }
        if (least === at) return first
        swap(at, least)
        at = least
      }
    },
  }
}
