/**
 * A secondary index: the objects that an index function gives a key for, found without a scan.
 *
 * It holds entries of a store, not objects: as long as an object keeps its keys, a change of it does not touch the
 * index. Which keys an object was filed under is asked of the index function again, so nothing is stored for it; the
 * function must give the same keys for the same object each time.
 */
import type { KubeObject } from '../kube/object.ts'

/** The place of one object in a store. It stays the same while the object changes. */
export interface StoreEntry<T extends KubeObject = KubeObject> {
  object: T
  bytes: number
}

export interface Index<T extends KubeObject = KubeObject> {
  /** Files an entry that has come, changed (`before` was its object) or gone (`after` is undefined). */
  update(entry: StoreEntry<T>, before: T | undefined, after: T | undefined): void
  /** In no particular order. */
  find(key: string): readonly T[]
  /** How many keys there are. */
  size(): number
}

export function createIndex<T extends KubeObject>(keysOf: (object: T) => readonly string[]): Index<T> {
  /** Most keys of most indexes have one entry: it needs no set around it. */
  const filed = new Map<string, StoreEntry<T> | Set<StoreEntry<T>>>()

  const add = (key: string, entry: StoreEntry<T>): void => {
    const held = filed.get(key)
    if (held === undefined) filed.set(key, entry)
    else if (held instanceof Set) held.add(entry)
    else if (held !== entry) filed.set(key, new Set([held, entry]))
  }

  const remove = (key: string, entry: StoreEntry<T>): void => {
    const held = filed.get(key)
    if (held === entry) filed.delete(key)
    else if (held instanceof Set && held.delete(entry) && held.size === 1) {
      for (const last of held) filed.set(key, last)
    }
  }

  return {
    update(entry, before, after) {
      const old = before === undefined ? [] : keysOf(before)
      const now = after === undefined ? [] : keysOf(after)
      for (const key of old) if (!now.includes(key)) remove(key, entry)
      for (const key of now) if (!old.includes(key)) add(key, entry)
    },
    find(key) {
      const held = filed.get(key)
      if (held === undefined) return []
      return held instanceof Set ? Array.from(held, ({ object }) => object) : [held.object]
    },
    size: () => filed.size,
  }
}

/** Every object belongs to its owners by their uids. */
export function ownerUids({ metadata }: KubeObject): readonly string[] {
  return metadata.ownerReferences?.map(({ uid }) => uid) ?? []
}
