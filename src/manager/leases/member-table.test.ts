import { beforeEach, describe, expect, it } from 'vitest'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { type MemberRecord, readMember, releasedLease, writeMember } from './member-lease.ts'
import { createMemberTable, type MemberTable } from './member-table.ts'

const group = { namespace: 'default', name: 'muster' }
let clock: VirtualClock
let table: MemberTable
let changes: number
let remains: string[]
/** When a renewal was wanted. */
let overdue: number[]

beforeEach(() => {
  clock = virtualClock()
  const begun = clock.now()
  changes = 0
  remains = []
  overdue = []
  table = createMemberTable({
    clock,
    onChange: () => void changes++,
    onRemains: ({ name }) => void remains.push(name),
    onOverdue: () => void overdue.push(clock.now() - begun),
  })
})

function record(identity: string, renewal: number, { life = 'x.0', weight = 1 } = {}): MemberRecord {
  const said = { group, identity, weight, life, since: 0, renewal, counts: [], leaseDurationMs: 15_000 }
  return readMember(writeMember(undefined, said, 0), 1)
}

const released = (one: MemberRecord): MemberRecord => readMember(releasedLease(one.lease, 0), 1)
const names = (): readonly string[] => table.members.map(({ identity }) => identity)

describe('who counts', () => {
  it('one who is seen counts, and each renewal lets it count on', async () => {
    for (let renewal = 1; renewal < 5; renewal++) {
      table.see(record('a', renewal))
      await clock.advance(14_000)
      table.proven(table.sending())
    }
    expect([names(), changes]).toEqual([['a'], 1])
  })

  it('an overdue one is given up by a renewal that was sent since, not by one that was sent before', async () => {
    table.see(record('a', 1))
    await clock.advance(14_000)
    const before = table.sending()
    await clock.advance(2_000)
    table.proven(before)
    expect(names()).toEqual(['a'])
    table.proven(table.sending())
    expect([names(), remains]).toEqual([[], ['muster-a']])
  })

  it('reports at once that a member is overdue, once, and not for members that have left', async () => {
    table.see(record('a', 1))
    table.see(released(record('b', 1)))
    await clock.advance(5_000)
    table.see(record('a', 2))
    await clock.advance(60_000)
    expect(overdue).toEqual([20_000])
  })

  it('one that was given up counts again when it renews, not when it is seen again', async () => {
    table.see(record('a', 1))
    await clock.advance(15_000)
    table.proven(table.sending())
    table.replace([record('a', 1)])
    table.see(record('a', 1))
    expect(names()).toEqual([])
    table.see(record('a', 2))
    expect(names()).toEqual(['a'])
  })

  it('one that says that it leaves counts no more at once', () => {
    const a = record('a', 1)
    table.see(a)
    table.see(released(a))
    expect(names()).toEqual([])
  })

  it('one whose lease vanishes counts until it is overdue, seen or listed', async () => {
    table.replace([record('a', 1), record('b', 1)])
    table.lose('muster-a')
    table.replace([])
    await clock.advance(14_000)
    table.proven(table.sending())
    expect(names()).toEqual(['a', 'b'])
    await clock.advance(1_000)
    table.proven(table.sending())
    // What vanished leaves nothing to clear away.
    expect([names(), remains]).toEqual([[], []])
  })

  it('released leases that are found are to be cleared away', () => {
    table.replace([released(record('a', 1))])
    expect([names(), remains, changes]).toEqual([[], ['muster-a'], 0])
  })

  it('another life is a change, another renewal is none', () => {
    table.see(record('a', 1))
    table.see(record('a', 2))
    expect(changes).toBe(1)
    table.see(record('a', 3, { life: 'x.1' }))
    expect(changes).toBe(2)
  })

  it('arrivals since a moment are those who came since, and who changed their weight', () => {
    table.see(record('a', 1))
    const then = table.arrivals
    const nobody = { name: 'muster-0', weight: 1e-9 }
    expect(table.isBeatenSince(then, nobody, 'item')).toBe(false)
    table.see(record('a', 2))
    expect(table.isBeatenSince(then, nobody, 'item')).toBe(false)
    table.see(record('a', 3, { weight: 2 }))
    expect(table.isBeatenSince(then, nobody, 'item')).toBe(true)
    expect(table.isBeatenSince(table.arrivals, nobody, 'item')).toBe(false)
  })
})
