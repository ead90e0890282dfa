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

it('a lease belongs to the Pod of its replica, and goes with it', () => {
  const said = { group, identity: 'a', weight: 1, life: 'x.0', since: 0, renewal: 1, counts: [], leaseDurationMs: 1000 }
  const owned = writeMember(undefined, { ...said, pod: { name: 'muster-1', uid: 'u1' } }, 0)
  expect(owned.metadata.ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'Pod', name: 'muster-1', uid: 'u1' }])
  expect(writeMember(undefined, said, 0).metadata).not.toHaveProperty('ownerReferences')
})

describe('live members', () => {
  it('a member counts when seen, and longer with each renewal', async () => {
    for (let renewal = 1; renewal < 5; renewal++) {
      table.see(record('a', renewal))
      await clock.advance(14_000)
      table.proven(table.sending())
    }
    expect([names(), changes]).toEqual([['a'], 1])
  })

  it('an overdue member is removed by a renewal that was sent afterwards, not by an earlier one', async () => {
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

  it('a removed member counts again when it renews, not when it is seen again', async () => {
    table.see(record('a', 1))
    await clock.advance(15_000)
    table.proven(table.sending())
    table.replace([record('a', 1)])
    table.see(record('a', 1))
    expect(names()).toEqual([])
    table.see(record('a', 2))
    expect(names()).toEqual(['a'])
  })

  it('a leaving member stops counting at once', () => {
    const a = record('a', 1)
    table.see(a)
    table.see(released(a))
    expect(names()).toEqual([])
  })

  it('a member whose lease vanishes counts until it is overdue, seen or listed', async () => {
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

  it('released leases are deleted', () => {
    table.replace([released(record('a', 1))])
    expect([names(), remains, changes]).toEqual([[], ['muster-a'], 0])
  })

  it('a restart is a change, a renewal is not', () => {
    table.see(record('a', 1))
    table.see(record('a', 2))
    expect(changes).toBe(1)
    table.see(record('a', 3, { life: 'x.1' }))
    expect(changes).toBe(2)
  })

  it('arrivals since a time are the members that joined or changed their weight since', () => {
    table.see(record('a', 1))
    const then = table.arrivals
    const lightest = { name: 'muster-0', weight: 1e-9 }
    expect(table.isBeatenSince(then, lightest, 'item')).toBe(false)
    table.see(record('a', 2))
    expect(table.isBeatenSince(then, lightest, 'item')).toBe(false)
    table.see(record('a', 3, { weight: 2 }))
    expect(table.isBeatenSince(then, lightest, 'item')).toBe(true)
    expect(table.isBeatenSince(table.arrivals, lightest, 'item')).toBe(false)
  })
})
