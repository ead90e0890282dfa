/**
 * Who counts as a member, from what a watch of their leases tells. Us it leaves out.
 *
 * A member counts from when it is seen until it has certainly stopped: it said so in its lease, or its lease has not
 * changed for as long as it lasts *and* a renewal of our own, sent after that, has come back through the watch. Events
 * come in the server's order, so nothing that the member did before then can still be on its way to us. A lease that
 * vanishes proves nothing: anybody may have deleted it while its holder works on.
 */
import type { Clock } from '../../clock/clock.ts'
import type { MemberRecord } from './member-lease.ts'
import { type Contender, beats } from './rendezvous.ts'
import { createSighting, type Sighting } from './sighting.ts'

export interface MemberTable {
  /** Those who count, in the order of their names. */
  readonly members: readonly MemberRecord[]
  see(record: MemberRecord): void
  /** Its lease is gone. */
  lose(name: string): void
  /** These are all there are. */
  replace(records: readonly MemberRecord[]): void
  /** The number of a renewal that is about to be sent. */
  sending(): number
  /** It has come back through the watch. */
  proven(renewal: number): void
  /** How many have come so far: what to give to `isBeatenSince`. */
  readonly arrivals: number
  /** Whether anybody who came after so many arrivals wins this item from `contender`. */
  isBeatenSince(arrivals: number, contender: Contender, item: string): boolean
  stop(): void
}

export interface MemberTableOptions {
  readonly clock: Clock
  /** Others count than before, or they are in another life. */
  readonly onChange: () => void
  /** A lease whose holder has stopped is still there. */
  readonly onRemains: (record: MemberRecord) => void
  /** A member has not renewed for as long as its lease lasts: it is out as soon as a renewal sent from now on is proven. */
  readonly onOverdue: () => void
}

interface Entry {
  record: MemberRecord
  readonly sighting: Sighting
  /** The first renewal of ours that was sent after it was overdue. */
  overdueFrom: number | undefined
  isOut: boolean
  isGone: boolean
}

export function createMemberTable({ clock, onChange, onRemains, onOverdue }: MemberTableOptions): MemberTable {
  const entries = new Map<string, Entry>()
  const arrived: Contender[] = []
  let members: readonly MemberRecord[] = []
  let next = 1

  /** Works out who counts, and tells when that has changed. */
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
      sighting: createSighting(clock, () => {
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
    entry.sighting.stop()
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
    entry.sighting.see(JSON.stringify([uid, record.life, record.renewal, record.isReleased]), record.lastsMs)
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
      for (const { sighting } of entries.values()) sighting.stop()
    },
  }
}
