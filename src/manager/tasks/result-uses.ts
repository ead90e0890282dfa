/** Which results of ephemeral tasks are in use: one that the last of its users gives up for another is dropped. */
interface ResultUses {
  /** The user has these results from now on, by key, and no others. */
  set(user: object, keys: ReadonlySet<string>): void
}

const none: ReadonlySet<string> = new Set()

export function createResultUses(drop: (key: string) => void): ResultUses {
  /** By user. */
  const used = new Map<object, ReadonlySet<string>>()
  /** The number of users, by key. */
  const counts = new Map<string, number>()
  return {
    set(user, keys) {
      const before = used.get(user) ?? none
      if (keys.size === 0) used.delete(user)
      else used.set(user, keys)
      for (const key of keys) if (!before.has(key)) counts.set(key, (counts.get(key) ?? 0) + 1)
      for (const key of before) {
        if (keys.has(key)) continue
        const left = (counts.get(key) ?? 1) - 1
        if (left > 0) counts.set(key, left)
        else {
          counts.delete(key)
          drop(key)
        }
      }
    },
  }
}
