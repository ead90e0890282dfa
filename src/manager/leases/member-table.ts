/**
 * Which replicas count as members, from a watch of their leases. The own replica is not included.
 *
 * A member counts from when it is seen until it has certainly stopped: it said so in its lease, or its lease has not
 * changed for its duration *and* a renewal of our own, sent after that, has come back through the watch. Watch events
 * arrive in the server's order, so no earlier change by the member can still be on its way. A deleted lease proves
 * nothing: it may have been deleted while its holder works on.
 */
import type { Clock } from '../../clock/clock.ts'
import type { MemberRecord } from './member-lease.ts'
import { type Contender, beats } from './rendezvous.ts'
import { observeLease, type LeaseObservation } from './lease-observation.ts'

export interface MemberTable {
  /** Members that count, ordered by name. */
  readonly members: readonly MemberRecord[]
  see(record: MemberRecord): void
  /** Its lease was deleted. */
  lose(name: string): void
  /** The complete list of leases. */
  replace(records: readonly MemberRecord[]): void
  /** Returns the number of a renewal that is about to be sent. */
  sending(): number
  /** The renewal has come back through the watch. */
  proven(renewal: number): void
  /** How many members have arrived so far: the argument of `isBeatenSince`. */
  readonly arrivals: number
  /** Whether a member that arrived after so many arrivals wins this item from `contender`. */
  isBeatenSince(arrivals: number, contender: Contender, item: string): boolean
  stop(): void
}

interface MemberTableOptions {
  readonly clock: Clock
  /** The members have changed, or one of them is in a new life. */
  readonly onChange: () => void
  /** The lease of a stopped member still exists. */
  readonly onRemains: (record: MemberRecord) => void
  /**
   * A member has not renewed within its lease duration: it is removed as soon as a renewal sent from now on is proven.
   */
  readonly onOverdue: () => void
}

interface Entry {
  record: MemberRecord
  readonly observation: LeaseObservation
  /** Our first renewal that was sent after it became overdue. */
  overdueFrom: number | undefined
  isOut: boolean
  isGone: boolean
}

export function createMemberTable({ clock, onChange, onRemains, onOverdue }: MemberTableOptions): MemberTable {
  const entries = new Map<string, Entry>()
  const arrived: Contender[] = []
  let members: readonly MemberRecord[] = []
  let next = 1

  /** Recomputes the members, and reports a change. */
  const settle = (): void => {
    const before = members
    members = [...entries.values()]
      .filter(({ isOut }) => !isOut)
      .map(({ record }) => record)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    const lives = (records: readonly MemberRecord[]): string =>
      JSON.stringify(records.map(({ name, life, weight }) => [name, life, weight]))
    const known = new Map(before.map(({ name, weight }) => [name, weight]))
    for (const { name, weight } of members) if (known.get(name) !== weight) arrived.push({ name, weight })
    if (lives(before) !== lives(members)) onChange()
  }

  const open = (record: MemberRecord): Entry => {
    const entry: Entry = {
      record,
      observation: observeLease(clock, () => {
        entry.overdueFrom = next
        if (!entry.isOut) onOverdue()
      }),
      overdueFrom: undefined,
      isOut: true,
      isGone: false,
    }
    entries.set(record.name, entry)
    return entry
  }

  const forget = (entry: Entry): void => {
    entry.observation.stop()
    entries.delete(entry.record.name)
  }

  const note = (record: MemberRecord): void => {
    const entry = entries.get(record.name) ?? open(record)
    const { life, renewal, isReleased } = entry.record
    const isNew = entry.isOut && entry.overdueFrom === undefined
    const hasMoved = record.life !== life || record.renewal !== renewal || record.isReleased !== isReleased
    entry.record = record
    entry.isGone = false
    if (isNew || hasMoved) {
      entry.overdueFrom = undefined
      entry.isOut = record.isReleased
    }
    const { uid = '' } = record.lease.metadata
    entry.observation.update(JSON.stringify([uid, record.life, record.renewal, record.isReleased]), record.lastsMs)
  }

  const miss = (entry: Entry): void => {
    entry.isGone = true
    if (entry.isOut) forget(entry)
  }

  return {
    get members() {
      return members
    },
    see(record) {
      note(record)
      settle()
    },
    lose(name) {
      const entry = entries.get(name)
      if (entry) miss(entry)
      settle()
    },
    replace(records) {
      const names = new Set(records.map(({ name }) => name))
      for (const entry of entries.values()) if (!names.has(entry.record.name)) miss(entry)
      for (const record of records) note(record)
      settle()
      for (const { isOut, record } of entries.values()) if (isOut) onRemains(record)
    },
    sending: () => next++,
    proven(renewal) {
      const remains: MemberRecord[] = []
      for (const entry of entries.values()) {
        if (entry.isOut || entry.overdueFrom === undefined || entry.overdueFrom > renewal) continue
        entry.isOut = true
        if (entry.isGone) forget(entry)
        else remains.push(entry.record)
      }
      settle()
      for (const record of remains) onRemains(record)
    },
    get arrivals() {
      return arrived.length
    },
    isBeatenSince: (arrivals, contender, item) =>
      arrived.slice(arrivals).some((newcomer) => beats(newcomer, contender, item)),
    stop() {
      for (const { observation } of entries.values()) observation.stop()
    },
  }
}
