/** Results in memory, up to a number of bytes: the least recently used is dropped, and worked out again when it is asked for. */
import type { Json } from '../../kube/json.ts'
import type { Task } from '../../operator/task/task.ts'

export interface StoredResult {
  readonly task: Task
  /** Frozen. */
  readonly value: Json
  /** As JSON in UTF-8. */
  readonly bytes: number
}

interface ResultStore {
  readonly bytes: number
  get(key: string): StoredResult | undefined
  set(key: string, result: StoredResult): void
  drop(key: string): void
}

export function createResultStore(maxBytes: number): ResultStore {
  /** The least recently used first. */
  const results = new Map<string, StoredResult>()
  let bytes = 0
  const drop = (key: string): void => {
    bytes -= results.get(key)?.bytes ?? 0
    results.delete(key)
  }
  return {
    drop,
    get bytes() {
      return bytes
    },
    get(key) {
      const found = results.get(key)
      if (!found) return undefined
      results.delete(key)
      results.set(key, found)
      return found
    },
    set(key, result) {
      drop(key)
      results.set(key, result)
      bytes += result.bytes
      for (const oldest of results.keys()) {
        if (bytes <= maxBytes) return
        drop(oldest)
      }
    },
  }
}
