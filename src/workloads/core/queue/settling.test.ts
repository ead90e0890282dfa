import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { createNodeTable, type NodeAssignment } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueuedWorkload } from './queued-workload.ts'

const shape = makePodShape(new Map([['cpu', 2]]))

function cluster() {
  const nodes = createNodeTable()
  for (const name of ['a', 'b'])
    nodes.setNode(name, { metadata: { name } }, new Map(Object.entries({ cpu: 4, pods: 10 })))
  return { nodes, queue: createAdmissionQueue(nodes, undefined) }
}

function workload(id: string, count: number): QueuedWorkload {
  return { id, queue: '', priority: 0, since: 0, groups: [{ shape, count }] }
}

function on(node: string, count: number): NodeAssignment {
  return { node, shape, count }
}

function freeOn({ nodes }: Pick<ReturnType<typeof cluster>, 'nodes'>): number {
  return nodes.totals().get('cpu')!.free
}

describe('the pods of a running workload', () => {
  it('take the place of its reservation one by one, wherever they come', () => {
    const { nodes, queue } = cluster()
    queue.add(workload('one', 3))
    expect(queue.decide(0).starts).toHaveLength(1)
    expect(freeOn({ nodes })).toBe(2)
    queue.settle('one', [on('b', 2)], [{ shape, count: 1 }])
    expect(freeOn({ nodes })).toBe(2)
    queue.settle('one', [on('b', 2), on('a', 1)])
    expect(nodes.room(shape)).toBe(1)
    // A pod has ended.
    queue.settle('one', [on('b', 1), on('a', 1)])
    expect(freeOn({ nodes })).toBe(4)
    queue.remove('one')
    expect(freeOn({ nodes })).toBe(8)
  })

  it('that are still to come after a restart keep their room, before anything else starts', () => {
    const { nodes, queue } = cluster()
    queue.restore({ ...workload('one', 3), startedAt: 0 }, { pods: [on('a', 2)], pending: [{ shape, count: 1 }] })
    queue.add(workload('two', 2))
    expect(queue.decide(1).starts).toEqual([])
    expect(freeOn({ nodes })).toBe(2)
    expect(queue.explain('two', 1)).toMatchObject({ kind: 'InsufficientNodes', pods: 2, room: 1 })
    queue.remove('one')
    expect(queue.decide(2).starts).toHaveLength(1)
  })

  it('wait for room after a restart as long as there is none, and lose none of it', () => {
    const { nodes, queue } = cluster()
    queue.restore({ ...workload('full', 4), startedAt: 0 }, { pods: [on('a', 2), on('b', 2)] })
    queue.restore({ ...workload('one', 1), startedAt: 0 }, { pending: [{ shape, count: 1 }] })
    expect(queue.decide(0).starts).toEqual([])
    queue.remove('full')
    queue.add(workload('three', 4))
    expect(queue.decide(1).starts).toEqual([])
    expect(freeOn({ nodes })).toBe(6)
    queue.remove('one')
    expect(queue.decide(2).starts).toHaveLength(1)
    queue.remove('three')
    expect(freeOn({ nodes })).toBe(8)
  })
})
