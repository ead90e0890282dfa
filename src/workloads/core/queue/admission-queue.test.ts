import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import { createNodeTable } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import { createQuotaTree } from '../quota/quota-tree.ts'

const queues = ['gold', 'silver']

function cluster(quota = 100) {
  const nodes = createNodeTable()
  for (const name of ['a', 'b', 'c'])
    nodes.setNode(
      name,
      { metadata: { name } },
      new Map([
        ['cpu', 8],
        ['memory', 16],
        ['pods', 10],
      ]),
    )
  const tree = createQuotaTree()
  tree.setNodes([
    { name: 'all', limits: new Map() },
    ...queues.map((name) => ({
      name,
      parent: 'all',
      limits: new Map(['cpu', 'memory'].map((resource) => [resource, { nominal: quota }])),
    })),
  ])
  return { nodes, quota: tree, queue: createAdmissionQueue(nodes, tree) }
}

function workload(id: string, cpu: number, count = 1, more: Partial<QueuedWorkload> = {}): QueuedWorkload {
  return {
    id,
    queue: 'gold',
    priority: 0,
    since: 0,
    groups: [{ shape: makePodShape(new Map([['cpu', cpu]])), count }],
    ...more,
  }
}

const workloads = fc
  .array(
    fc.record({
      queue: fc.constantFrom(...queues),
      priority: fc.integer({ min: 0, max: 2 }),
      slope: fc.constantFrom(0, 0.5),
      since: fc.integer({ min: 0, max: 10_000 }),
      groups: fc.array(
        fc.record({
          cpu: fc.integer({ min: 1, max: 9 }),
          memory: fc.integer({ min: 1, max: 9 }),
          count: fc.integer({ min: 1, max: 4 }),
        }),
        { minLength: 1, maxLength: 2 },
      ),
    }),
    { maxLength: 30 },
  )
  .map((all) =>
    all.map(({ groups, ...one }, index): QueuedWorkload => ({
      id: `w${index}`,
      ...one,
      groups: groups.map(({ cpu, memory, count }) => ({
        count,
        shape: makePodShape(
          new Map([
            ['cpu', cpu],
            ['memory', memory],
          ]),
        ),
      })),
    })),
  )

describe('the queue', () => {
  it('never admits more than nodes and quota have, and leaves nothing waiting that fits', () => {
    fc.assert(
      fc.property(
        workloads,
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.integer({ min: 10, max: 40 }),
        (all, ends, limit) => {
          const { nodes, quota, queue } = cluster(limit)
          const running: string[] = []
          const step = (now: number): void => {
            for (const { workload: one } of queue.decide(now).starts) running.push(one.id)
            for (const [, { free }] of nodes.totals()) expect(free).toBeGreaterThanOrEqual(0)
            for (const name of queues) expect(quota.available(name, 'cpu')).toBeGreaterThanOrEqual(0)
            const waiting = all.filter(({ id }) => !running.includes(id) && queue.explain(id, now) === undefined)
            expect(waiting.filter(({ groups }) => nodes.place(groups))).toEqual([])
          }
          for (const one of all) queue.add(one)
          step(20_000)
          for (const [index, end] of ends.entries()) {
            if (running.length === 0) break
            const [id] = running.splice(end % running.length, 1)
            all.splice(
              all.findIndex((one) => one.id === id),
              1,
            )
            queue.remove(id!)
            step(20_000 + index)
          }
          for (const { id } of all) queue.remove(id)
          expect([queue.waiting, queue.running]).toEqual([0, 0])
          expect([...nodes.totals().values()].every(({ allocatable, free }) => allocatable === free)).toBe(true)
        },
      ),
    )
  })

  it('decides the same whatever order workloads arrive in, if their times differ', () => {
    fc.assert(
      fc.property(
        workloads.chain((all) => {
          const timed = all.map((one, index) => ({ ...one, since: index }))
          return fc.record({
            timed: fc.constant(timed),
            mixed: fc.shuffledSubarray(timed, { minLength: timed.length }),
          })
        }),
        ({ timed, mixed }) => {
          const decisions = [timed, mixed].map((all) => {
            const { queue } = cluster()
            for (const one of all) queue.add(one)
            return queue.decide(100_000).starts.map(({ workload: { id } }) => id)
          })
          expect(decisions[0]).toEqual(decisions[1])
        },
      ),
    )
  })

  it('admits by priority, then by time, and lets a smaller one pass one that does not fit', () => {
    const { queue } = cluster()
    queue.add(workload('late', 2, 1, { since: 2 }))
    queue.add(workload('early', 2, 1, { since: 1 }))
    queue.add(workload('huge', 9, 1, { priority: 9 }))
    queue.add(workload('high', 2, 1, { since: 3, priority: 1 }))
    expect(queue.decide(10).starts.map(({ workload: { id } }) => id)).toEqual(['high', 'early', 'late'])
    expect(queue.explain('huge', 10)).toEqual({
      kind: 'InsufficientNodes',
      group: 0,
      pods: 1,
      room: 0,
      resource: 'cpu',
      requested: 9,
      available: 18,
    })
  })

  it('counts nodes, not sums: 24 free CPUs on three nodes have no room for two pods of 5 on each', () => {
    const { queue } = cluster()
    queue.add(workload('six', 4, 6))
    queue.add(workload('four', 5, 4))
    expect(queue.decide(0).starts.map(({ workload: { id } }) => id)).toEqual(['six'])
    queue.remove('six')
    queue.add(workload('three', 5, 3))
    expect(queue.decide(0).starts.map(({ workload: { id } }) => id)).toEqual(['three'])
    expect(queue.explain('four', 0)).toMatchObject({ pods: 4, room: 0, requested: 20, available: 9 })
  })

  it('lets priority grow with the wait, by the slope', () => {
    const order = (now: number): readonly string[] => {
      const { queue } = cluster()
      queue.add(workload('patient', 1, 1, { slope: 1, since: 0 }))
      queue.add(workload('important', 1, 1, { priority: 5, since: 0 }))
      return queue.decide(now).starts.map(({ workload: { id } }) => id)
    }
    expect(order(4000)).toEqual(['important', 'patient'])
    expect(order(6000)).toEqual(['patient', 'important'])
  })

  it('reserves nodes until the pods are there, and charges what runs after a restart', () => {
    const { nodes, queue } = cluster(12)
    queue.add(workload('one', 8, 1))
    const [admission] = queue.decide(0).starts
    queue.settle('one', admission!.assignments)
    expect(nodes.totals().get('cpu')).toEqual({ allocatable: 24, free: 16 })
    const restarted = createAdmissionQueue(nodes, cluster(12).quota)
    queue.remove('one')
    restarted.restore(workload('one', 8, 1), { pods: admission!.assignments })
    restarted.add(workload('two', 8, 3, { queue: 'silver' }))
    expect(restarted.decide(1).starts).toEqual([])
    expect(restarted.explain('two', 1)).toEqual({
      kind: 'InsufficientQuota',
      queue: 'silver',
      resource: 'cpu',
      requested: 24,
      available: 16,
    })
  })

  it('names a queue that does not exist', () => {
    const { queue } = cluster()
    queue.add(workload('lost', 1, 1, { queue: 'bronze' }))
    expect(queue.decide(0).starts).toEqual([])
    expect(queue.explain('lost', 0)).toEqual({ kind: 'UnknownQueue', queue: 'bronze' })
  })
})
