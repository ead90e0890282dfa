/**
 * Tells a writer's own changes from those of others.
 *
 * The watch event of a write (its echo) may arrive before the response. While a write of an object is in flight, it is
 * unknown which version is the writer's own: changes of that object are withheld from the writer until the response
 * names it. The filter compares exact versions, never "the next event": a foreign change in between has a version that
 * the writer did not write.
 *
 * After the response the filter remembers nothing: by then the cache holds that version, so no event for it follows.
 */
export class EchoFilter<Change> {
  readonly #versionsOf: (change: Change) => readonly string[]
  /** By object, then by writer. */
  readonly #inFlight = new Map<string, Map<string, InFlight<Change>>>()

  /** `versionsOf`: the versions that a change may be known by. */
  constructor(versionsOf: (change: Change) => readonly string[]) {
    this.#versionsOf = versionsOf
  }

  begin(writer: string, object: string): void {
    let writers = this.#inFlight.get(object)
    if (!writers) this.#inFlight.set(object, (writers = new Map()))
    const writing = writers.get(writer)
    if (writing) writing.count++
    else writers.set(writer, { count: 1, versions: new Set(), withheld: [] })
  }

  /**
   * A write has ended; `version` is what it wrote, if it is known to have written. Returns the withheld changes once no
   * other write of the object by this writer is in flight.
   */
  end(writer: string, object: string, version: string | undefined): Withheld<Change> | undefined {
    const writers = this.#inFlight.get(object)
    const writing = writers?.get(writer)
    if (!writers || !writing) return undefined
    if (version !== undefined) writing.versions.add(version)
    if (--writing.count > 0) return undefined
    writers.delete(writer)
    if (writers.size === 0) this.#inFlight.delete(object)
    const isOwn = (change: Change): boolean => this.#versionsOf(change).some((each) => writing.versions.has(each))
    return {
      foreign: writing.withheld.filter((change) => !isOwn(change)),
      own: writing.withheld.filter(isOwn),
    }
  }

  /** Whether the change is withheld from the writer, because a write of the object is in flight. */
  withholds(writer: string, object: string, change: Change): boolean {
    const writing = this.#inFlight.get(object)?.get(writer)
    if (!writing) return false
    // Several listeners of one writer: each change is withheld once.
    if (writing.withheld.at(-1) !== change) writing.withheld.push(change)
    return true
  }

  /** The writers with a write of the object in flight. */
  writers(object: string): readonly string[] {
    return [...(this.#inFlight.get(object)?.keys() ?? [])]
  }

  /** The changes withheld from this writer, by object. */
  withheldFrom(writer: string): ReadonlyMap<string, readonly Change[]> {
    const found = new Map<string, readonly Change[]>()
    for (const [object, writers] of this.#inFlight) {
      const writing = writers.get(writer)
      if (writing) found.set(object, writing.withheld)
    }
    return found
  }

  get isEmpty(): boolean {
    return this.#inFlight.size === 0
  }
}

interface InFlight<Change> {
  count: number
  /** What its writes that have ended wrote. */
  readonly versions: Set<string>
  readonly withheld: Change[]
}

/** Changes that arrived while a write was in flight. */
interface Withheld<Change> {
  readonly foreign: readonly Change[]
  readonly own: readonly Change[]
}
