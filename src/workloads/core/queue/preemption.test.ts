import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { createNodeTable } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueueOptions } from './queue-state.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { QueuePolicies, QuotaLimit, QuotaNode } from '../quota/quota-node.ts'
import { createQuotaTree } from '../quota/quota-tree.ts'

const reclaiming: Partial<QueuePolicies> = { withinQueue: 'LowerPriority', reclaim: 'Any' }

function node(
  name: string,
  parent: string | undefined,
  limit: QuotaLimit,
  policies: Partial<QueuePolicies> = reclaiming,
): QuotaNode {
  return { name, ...(parent !== undefined && { parent }), limits: new Map([['cpu', limit]]), policies }
}

function workload(id: string, queue: string, cpu: number, more: Partial<QueuedWorkload> = {}): QueuedWorkload {
  const groups = [{ shape: makePodShape(new Map([['cpu', cpu]])), count: 1 }]
  return { id, queue, priority: 0, since: 0, groups, ...more }
}

function quotaQueue(nodes: readonly QuotaNode[], options: QueueOptions = {}) {
  const quota = createQuotaTree()
  quota.setNodes(nodes)
  const queue = createAdmissionQueue(undefined, quota, options)
  /** Decides, lets those that are evicted go and wait again, and decides again. */
  const turn = (now: number, all: readonly QueuedWorkload[] = []): readonly string[] => {
    const first = queue.decide(now)
    for (const { id } of first.evictions) {
      queue.remove(id)
      const again = all.find((one) => one.id === id)
      if (again) queue.add(again)
    }
    const second = first.evictions.length > 0 ? queue.decide(now) : { starts: [] }
    return [
      ...first.evictions.map(({ id }) => `-${id}`),
      ...[...first.starts, ...second.starts].map(({ workload: { id } }) => `+${id}`),
    ]
  }
  return { quota, queue, turn }
}

