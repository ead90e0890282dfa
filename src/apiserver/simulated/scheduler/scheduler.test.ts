import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { condition, openSimulatedCluster, type SimulatedCluster, template } from '../../../../test/simulated-cluster.ts'
import type { Pod } from '../../../kube/types/core/v1.ts'

async function pod(
  cluster: SimulatedCluster,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
  labels: object = {},
): Promise<void> {
  const made = template({}, spec) as { readonly spec: object }
  await cluster.create('Pod', name, { spec: made.spec }, { labels })
}

async function nodeOf(cluster: SimulatedCluster, name: string): Promise<string> {
  return (await cluster.get('Pod', name)).spec?.nodeName ?? ''
}

function message({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message
}

const small = { name: 'small', cpu: '1', memory: '1Gi', pods: '8' }
const large = { name: 'large', cpu: '4', memory: '8Gi', pods: '12', labels: { disk: 'ssd' } }

describe('the scheduler', () => {
  it('never overcommits a node, and leaves no pod pending that would fit', async () => {
    const wish = fc.record({ cpu: fc.constantFrom(100, 250, 350, 500, 1500), memory: fc.constantFrom(64, 128, 512) })
    await fc.assert(
      fc.asyncProperty(
        fc.array(wish, { minLength: 5, maxLength: 30 }),
        fc.array(fc.nat(19), { maxLength: 5 }),
        async (wishes, gone) => {
          const cluster = await openSimulatedCluster({ nodes: [small, large] })
          for (const [index, { cpu, memory }] of wishes.entries()) {
            await pod(cluster, `pod-${index}`, { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } })
          }
          await cluster.seconds(3)
          for (const index of gone)
            if (await cluster.find('Pod', `pod-${index}`)) await cluster.remove('Pod', `pod-${index}`)
          await cluster.seconds(5)
          const left = (await cluster.list('Pod')).map((one) => ({
            node: one.spec?.nodeName,
            wish: wishes[Number(one.metadata.name!.slice(4))]!,
          }))
          const free = [small, large].map((node) => {
            const here = left.filter((one) => one.node === node.name)
            const cpu = Number(node.cpu) * 1000 - here.reduce((sum, one) => sum + one.wish.cpu, 0)
            const memory = Number.parseInt(node.memory) * 1024 - here.reduce((sum, one) => sum + one.wish.memory, 0)
            return { cpu, memory, pods: Number(node.pods) - here.length }
          })
          for (const { cpu, memory, pods } of free) expect(Math.min(cpu, memory, pods)).toBeGreaterThanOrEqual(0)
          for (const one of left.filter(({ node }) => node === undefined)) {
            expect(
              free.some(({ cpu, memory, pods }) => cpu >= one.wish.cpu && memory >= one.wish.memory && pods > 0),
            ).toBe(false)
          }
          expect(cluster.failures).toEqual([])
        },
      ),
      { numRuns: 15, seed: 5 },
    )
  })

  it('reports why a pod is unschedulable, in the words of the real scheduler', async () => {
    const cluster = await openSimulatedCluster({
      nodes: [small, large, { name: 'own', taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] }],
    })
    await pod(cluster, 'huge', { requests: { cpu: '20' } })
    await cluster.seconds(1)
    const huge = await cluster.get('Pod', 'huge')
    expect(condition(huge, 'PodScheduled')).toBe('False Unschedulable')
    expect(message(huge)).toBe(
      '0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.',
    )
    const events = (await cluster.list('Event')).filter(({ involvedObject }) => involvedObject.name === 'huge')
    expect(events.map(({ reason }) => reason)).toEqual(['FailedScheduling'])
  })

  it('distinguishes nodes without victims from nodes where preemption cannot help', async () => {
    const cluster = await openSimulatedCluster({ nodes: [small] })
    await pod(cluster, 'first', { requests: { cpu: '1' } })
    await pod(cluster, 'second', { requests: { cpu: '1' } })
    await cluster.seconds(1)
    expect(message(await cluster.get('Pod', 'second'))).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    )
    await cluster.remove('Pod', 'first')
    await cluster.seconds(3)
    expect(await nodeOf(cluster, 'second')).toBe('small')
  })

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['a node selector', { nodeSelector: { disk: 'ssd' } }, 'large'],
    ['a selector that no node meets', { nodeSelector: { disk: 'tape' } }, ''],
    [
      'required node affinity',
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'DoesNotExist' }] }],
            },
          },
        },
      },
      'small',
    ],
    [
      'preferred node affinity',
      {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 100,
                preference: { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['small'] }] },
              },
            ],
          },
        },
      },
      'small',
    ],
    ['another scheduler', { schedulerName: 'other' }, ''],
    ['a scheduling gate', { schedulingGates: [{ name: 'example.com/wait' }] }, ''],
  ])('respects %s', async (_what, spec, expected) => {
    const cluster = await openSimulatedCluster({ nodes: [small, large] })
    await pod(cluster, 'one', spec)
    await cluster.seconds(1)
    expect(await nodeOf(cluster, 'one')).toBe(expected)
  })

  it('respects taints, tolerations and cordons', async () => {
    const cluster = await openSimulatedCluster({
      nodes: [{ name: 'own', taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] }, small],
    })
    await cluster.merge('Node', 'small', { spec: { unschedulable: true } })
    await cluster.seconds(1)
    await pod(cluster, 'plain')
    await pod(cluster, 'tolerant', {
      tolerations: [{ key: 'team', operator: 'Equal', value: 'a', effect: 'NoSchedule' }],
    })
    await cluster.seconds(1)
    expect([await nodeOf(cluster, 'plain'), await nodeOf(cluster, 'tolerant')]).toEqual(['', 'own'])
    await cluster.merge('Node', 'small', { spec: { unschedulable: false } })
    await cluster.seconds(1)
    expect(await nodeOf(cluster, 'plain')).toBe('small')
  })

  it('respects pod affinity and anti-affinity', async () => {
    const term = (app: string): readonly object[] => [
      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } },
    ]
    const cluster = await openSimulatedCluster()
    const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term('db') } } }
    for (const name of ['db-1', 'db-2', 'db-3', 'db-4']) await pod(cluster, name, apart, { app: 'db' })
    await pod(cluster, 'friend', {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term('cache') } },
    })
    await cluster.seconds(1)
    const nodes = await Promise.all(['db-1', 'db-2', 'db-3', 'db-4'].map((name) => nodeOf(cluster, name)))
    expect(nodes.toSorted()).toEqual(['', 'node-1', 'node-2', 'node-3'])
    expect(await nodeOf(cluster, 'friend')).toBe('')
    await pod(cluster, 'cache', { nodeSelector: { 'kubernetes.io/hostname': 'node-2' } }, { app: 'cache' })
    await cluster.seconds(1)
    expect(await nodeOf(cluster, 'friend')).toBe('node-2')
  })

  it('assigns a host port to one pod per node', async () => {
    const cluster = await openSimulatedCluster({ nodes: [small, large] })
    const containers = [{ name: 'main', image: 'x', ports: [{ containerPort: 80, hostPort: 80 }] }]
    for (const name of ['one', 'two', 'three']) await pod(cluster, name, { containers })
    await cluster.seconds(1)
    expect((await Promise.all(['one', 'two', 'three'].map((name) => nodeOf(cluster, name)))).toSorted()).toEqual([
      '',
      'large',
      'small',
    ])
  })

  it('preempts pods of lower priority, respects budgets, and lets victims terminate gracefully', async () => {
    const cluster = await openSimulatedCluster({
      nodes: [
        { ...small, name: 'a' },
        { ...small, name: 'b' },
      ],
      stopSeconds: 3,
    })
    await cluster.create('PriorityClass', 'high', { value: 1000 })
    await pod(cluster, 'guarded', { requests: { cpu: '1' } }, { app: 'guarded' })
    await pod(cluster, 'plain', { requests: { cpu: '1' } })
    await cluster.create('PodDisruptionBudget', 'guarded', {
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'guarded' } } },
    })
    await cluster.seconds(3)
    await pod(cluster, 'vip', { requests: { cpu: '1' }, priorityClassName: 'high' })
    await cluster.seconds(1)
    const node = (await cluster.get('Pod', 'plain')).spec?.nodeName
    expect((await cluster.get('Pod', 'vip')).status?.nominatedNodeName).toBe(node)
    expect(condition(await cluster.get('Pod', 'plain'), 'DisruptionTarget')).toBe('True PreemptionByScheduler')
    await cluster.seconds(5)
    expect(await nodeOf(cluster, 'vip')).toBe(node)
    expect(await cluster.find('Pod', 'plain')).toBeUndefined()
    expect((await cluster.get('Pod', 'guarded')).status?.phase).toBe('Running')
  })
})
