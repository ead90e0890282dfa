/**
 * Who read what: recorded reads by index entry and key. Most entries have one reader, and take a fifth of the memory of a map
 * of their own.
 */
import type { ViewRead } from '../../operator/view/view.ts'

type Reader = readonly [key: string, reads: ViewRead[]]

export class ReaderIndex {
  readonly #entries = new Map<string, Reader | Map<string, ViewRead[]>>()

  /** Whether the entry is new. */
  add(place: string, key: string, read: ViewRead): boolean {
    const entry = this.#entries.get(place)
    if (!entry) {
      this.#entries.set(place, [key, [read]])
      return true
    }
    if (entry instanceof Map) {
      const reads = entry.get(key)
      if (reads) reads.push(read)
      else entry.set(key, [read])
    } else if (entry[0] === key) entry[1].push(read)
    else
      this.#entries.set(
        place,
        new Map([
          [entry[0], entry[1]],
          [key, [read]],
        ]),
      )
    return false
  }

  /** Whether it was the last reader of the entry, which is gone with it. */
  remove(place: string, key: string): boolean {
    const entry = this.#entries.get(place)
    if (!entry) return false
    if (entry instanceof Map) {
      entry.delete(key)
      if (entry.size > 0) return false
    } else if (entry[0] !== key) return false
    return this.#entries.delete(place)
  }

  at(place: string): Iterable<Reader> {
    const entry = this.#entries.get(place)
    if (!entry) return []
    return entry instanceof Map ? entry : [entry]
  }

  keysAt(place: string): Iterable<string> {
    return Array.from(this.at(place), ([key]) => key)
  }
}
