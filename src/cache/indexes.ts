/**
 * A secondary index: finds objects by the keys that an index function returns for them.
 *
 * It holds entries of a store, not objects: a change of an object that keeps its keys does not touch the index. The old
 * keys of an object are computed again by the index function instead of being stored; so the function must be
 * deterministic.
 */
import type { KubeObject } from '../kube/object.ts'

/** The entry of one object in a store. It stays the same while the object changes. */
export interface StoreEntry<T extends KubeObject = KubeObject> {
  object: T
  bytes: number
}

export interface Index<T extends KubeObject = KubeObject> {
  /** Updates the index for an entry that was added, changed (from `before`) or removed (`after` is undefined). */
  update(entry: StoreEntry<T>, before: T | undefined, after: T | undefined): void
  /** In no particular order. */
  find(key: string): readonly T[]
  /** The number of keys. */
  size(): number
}

export function createIndex<T extends KubeObject>(keysOf: (object: T) => readonly string[]): Index<T> {
  /** Most keys have a single entry, which needs no set. */
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

/** The index function of `byOwner`. */
export function ownerUids({ metadata }: KubeObject): readonly string[] {
  return metadata.ownerReferences?.map(({ uid }) => uid) ?? []
}
