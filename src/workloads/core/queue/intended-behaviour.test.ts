/** What MCAD and its quota trees are meant to do where they did something else: one test for each known mistake. */
import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { createNodeTable } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueueOptions } from './queue-state.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { QuotaNode } from '../quota/quota-node.ts'
import { createQuotaTree } from '../quota/quota-tree.ts'

function cpu(nominal: number, more: object = {}): NonNullable<QuotaNode['limits']> {
  return new Map([['cpu', { nominal, ...more }]])
}

function setUp(nodes: readonly QuotaNode[], options: QueueOptions = {}) {
  const quota = createQuotaTree()
  quota.setNodes(nodes)
  const queue = createAdmissionQueue(undefined, quota, options)
  const started = (now: number): readonly string[] => queue.decide(now).starts.map((one) => one.workload.id)
  return { quota, queue, started }
}

function workload(id: string, amount: number, more: Partial<QueuedWorkload> = {}): QueuedWorkload {
  const groups = [{ shape: makePodShape(new Map([['cpu', amount]])), count: 1 }]
  return { id, queue: 'gold', priority: 0, since: 0, groups, ...more }
}

const gold: readonly QuotaNode[] = [{ name: 'gold', limits: cpu(4) }]

describe('the order', () => {
  it('is by static priority, also when priorities do not grow', () => {
    const { queue, started } = setUp(gold, { dynamicPriority: false })
    queue.add(workload('first', 2, { since: 0, slope: 1000 }))
    queue.add(workload('second', 2, { since: 1 }))
    queue.add(workload('important', 2, { since: 2, priority: 1 }))
    expect(started(10_000)).toEqual(['important', 'first'])
  })

  it('is first in, first out among equals, whatever order they are told in', () => {
    const { queue, started } = setUp(gold)
    for (const since of [3, 1, 2]) queue.add(workload(`w${since}`, 1, { since }))
    expect(started(10)).toEqual(['w1', 'w2', 'w3'])
  })
})

describe('one that does not fit', () => {
  it('holds back itself alone, without back-off and with it', () => {
    for (const backoffMs of [0, 20_000]) {
      const { queue, started } = setUp(gold, { backoffMs })
      queue.add(workload('huge', 5, { priority: 1 }))
      queue.add(workload('small', 1))
      expect(started(0)).toEqual(['small'])
      queue.add(workload('later', 1))
      expect(started(1)).toEqual(['later'])
    }
  })

  it('starts at once when capacity comes, unless a back-off is configured', () => {
    for (const backoffMs of [0, 20_000]) {
      const { quota, queue, started } = setUp(gold, { backoffMs })
      queue.add(workload('huge', 5))
      expect(queue.decide(0).again).toBe(backoffMs === 0 ? 300_000 : 20_000)
      expect(queue.explain('huge', 0)?.kind).toBe('InsufficientQuota')
      quota.setNodes([{ name: 'gold', limits: cpu(5) }])
      // Now only the pause is in its way.
      expect(queue.explain('huge', 1)?.kind).toBe(backoffMs === 0 ? undefined : 'BackingOff')
      expect(started(1)).toEqual(backoffMs === 0 ? ['huge'] : [])
      expect(started(20_000)).toEqual(backoffMs === 0 ? [] : ['huge'])
    }
  })

  it('keeps the head of its queue for the holding time: later, higher work does not bump it', () => {
    const order = (freeAt: number): readonly string[] => {
      const { queue, started } = setUp(gold, { headOfLineHoldingMs: 100 })
      queue.restore(workload('running', 4, { startedAt: 0 }))
      queue.add(workload('head', 4))
      queue.decide(0)
      queue.add(workload('higher', 4, { priority: 9, since: 5 }))
      queue.decide(10)
      expect(queue.position('head', 10)).toBe(1)
      queue.remove('running')
      return started(freeAt)
    }
    expect([order(50), order(150)]).toEqual([['head'], ['higher']])
  })

  it('is not passed in a strict queue, and says whom the others wait for', () => {
    const { queue, started } = setUp([{ ...gold[0]!, policies: { strategy: 'StrictFIFO' } }], { backoffMs: 50 })
    queue.add(workload('big', 5))
    queue.add(workload('small', 1, { since: 1 }))
    expect([...started(2), ...started(3)]).toEqual([])
    expect(queue.explain('small', 3)).toEqual({ kind: 'BehindHead', head: 'big' })
  })

  it('is not passed in a strict queue while others leave for it, either', () => {
    const policies = { strategy: 'StrictFIFO', withinQueue: 'LowerPriority' } as const
    const { queue, started } = setUp([{ name: 'gold', limits: cpu(6), policies }])
    queue.restore(workload('a', 1, { startedAt: 0 }))
    queue.restore(workload('b', 2, { startedAt: 1 }))
    queue.add(workload('head', 4, { priority: 1 }))
    expect(queue.decide(2).evictions.map(({ id }) => id)).toEqual(['b'])
    queue.add(workload('small', 1))
    expect(started(3)).toEqual([])
    expect(queue.explain('small', 3)).toEqual({ kind: 'BehindHead', head: 'head' })
    queue.remove('b')
    expect(started(4)).toEqual(['head', 'small'])
  })

  it('has its victims leave for it alone, also over a restart', () => {
    const policies = { withinQueue: 'LowerPriority' } as const
    const { queue, started } = setUp([{ name: 'gold', limits: cpu(4), policies }])
    queue.restore(workload('victim', 3, { startedAt: 0 }), { leaving: { reason: 'Preempted', by: 'head' } })
    queue.add(workload('small', 1, { since: 1 }))
    queue.add(workload('head', 4, { priority: 1 }))
    expect(queue.decide(2)).toMatchObject({ starts: [], evictions: [] })
    expect(queue.explain('head', 2)).toEqual({ kind: 'Preempting', victims: 1 })
    queue.remove('victim')
    expect(started(3)).toEqual(['head'])
  })

  it('is not considered before its time, nor while it is held', () => {
    const { queue, started } = setUp(gold)
    queue.add(workload('later', 1, { notBefore: 50 }))
    queue.add(workload('held', 1, { held: true }))
    expect(queue.decide(10)).toEqual({ starts: [], evictions: [], again: 50 })
    expect(['later', 'held'].map((id) => queue.explain(id, 10)?.kind)).toEqual(['BackingOff', 'Held'])
    queue.add(workload('held', 1))
    expect([started(11), started(50)]).toEqual([['held'], ['later']])
  })
})

