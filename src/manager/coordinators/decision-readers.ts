/**
 * Who reads which decision: the CRs of one controller, by coordinator and key of the decision. Most decisions have one reader,
 * which then takes no set of its own.
 */

export class DecisionReaders {
  /** By decision. */
  readonly #readers = new Map<string, string | Set<string>>()
  /** By reader. */
  readonly #reads = new Map<string, Set<string>>()

  /** A reconcile in progress has read this decision. */
  add(reader: string, coordinator: string, key: string): void {
    const decision = decisionOf(coordinator, key)
    const reads = this.#reads.get(reader)
    if (reads?.has(decision)) return
    if (reads) reads.add(decision)
    else this.#reads.set(reader, new Set([decision]))
    const known = this.#readers.get(decision)
    if (known === undefined) this.#readers.set(decision, reader)
    else if (typeof known === 'string') this.#readers.set(decision, new Set([known, reader]))
    else known.add(reader)
  }

  /** The reconcile has ended: its earlier reads are over, except for these. */
  keepOnly(reader: string, kept: readonly (readonly [coordinator: string, key: string])[]): void {
    const decisions = new Set(kept.map(([coordinator, key]) => decisionOf(coordinator, key)))
    const reads = this.#reads.get(reader)
    for (const decision of reads ?? []) {
      if (decisions.has(decision)) continue
      reads!.delete(decision)
      this.#remove(decision, reader)
    }
    if (reads?.size === 0) this.#reads.delete(reader)
  }

  /** The readers of any of these decisions. */
  of(coordinator: string, keys: Iterable<string>): ReadonlySet<string> {
    const found = new Set<string>()
    for (const key of keys) {
      const readers = this.#readers.get(decisionOf(coordinator, key))
      if (typeof readers === 'string') found.add(readers)
      else for (const reader of readers ?? []) found.add(reader)
    }
    return found
  }

  /** How much is remembered. */
  get size(): number {
    return this.#readers.size + this.#reads.size
  }

  #remove(decision: string, reader: string): void {
    const known = this.#readers.get(decision)
    if (known === reader) this.#readers.delete(decision)
    if (typeof known !== 'object') return
    known.delete(reader)
    if (known.size === 0) this.#readers.delete(decision)
  }
}

/** A name of a coordinator has no space. */
function decisionOf(coordinator: string, key: string): string {
  return `${coordinator} ${key}`
}
