/**
 * Which resource versions of an object each consumer wrote itself.
 *
 * Two guarantees rest on this record. *Read your own writes*: the response of a write enters the cache at once, and older
 * watch events do not undo it. *No echo*: the watch event of a consumer's own write is not delivered to that consumer. The
 * filter compares exact resource versions, never "the next event": a foreign change in between has a version that no
 * consumer wrote, so it is always delivered.
 */

/** Writes of one object whose watch event (echo) is still expected. */
interface Pending {
  /** Version written → the consumer that wrote it. */
  readonly versions: Map<string, string>
  /** Consumers with a request in flight: their events wait until the response tells which version is theirs. */
  readonly inFlight: Map<string, number>
}

/** A write whose watch event has not arrived. */
interface Echo {
  readonly key: string
  readonly consumer: string
}

export interface OwnWrites {
  begin(key: string, consumer: string): void
  /** The request ended. `version` is what it wrote, if it is known to have written. */
  end(key: string, consumer: string, version: string | undefined): void
  /** Is a write of this consumer in flight? Then its events are held back until `end`. */
  isInFlight(key: string, consumer: string): boolean
  /** Did this consumer write this version of the object? */
  isOwn(key: string, version: string, consumer: string): boolean
  /**
   * Consumers that wrote a later version than this foreign one: their own write hides the foreign change.
   * `gone` identifies the delete, if the change is one.
   */
  laterWriters(key: string, version: string, gone?: string): readonly string[]
  /** The watch has delivered this delete (perhaps before the response came): no echo is expected any more. */
  ended(key: string, gone: string): void
  /** The watch delivered this version of the object: no echo of an earlier version can follow. */
  seen(key: string, version: string): void
  /**
   * The watch as a whole has passed this version, so no echo up to it can follow. Returns the dropped echoes: after a list
   * their consumers must be notified, since the list may contain foreign changes before their own.
   */
  passed(version: string): readonly Echo[]
  /** As `passed`, by a list, which covers deletes too. */
  relisted(version: string): readonly Echo[]
  /** Objects that this consumer is writing, or has written with the echo still expected. */
  unsettled(consumer: string): readonly string[]
  size(): number
}

export function ownWrites(): OwnWrites {
  const objects = new Map<string, Pending>()

  const pendingOf = (key: string): Pending => {
    let pending = objects.get(key)
    if (!pending) objects.set(key, (pending = { versions: new Map(), inFlight: new Map() }))
    return pending
  }

  /** Drops the versions that `isUpTo` selects; calls `each` for them. */
  const forget = (key: string, isUpTo: (version: string) => boolean, each?: (consumer: string) => void): void => {
    const pending = objects.get(key)
    if (!pending) return
    for (const [version, consumer] of pending.versions) {
      if (!isUpTo(version)) continue
      each?.(consumer)
      // Events held back for this consumer are compared with its versions when the last response has arrived.
      if (!pending.inFlight.has(consumer)) pending.versions.delete(version)
    }
    drop(key, pending)
  }

  const forgetAll = (isUpTo: (version: string) => boolean): readonly Echo[] => {
    const echoes: Echo[] = []
    for (const key of objects.keys()) forget(key, isUpTo, (consumer) => echoes.push({ key, consumer }))
    return echoes
  }

  const drop = (key: string, { versions, inFlight }: Pending): void => {
    if (versions.size === 0 && inFlight.size === 0) objects.delete(key)
  }

  return {
    begin(key, consumer) {
      const { inFlight } = pendingOf(key)
      inFlight.set(consumer, (inFlight.get(consumer) ?? 0) + 1)
    },
    end(key, consumer, version) {
      const pending = pendingOf(key)
      const left = (pending.inFlight.get(consumer) ?? 1) - 1
      if (left > 0) pending.inFlight.set(consumer, left)
      else pending.inFlight.delete(consumer)
      if (version !== undefined) pending.versions.set(version, consumer)
      drop(key, pending)
    },
    isInFlight: (key, consumer) => objects.get(key)?.inFlight.has(consumer) ?? false,
    isOwn: (key, version, consumer) => objects.get(key)?.versions.get(version) === consumer,
    laterWriters(key, version, gone = version) {
      const versions = objects.get(key)?.versions
      if (!versions) return []
      const author = versions.get(version) ?? versions.get(gone)
      const later = [...versions].filter(([written, consumer]) => consumer !== author && isLater(written, version))
      return [...new Set(later.map(([, consumer]) => consumer))]
    },
    ended: (key, gone) => forget(key, (version) => version === gone),
    seen: (key, limit) => forget(key, (version) => !isDeleteVersion(version) && !isLater(version, limit)),
    passed: (limit) => forgetAll((version) => !isDeleteVersion(version) && !isLater(version, limit)),
    relisted: (limit) => forgetAll((version) => !isLater(version, limit)),
    unsettled: (consumer) =>
      [...objects]
        .filter(([, { versions, inFlight }]) => inFlight.has(consumer) || [...versions.values()].includes(consumer))
        .map(([key]) => key),
    size: () => objects.size,
  }
}

/** Stands for the resource version of a delete, which no response contains. */
export function deleteVersion(uid: string | undefined): string {
  return `gone ${uid ?? ''}`
}

export function isDeleteVersion(version: string): boolean {
  return version.startsWith('gone ')
}

/**
 * Order of resource versions. They are decimal numbers of any length, comparable within one resource of one server.
 * A version in another form cannot be ordered and counts as not later: no event is held back because of it.
 */
export function isLater(a: string, b: string): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return false
  return a.length === b.length ? a > b : a.length > b.length
}

function isDecimal(version: string): boolean {
  return /^\d+$/.test(version)
}
