/**
 * Which states of an object a consumer made itself.
 *
 * Two promises rest on this record. *Read your own writes*: the answer of a write enters the cache at once, and what
 * the watch still delivers from before it does not undo it. *No echo*: the watch event of a consumer's own write does
 * not wake that consumer. The filter knows exact resource versions, never "the next event": a foreign change that
 * slips in between is a version nobody here wrote, so it always gets through.
 */

/** Writes of one object whose echo may still come. */
interface Pending {
  /** Version written → who wrote it. */
  readonly versions: Map<string, string>
  /** Consumers with a request under way: their events wait until the answer tells which version was theirs. */
  readonly inFlight: Map<string, number>
}

/** A write whose echo has not been seen. */
export interface Echo {
  readonly key: string
  readonly consumer: string
}

export interface OwnWrites {
  begin(key: string, consumer: string): void
  /** The request ended. `version` is what it wrote, if it is known to have written. */
  end(key: string, consumer: string, version: string | undefined): void
  /** Is a write of this consumer under way? Then its events are held back until `end`. */
  isInFlight(key: string, consumer: string): boolean
  /** Did this consumer write this version of the object? */
  isOwn(key: string, version: string, consumer: string): boolean
  /**
   * Consumers who wrote a version later than this one, which is not theirs: a foreign change hides beneath their own.
   * `gone` names the delete that the version is, if it is one.
   */
  laterWriters(key: string, version: string, gone?: string): readonly string[]
  /** The watch told of this delete, or had done so before the answer came: its echo cannot come any more. */
  ended(key: string, gone: string): void
  /** The watch delivered this version of the object: earlier echoes of it cannot come any more. */
  seen(key: string, version: string): void
  /**
   * The watch as a whole has passed this version, so the echoes up to it cannot come any more.
   * Returns whose they were: after a list they must look again, since it may hold foreign changes beneath theirs.
   */
  passed(version: string): readonly Echo[]
  /** As `passed`, by a list, which settles deletes too. */
  relisted(version: string): readonly Echo[]
  /** Objects that this consumer is writing, or has written with the echo still to come. */
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

  /** Forgets the versions up to the limit; `each` hears of them. */
  const forget = (key: string, isUpTo: (version: string) => boolean, each?: (consumer: string) => void): void => {
    const pending = objects.get(key)
    if (!pending) return
    for (const [version, consumer] of pending.versions) {
      if (!isUpTo(version)) continue
      each?.(consumer)
      // What is held back for this consumer will be compared with its versions when the last answer is there.
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
    seen: (key, limit) => forget(key, (version) => !isGoneVersion(version) && !isLater(version, limit)),
    passed: (limit) => forgetAll((version) => !isGoneVersion(version) && !isLater(version, limit)),
    relisted: (limit) => forgetAll((version) => !isLater(version, limit)),
    unsettled: (consumer) =>
      [...objects]
        .filter(([, { versions, inFlight }]) => inFlight.has(consumer) || [...versions.values()].includes(consumer))
        .map(([key]) => key),
    size: () => objects.size,
  }
}

/** Stands for the version of a delete, which no answer tells. */
export function goneVersion(uid: string | undefined): string {
  return `gone ${uid ?? ''}`
}

export function isGoneVersion(version: string): boolean {
  return version.startsWith('gone ')
}

/**
 * Order of resource versions. They are decimal numbers of any length, comparable within one resource of one server.
 * A version in another form cannot be ordered, and counts as not later: nothing is held back on its account.
 */
export function isLater(a: string, b: string): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return false
  return a.length === b.length ? a > b : a.length > b.length
}

function isDecimal(version: string): boolean {
  return /^\d+$/.test(version)
}