describe('preemption', () => {
  it('evicts the fewest, the lowest priority and the newest, and starts when they are gone', () => {
    const { queue } = quotaQueue([node('gold', undefined, { nominal: 6 })])
    for (const [id, cpu, priority, startedAt] of [
      ['old', 2, 0, 1],
      ['new', 2, 0, 2],
      ['higher', 2, 1, 3],
    ] as const)
      queue.restore(workload(id, 'gold', cpu, { priority, startedAt }))
    queue.add(workload('urgent', 'gold', 2, { priority: 9 }))
    expect(queue.decide(10).evictions).toEqual([{ id: 'new', reason: 'Preempted', by: 'urgent' }])
    expect(queue.explain('urgent', 10)).toEqual({ kind: 'Preempting', victims: 1 })
    expect(queue.decide(11).evictions).toEqual([])
    queue.remove('new')
    expect(queue.decide(12).starts.map((one) => one.workload.id)).toEqual(['urgent'])
  })

  it('keeps the room of those that leave for the one that they leave for', () => {
    const { queue } = quotaQueue([node('gold', undefined, { nominal: 6 })])
    for (const id of ['a', 'b', 'c']) queue.restore(workload(id, 'gold', 2, { startedAt: 1 }))
    queue.add(workload('urgent', 'gold', 4, { priority: 9 }))
    expect(queue.decide(10).evictions.map(({ id }) => id)).toEqual(['c', 'b'])
    queue.add(workload('small', 'gold', 2))
    queue.remove('c')
    expect(queue.decide(11).starts).toEqual([])
    expect(queue.explain('small', 11)).toEqual({ kind: 'Reserved', by: 'urgent' })
    queue.remove('b')
    expect(queue.decide(12).starts.map((one) => one.workload.id)).toEqual(['urgent'])
  })

  it('leaves those alone that have not run for their minimum yet, and says when to ask again', () => {
    const { queue } = quotaQueue([node('gold', undefined, { nominal: 2 })])
    queue.restore(workload('young', 'gold', 2, { startedAt: 5, minimumRunMs: 100 }))
    queue.add(workload('urgent', 'gold', 2, { priority: 1 }))
    expect(queue.decide(10)).toEqual({ starts: [], evictions: [], again: 105 })
    expect(queue.decide(105).evictions.map(({ id }) => id)).toEqual(['young'])
  })

  it('starts the high one and sends the low one back, of one queue (gold 600m)', () => {
    const { queue, turn } = quotaQueue([
      node('root', undefined, { nominal: 0 }),
      node('gold', 'root', { nominal: 600, borrowing: 0 }),
    ])
    queue.restore(workload('low', 'gold', 600, { startedAt: 1 }))
    const high = workload('high', 'gold', 600, { priority: 1000 })
    queue.add(high)
    expect(turn(10, [workload('low', 'gold', 600)])).toEqual(['-low', '+high'])
    expect(queue.explain('low', 10)).toMatchObject({ kind: 'InsufficientQuota', requested: 600, available: 0 })
  })

  it('preempts none of equal priority under a hard limit', () => {
    const { queue } = quotaQueue([
      node('root', undefined, { nominal: 75 }),
      node('gold', 'root', { nominal: 600 }),
      node('bronze', 'root', { nominal: 400, borrowing: 0 }),
    ])
    queue.restore(workload('g', 'gold', 600, { startedAt: 1 }))
    queue.restore(workload('b', 'bronze', 400, { startedAt: 1 }))
    queue.add(workload('second', 'bronze', 400))
    expect(queue.decide(10)).toEqual({ starts: [], evictions: [], again: 300_000 })
  })

  it('takes back what others have borrowed, whatever their priority, and no more than is needed', () => {
    const { queue } = quotaQueue([
      node('root', undefined, { nominal: 0 }),
      node('gold', 'root', { nominal: 8 }),
      node('silver', 'root', { nominal: 8 }),
    ])
    for (let each = 0; each < 4; each++)
      queue.restore(workload(`s${each}`, 'silver', 4, { startedAt: each, priority: 5 }))
    queue.add(workload('owner', 'gold', 4))
    expect(queue.decide(10).evictions).toEqual([{ id: 's3', reason: 'ReclaimedQuota', by: 'owner' }])
    queue.remove('s3')
    expect(queue.decide(10).starts).toHaveLength(1)
    // Silver wants it back, but would have to borrow: borrowing alone evicts none.
    queue.add(workload('s3', 'silver', 4, { priority: 5 }))
    queue.add(workload('second', 'gold', 4))
    expect(queue.decide(11).evictions).toEqual([{ id: 's2', reason: 'ReclaimedQuota', by: 'second' }])
  })

  it('takes back below a node that borrows nothing itself, too', () => {
    const { queue } = quotaQueue([
      node('root', undefined, { nominal: 0 }),
      node('team', 'root', { nominal: 0, borrowing: 0 }),
      node('owner', 'team', { nominal: 4 }),
      node('guest', 'team', { nominal: 0 }),
    ])
    queue.restore(workload('borrower', 'guest', 4, { startedAt: 1 }))
    queue.add(workload('own', 'owner', 4))
    expect(queue.decide(10).evictions).toEqual([{ id: 'borrower', reason: 'ReclaimedQuota', by: 'own' }])
  })

  it('evicts borrowers for a borrower only below the threshold of its policy', () => {
    const nodes = (highestPriority: number): readonly QuotaNode[] => [
      node('root', undefined, { nominal: 4 }),
      node('a', 'root', { nominal: 0 }, { whileBorrowing: { policy: 'LowerPriority', highestPriority } }),
      node('b', 'root', { nominal: 0 }, {}),
    ]
    const evictions = (threshold: number): number => {
      const { queue } = quotaQueue(nodes(threshold))
      queue.restore(workload('running', 'b', 4, { priority: 3, startedAt: 1 }))
      queue.add(workload('waiting', 'a', 4, { priority: 5 }))
      return queue.decide(10).evictions.length
    }
    expect([evictions(2), evictions(3)]).toEqual([0, 1])
  })

  it('shares fairly, and queues of weight 0 do not evict each other for ever', () => {
    for (const weight of [0, 1]) {
      const nodes = ['a', 'b'].map((name) => node(name, 'all', { nominal: 0 }, { ...reclaiming, weight }))
      const { queue, turn } = quotaQueue([node('all', undefined, { nominal: 8 }), ...nodes], { fairSharing: true })
      const all = ['a', 'b'].flatMap((name) =>
        Array.from({ length: 4 }, (_, each) => workload(`${name}${each}`, name, 2, { since: each })),
      )
      for (const one of all.slice(0, 4)) queue.add(one)
      expect(turn(0)).toHaveLength(4)
      for (const one of all.slice(4)) queue.add(one)
      const moves: string[] = []
      for (let round = 1; round < 20; round++) moves.push(...turn(round, all))
      // Half of it changes hands, and then it rests.
      expect(moves.filter((move) => move.startsWith('-a'))).toHaveLength(2)
      expect(moves.filter((move) => move.startsWith('-b'))).toHaveLength(0)
      expect([...Map.groupBy([0, 1, 2, 3], () => queue.running).keys()]).toEqual([4])
    }
  })

  it('evicts on the nodes where it makes room, not anywhere', () => {
    const nodes = createNodeTable()
    for (const name of ['a', 'b'])
      nodes.setNode(name, { metadata: { name } }, new Map([['cpu', 8], ['pods', 10]])) // prettier-ignore
    const queue = createAdmissionQueue(nodes, undefined, { preemption: true })
    for (const [id, on, cpu, startedAt] of [
      ['a1', 'a', 4, 4],
      ['b1', 'b', 2, 3],
      ['b2', 'b', 2, 2],
      ['a2', 'a', 2, 1],
    ] as const) {
      const one = workload(id, '', cpu, { startedAt, preemptible: id !== 'a2' })
      queue.restore(one, { pods: [{ node: on, shape: one.groups[0]!.shape, count: 1 }] })
    }
    queue.add(workload('large', '', 8, { priority: 1 }))
    expect(queue.decide(10).evictions.map(({ id }) => id)).toEqual(['b1', 'b2'])
    queue.add(workload('small', '', 4))
    queue.remove('b1')
    expect(queue.decide(11).starts).toEqual([])
    expect(queue.explain('small', 11)).toEqual({ kind: 'Reserved', by: 'large' })
    queue.remove('b2')
    expect(queue.decide(12).starts.map((one) => one.assignments)).toEqual([[expect.objectContaining({ node: 'b' })]])
  })

  it('drains a queue that is stopped, and starts nothing in one that is on hold', () => {
    const stopped = (stop: 'Hold' | 'HoldAndDrain'): readonly string[] => {
      const { queue } = quotaQueue([{ ...node('gold', undefined, { nominal: 9 }), stop }])
      queue.restore(workload('runs', 'gold', 1, { startedAt: 1 }))
      queue.add(workload('waits', 'gold', 1))
      expect(queue.explain('waits', 5)).toEqual({ kind: 'QueueStopped', queue: 'gold' })
      const { starts, evictions } = queue.decide(5)
      expect(starts).toEqual([])
      return evictions.map(({ id, reason }) => `${id} ${reason}`)
    }
    expect([stopped('Hold'), stopped('HoldAndDrain')]).toEqual([[], ['runs QueueStopped']])
  })

  it('evicts none without need, and finds room wherever lower priorities have it', () => {
    const running = fc.array(
      fc.record({
        cpu: fc.integer({ min: 1, max: 5 }),
        priority: fc.integer({ min: 0, max: 3 }),
        on: fc.nat({ max: 2 }),
        preemptible: fc.boolean(),
      }),
      { maxLength: 9 },
    )
    fc.assert(
      fc.property(running, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 }), (all, count, cpu) => {
        const free = [10, 10, 10]
        const nodes = createNodeTable()
        for (const index of free.keys())
          nodes.setNode(`${index}`, { metadata: { name: `${index}` } }, new Map([['cpu', 10], ['pods', 20]])) // prettier-ignore
        const queue = createAdmissionQueue(nodes, undefined, { preemption: true })
        const victims = new Map<string, (typeof all)[number]>()
        for (const [index, one] of all.entries()) {
          if (free[one.on]! < one.cpu) continue
          free[one.on] = free[one.on]! - one.cpu
          const { on, ...more } = one
          const made = workload(`r${index}`, '', one.cpu, { ...more, startedAt: index })
          queue.restore(made, { pods: [{ node: `${on}`, shape: made.groups[0]!.shape, count: 1 }] })
          victims.set(made.id, one)
        }
        const fits = (gone: Iterable<string>): boolean => {
          const left = [...free]
          for (const id of gone) left[victims.get(id)!.on]! += victims.get(id)!.cpu
          return left.reduce((sum, amount) => sum + Math.floor(amount / cpu), 0) >= count
        }
        queue.add(workload('p', '', cpu, { priority: 2, groups: [{ shape: makePodShape(new Map([['cpu', cpu]])), count }] })) // prettier-ignore
        const { starts, evictions } = queue.decide(100)
        const gone = evictions.map(({ id }) => id)
        const lawful = [...victims].flatMap(([id, one]) => (one.priority < 2 && one.preemptible ? [id] : []))
        expect(starts.length > 0).toBe(fits([]))
        expect(gone.length > 0).toBe(!fits([]) && fits(lawful))
        for (const id of gone) {
          expect(lawful).toContain(id)
          expect(fits(gone.filter((other) => other !== id))).toBe(false)
        }
        expect(gone.length === 0 || fits(gone)).toBe(true)
      }),
    )
  })
})
