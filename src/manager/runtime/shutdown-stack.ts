/** How what was begun ends: the last one first, and each is tried, whatever becomes of the others. */
export interface Endings {
  add(end: () => Promise<void> | void): void
  /** What is added later ends when it is called again. @throws the first failure, once all were tried */
  readonly close: () => Promise<void>
}

export function createEndings(): Endings {
  const ends: (() => Promise<void> | void)[] = []
  return {
    add: (end) => void ends.push(end),
    close: async () => {
      const failures: unknown[] = []
      for (let end = ends.pop(); end; end = ends.pop()) {
        try {
          await end()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}