describe('workloads of one name', () => {
  it('are told apart by their uids: each counts, and each ends alone', () => {
    const { queue, started } = setUp(gold)
    queue.add(workload('uid-of-a/job', 2))
    queue.add(workload('uid-of-b/job', 2))
    expect(started(0)).toHaveLength(2)
    queue.remove('uid-of-a/job')
    queue.add(workload('uid-of-a/job-again', 3))
    expect(started(1)).toEqual([])
    expect(queue.explain('uid-of-a/job-again', 1)).toMatchObject({ requested: 3, available: 2 })
  })
})

describe('a cluster without free capacity', () => {
  it('is a reason to wait, not to ask again and again', () => {
    const nodes = createNodeTable()
    const queue = createAdmissionQueue(nodes, undefined, { reserveAfterMs: Infinity })
    queue.add(workload('one', 1))
    expect(queue.decide(0)).toEqual({ starts: [], evictions: [] })
    nodes.setNode('full', { metadata: { name: 'full' } }, new Map([['pods', 1]]))
    expect(queue.decide(1)).toEqual({ starts: [], evictions: [] })
    expect(queue.explain('one', 1)).toMatchObject({ kind: 'InsufficientNodes', resource: 'cpu', available: 0 })
  })
})

describe('quota', () => {
  it('is not leaked when a workload is deleted and comes again at once', () => {
    const { quota, queue, started } = setUp(gold)
    for (let round = 0; round < 5; round++) {
      queue.add(workload(`uid-${round}`, 4))
      expect(started(round)).toHaveLength(1)
      queue.remove(`uid-${round}`)
    }
    expect(quota.available('gold', 'cpu')).toBe(4)
  })

  it('counts what runs when it is enabled later, shrinks below it, or is renamed', () => {
    const { quota, queue } = setUp([])
    queue.restore(workload('running', 4, { startedAt: 0 }))
    quota.setNodes(gold)
    queue.add(workload('next', 1))
    expect(queue.explain('next', 0)).toMatchObject({ kind: 'InsufficientQuota', available: 0 })
    quota.setNodes([{ name: 'gold', limits: cpu(1) }])
    expect(queue.decide(1)).toMatchObject({ starts: [], evictions: [] })
    expect(quota.available('gold', 'cpu')).toBe(-3)
    queue.restore(workload('running', 4, { startedAt: 0, queue: 'silver' }))
    quota.setNodes([...gold, { name: 'silver', limits: cpu(4) }])
    expect(queue.decide(2).starts).toHaveLength(1)
    queue.remove('running')
    expect(quota.available('silver', 'cpu')).toBe(4)
  })

  it('of several trees has to agree: what one tree refuses is used in none', () => {
    const { quota, queue, started } = setUp([
      { name: 'context/gold', limits: cpu(4) },
      { name: 'service/default', limits: cpu(3), otherResources: 'unlimited' },
    ])
    const quotas = ['context/gold', 'service/default']
    queue.add(workload('large', 4, { queue: 'context/gold', quotas }))
    expect(started(0)).toEqual([])
    expect(queue.explain('large', 0)).toMatchObject({ queue: 'service/default', requested: 4, available: 3 })
    expect(quotas.map((name) => quota.available(name, 'cpu'))).toEqual([4, 3])
    queue.add(workload('small', 3, { queue: 'context/gold', quotas }))
    expect(started(0)).toEqual(['small'])
    expect(quotas.map((name) => quota.available(name, 'cpu'))).toEqual([1, 0])
  })

  it('of parents that promise more than they have ends at what they have', () => {
    const { queue, started } = setUp([
      { name: 'root', limits: cpu(10 - 16) },
      { name: 'gold', parent: 'root', limits: cpu(8) },
      { name: 'silver', parent: 'root', limits: cpu(8) },
    ])
    queue.add(workload('a', 8))
    queue.add(workload('b', 8, { queue: 'silver' }))
    queue.add(workload('c', 2, { queue: 'silver' }))
    expect(started(0)).toEqual(['a', 'c'])
  })

  it('lets a workload without a node of its own borrow through the default node, and never start in an unknown one', () => {
    const { queue, started } = setUp([
      { name: 'root', limits: cpu(4) },
      { name: 'default', parent: 'root', limits: cpu(0) },
    ])
    queue.add(workload('borrows', 4, { queue: 'default' }))
    queue.add(workload('lost', 1, { queue: 'nowhere' }))
    expect(started(0)).toEqual(['borrows'])
    expect(queue.explain('lost', 0)).toEqual({ kind: 'UnknownQueue', queue: 'nowhere' })
  })
})
