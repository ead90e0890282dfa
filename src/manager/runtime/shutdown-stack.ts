/** Shutdown functions, called in reverse order. A failing one does not prevent the others. */
export interface Endings {
  add(end: () => Promise<void> | void): void
  /** Functions added later are called by the next `close`. @throws the first failure, after all were called */
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
