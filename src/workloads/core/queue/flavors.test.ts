import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { createNodeTable } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { FlavorQuota, QueuePolicies, QuotaNode } from '../quota/quota-node.ts'
import { createQuotaTree } from '../quota/quota-tree.ts'

function flavor(name: string, nominal: number, more: Partial<FlavorQuota> = {}): FlavorQuota {
  return { name, limits: new Map([['gpu', { nominal }]]), nodeLabels: { type: name }, nodeTaints: [], ...more }
}

function queueWith(flavors: readonly FlavorQuota[], policies: Partial<QueuePolicies> = {}, lender = 0) {
  const quota = createQuotaTree()
  const group = (all: readonly FlavorQuota[]): NonNullable<QuotaNode['groups']> => [
    { resources: ['gpu'], flavors: all },
  ]
  const otherResources = 'unlimited'
  quota.setNodes([
    { name: 'team', parent: 'all', groups: group(flavors), otherResources, policies },
    { name: 'all', groups: group(flavors.map((one) => ({ ...one, limits: new Map([['gpu', { nominal: lender }]]) }))) },
  ])
  const nodes = createNodeTable()
  for (const { name, nodeTaints } of flavors)
    nodes.setNode(
      name,
      { metadata: { name, labels: { type: name } }, spec: { taints: nodeTaints } },
      new Map(Object.entries({ gpu: 8, pods: 20 })),
    )
  return { quota, nodes, queue: createAdmissionQueue(nodes, quota) }
}

function workload(
  id: string,
  gpu: number,
  more: Partial<QueuedWorkload> = {},
  labels?: Record<string, string>,
): QueuedWorkload {
  const shape = makePodShape(new Map([['gpu', gpu]]), labels && { nodeSelector: labels })
  return { id, queue: 'team', priority: 0, since: 0, groups: [{ shape, count: 1 }], ...more }
}

describe('flavors', () => {
  it('are tried in order, and the pods go to their nodes', () => {
    const { queue } = queueWith([flavor('old', 4), flavor('new', 4)])
    for (const id of ['a', 'b']) queue.add(workload(id, 3))
    const { starts } = queue.decide(0)
    expect(starts.map(({ flavors, assignments }) => [flavors[0]!.get('gpu'), assignments[0]!.node])).toEqual([
      ['old', 'old'],
      ['new', 'new'],
    ])
    queue.add(workload('c', 3))
    expect(queue.explain('c', 0)).toEqual({
      kind: 'InsufficientQuota',
      queue: 'team',
      flavor: 'old',
      resource: 'gpu',
      requested: 3,
      available: 1,
    })
  })

  it('that the pods do not tolerate or select are left out', () => {
    const tainted = flavor('tainted', 8, { nodeTaints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] })
    const { queue } = queueWith([tainted, flavor('plain', 1)])
    queue.add(workload('large', 4))
    queue.add(workload('other', 1, {}, { type: 'elsewhere' }))
    expect(queue.decide(0).starts).toEqual([])
    expect(queue.explain('large', 0)).toMatchObject({ flavor: 'plain', available: 1 })
    expect(queue.explain('other', 0)).toEqual({ kind: 'NoFlavor', queue: 'team', group: 0 })
    const tolerant = makePodShape(new Map([['gpu', 4]]), { tolerations: [{ key: 'dedicated', operator: 'Exists' }] })
    queue.add(workload('tolerant', 4, { groups: [{ shape: tolerant, count: 1 }] }))
    expect(queue.decide(1).starts.map(({ flavors }) => flavors[0]!.get('gpu'))).toEqual(['tainted'])
  })

  it('that would be borrowed come after one that is free, if the queue says so', () => {
    const chosen = (whenCanBorrow: QueuePolicies['whenCanBorrow']): string | undefined => {
      const { queue } = queueWith([flavor('first', 1), flavor('second', 4)], { whenCanBorrow }, 4)
      queue.add(workload('one', 3))
      return queue.decide(0).starts[0]?.flavors[0]!.get('gpu')
    }
    expect([chosen('MayStopSearch'), chosen('TryNextFlavor')]).toEqual(['first', 'second'])
  })

  it('are preempted in before the next one is tried, if the queue says so', () => {
    const evicted = (whenCanPreempt: QueuePolicies['whenCanPreempt']): number => {
      const { queue } = queueWith([flavor('first', 4), flavor('second', 4)], {
        whenCanPreempt,
        withinQueue: 'LowerPriority',
      })
      queue.restore(workload('low', 4, { startedAt: 0 }), { flavors: [new Map([['gpu', 'first']])] })
      queue.add(workload('high', 4, { priority: 1 }))
      return queue.decide(1).evictions.length
    }
    expect([evicted('MayStopSearch'), evicted('TryNextFlavor')]).toEqual([1, 0])
  })

  it('of what runs are known after a restart, and objects may come in any order', () => {
    const { quota, queue } = queueWith([flavor('old', 4), flavor('new', 4)])
    const nodes = ['team', 'all'].map((name) => quota.node(name)!)
    quota.setNodes([])
    queue.restore(workload('running', 4, { startedAt: 0 }), { flavors: [new Map([['gpu', 'new']])] })
    queue.add(workload('waits', 4))
    expect(queue.decide(0).starts).toEqual([])
    expect(queue.explain('waits', 0)).toEqual({ kind: 'UnknownQueue', queue: 'team' })
    quota.setNodes(nodes)
    expect(queue.decide(1).starts.map(({ flavors }) => flavors[0]!.get('gpu'))).toEqual(['old'])
    expect([quota.available('team', 'old:gpu'), quota.available('team', 'new:gpu')]).toEqual([0, 0])
  })
})
