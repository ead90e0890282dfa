/** Scenarios of MCAD's quota forests and of Kueue's cohorts, decided by the coordinator of the queue from their objects. */
import { describe, expect, it } from 'vitest'
import { nodeOf, withPods, wrapper, type WrapperOptions } from '../../../test/queue-objects.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { AppWrapper, type AppWrapperObject } from '../appwrapper/appwrapper.ts'
import { queueCoordinator } from '../appwrapper/queue-coordinator.ts'
import { workloadsConfig } from '../configuration/workloads-config.ts'
import { kueueKinds } from '../quota/kueue-kinds.ts'
import { QuotaSubtree } from '../quota/quota-subtree.ts'
import { forecastQueue, type QueueForecast } from './queue-forecast.ts'

const now = Date.parse('2026-01-01T01:00:00Z')
const everything = nodeOf({ cpu: 100, memory: '100Gi', 'nvidia.com/gpu': 100 })

interface Placed {
  readonly resource: Resource
  readonly object: KubeObject
}

const child = (name: string, requests: object, hardLimit = false): object => ({ name, quotas: { requests, hardLimit } })

function subtree(tree: string, name: string, spec: object): Placed {
  const metadata = { name: `${tree}-${name}`, namespace: 'kube-system', labels: { tree } }
  const object = { apiVersion: 'quota.codeflare.dev/v1alpha1', kind: 'QuotaSubtree', metadata, spec }
  return { resource: QuotaSubtree, object }
}

/** A root with 1075m, as the tests of MCAD have it. */
const context: readonly Placed[] = [
  subtree('context', 'root', { children: [child('root', { cpu: '1075m' })] }),
  subtree('context', 'leaves', {
    parent: 'root',
    children: [child('gold', { cpu: '600m' }), child('bronze', { cpu: '400m' }, true), child('default', { cpu: 0 })],
  }),
]

const inTree = (node: string, cpu: string, more: Partial<WrapperOptions> = {}): WrapperOptions => ({
  requests: { cpu },
  labels: { context: node },
  ...more,
})

function decided(quota: readonly Placed[], wrappers: readonly AppWrapperObject[], mcad: object = {}): QueueForecast {
  return forecastQueue({
    objects: [everything, ...quota, ...wrappers.flatMap((one) => withPods(one))],
    settings: workloadsConfig.read({ mcad: { quotaEnabled: true, preemption: true, ...mcad } }),
    now,
  })
}

const states = ({ entries }: QueueForecast): object =>
  Object.fromEntries(
    entries.map(({ name, state, reason }) => [name, reason === undefined ? state : `${state}: ${reason}`]),
  )

describe('quota forests of MCAD', () => {
  it('an AppWrapper that names a node that does not exist waits', () => {
    expect(states(decided(context, [wrapper('a', inTree('silver', '1m'))]))).toEqual({ a: 'waits: UnknownQuotaNode' })
  })

  it('a higher priority takes the place of a lower one in the same node', () => {
    const low = wrapper('low', inTree('gold', '600m', { isRunning: true }))
    const filler = wrapper('bronze', inTree('bronze', '400m', { isRunning: true }))
    const high = wrapper('high', inTree('gold', '600m', { priority: 1000, created: '00:59:00' }))
    const forecast = decided(context, [low, filler, high])
    expect(states(forecast)).toMatchObject({ low: 'leaves: Preempted', bronze: 'runs' })
    expect(forecast.startOf('team', 'high')).toMatchObject({ at: now, evicted: ['team/low'] })
    expect(states(decided(context, [low, filler, high], { preemption: false }))).toMatchObject({
      low: 'runs',
      high: 'waits: InsufficientQuota',
    })
  })

  it('a hard limit lets no second one in, and evicts no equal', () => {
    const forecast = decided(context, [
      wrapper('gold', inTree('gold', '600m', { isRunning: true })),
      wrapper('first', inTree('bronze', '400m', { isRunning: true })),
      wrapper('second', inTree('bronze', '400m', { created: '00:59:00' })),
    ])
    expect(states(forecast)).toEqual({ gold: 'runs', first: 'runs', second: 'waits: InsufficientQuota' })
  })

  it('without labels the node "default" of every tree is charged, which borrows', () => {
    const service = subtree('service', 'root', { children: [child('root', { cpu: 1 })] })
    const leaf = subtree('service', 'leaf', { parent: 'root', children: [child('default', { cpu: 0 })] })
    const forecast = decided([...context, service, leaf], [wrapper('a', { requests: { cpu: '500m' } })])
    expect(forecast.entries).toMatchObject([
      { state: 'starts', quotas: ['tree/context/default', 'tree/service/default'] },
    ])
  })

  it('an owner gets back what was borrowed, whatever the priority of the borrower is', () => {
    const gpus = (name: string, count: number): object => child(name, { 'nvidia.com/gpu': count })
    const tree = [
      subtree('gpu', 'root', { children: [gpus('root', 16)] }),
      subtree('gpu', 'leaves', { parent: 'root', children: [gpus('gold', 8), gpus('silver', 8)] }),
    ]
    const ask = (node: string, count: number, more: Partial<WrapperOptions>): WrapperOptions => ({
      requests: { 'nvidia.com/gpu': count },
      labels: { gpu: node },
      ...more,
    })
    const forecast = decided(tree, [
      wrapper('borrower', ask('silver', 16, { priority: 50, isRunning: true })),
      wrapper('owner', ask('gold', 8, { created: '00:59:00' })),
    ])
    expect(states(forecast)).toMatchObject({ borrower: 'leaves: ReclaimedQuota' })
    expect(forecast.startOf('team', 'owner')).toMatchObject({ at: now, evicted: ['team/borrower'] })
  })

  it('what runs is counted after a restart, and when quota is enabled later', () => {
    const labelled = wrapper('running', inTree('gold', '1000m', { isRunning: true }))
    const plain = wrapper('running', { requests: { cpu: '1000m' }, isRunning: true })
    const next = wrapper('next', inTree('bronze', '400m', { created: '00:59:00' }))
    expect(states(decided(context, [labelled, next], { preemption: false }))).toEqual({
      running: 'runs',
      next: 'waits: InsufficientQuota',
    })
    expect(states(decided(context, [plain, next], { quotaEnabled: false }))).toEqual({
      running: 'runs',
      next: 'starts',
    })
    const enabled = decided(context, [plain, next], { preemption: false })
    expect(enabled.entries).toMatchObject([
      { name: 'running', state: 'runs', quotas: ['tree/context/default'] },
      { name: 'next', state: 'waits' },
    ])
  })

  it('a tree that is added later counts at once; a deleted AppWrapper leaks nothing', () => {
    const coordinator = queueCoordinator()
    const state = coordinator.start({ config: workloadsConfig.read({ mcad: { quotaEnabled: true } }) })
    const take = (all: readonly Placed[]): void => {
      for (const one of all) coordinator.take(state, one)
    }
    const decision = (uid: string): string | undefined =>
      new Map(coordinator.decide(state, now).decisions).get(uid)?.what
    take([everything, ...context])
    const full = wrapper('full', inTree('root', '1075m'))
    take(withPods(full))
    expect(decision('full')).toBe('start')
    coordinator.take(state, { resource: AppWrapper, before: full })
    const again: AppWrapperObject = { ...full, metadata: { ...full.metadata, uid: 'again' } }
    take(withPods(again))
    expect(decision('again')).toBe('start')
    take(withPods(wrapper('new-tree', { requests: { memory: '1Gi' }, labels: { context: 'gold', later: 'node' } })))
    take([subtree('later', 'root', { children: [child('node', { memory: '2Gi' })] })])
    expect(decision('new-tree')).toBe('start')
  })
})

const kinds = kueueKinds('v1beta1')

function kueue(resource: Resource, name: string, spec: object, namespace?: string): Placed {
  const metadata = { name, ...(namespace !== undefined && { namespace }) }
  const object = { apiVersion: 'kueue.x-k8s.io/v1beta1', kind: resource.kind, metadata, spec }
  return { resource, object }
}

const clusterQueue = (name: string, nominalQuota: number, more: object = {}): Placed =>
  kueue(kinds.clusterQueue, name, {
    cohort: 'all',
    namespaceSelector: {},
    resourceGroups: [
      { coveredResources: ['cpu'], flavors: [{ name: 'any', resources: [{ name: 'cpu', nominalQuota }] }] },
    ],
    ...more,
  })

const localQueue = (name: string, more: object = {}): Placed =>
  kueue(kinds.localQueue, name, { clusterQueue: name, ...more }, 'team')

const flavor = kueue(kinds.resourceFlavor, 'any', {})

const inQueue = (queue: string, cpu: number, more: Partial<WrapperOptions> = {}): WrapperOptions => ({
  requests: { cpu },
  labels: { 'kueue.x-k8s.io/queue-name': queue },
  ...more,
})

describe('queues of Kueue', () => {
  const reclaiming = { preemption: { reclaimWithinCohort: 'Any' } }
  const cohort = [
    flavor,
    clusterQueue('a', 4, reclaiming),
    clusterQueue('b', 4, reclaiming),
    localQueue('a'),
    localQueue('b'),
  ]

  it('an owner takes back what another queue borrows: the newest of the lowest priority', () => {
    const running = [
      wrapper('old', inQueue('a', 3, { isRunning: true })),
      wrapper('important', inQueue('a', 3, { isRunning: true, priority: 9, created: '00:20:00' })),
      wrapper('new', inQueue('a', 2, { isRunning: true, created: '00:30:00' })),
    ]
    const forecast = decided(cohort, [...running, wrapper('owner', inQueue('b', 2, { created: '00:59:00' }))])
    expect(states(forecast)).toMatchObject({ old: 'runs', important: 'runs', new: 'leaves: ReclaimedQuota' })
    expect(forecast.startOf('team', 'owner')).toMatchObject({ at: now, evicted: ['team/new'] })
  })

  it('borrowing alone evicts nothing', () => {
    const forecast = decided(cohort, [
      wrapper('own', inQueue('b', 4, { isRunning: true })),
      wrapper('borrower', inQueue('a', 6, { priority: 1000, created: '00:59:00' })),
    ])
    expect(states(forecast)).toEqual({ own: 'runs', borrower: 'waits: InsufficientQuota' })
  })

  it('objects may come in any order: it starts when the last one is there', () => {
    const work = wrapper('work', inQueue('a', 2))
    const all = [localQueue('a'), flavor, clusterQueue('a', 4)]
    const missing = all.map((one) =>
      states(
        decided(
          all.filter((other) => other !== one),
          [work],
        ),
      ),
    )
    expect(missing).toEqual([
      { work: 'waits: UnknownLocalQueue' },
      { work: 'waits: InactiveClusterQueue' },
      { work: 'waits: UnknownClusterQueue' },
    ])
    for (const order of [all, all.toReversed()]) expect(states(decided(order, [work]))).toEqual({ work: 'starts' })
  })

  it('Hold blocks what is new, HoldAndDrain evicts what runs, of both kinds of queue', () => {
    const work = [wrapper('running', inQueue('a', 1, { isRunning: true })), wrapper('next', inQueue('a', 1))]
    const stopped = (cluster: object, local: object): object =>
      states(decided([flavor, clusterQueue('a', 4, cluster), localQueue('a', local)], work))
    const held = { running: 'runs', next: 'waits: QueueStopped' }
    const drained = { running: 'leaves: QueueStopped', next: 'waits: QueueStopped' }
    expect(stopped({ stopPolicy: 'Hold' }, {})).toEqual(held)
    expect(stopped({}, { stopPolicy: 'Hold' })).toEqual(held)
    expect(stopped({ stopPolicy: 'HoldAndDrain' }, {})).toEqual(drained)
    expect(stopped({}, { stopPolicy: 'HoldAndDrain' })).toEqual(drained)
    expect(stopped({}, {})).toEqual({ running: 'runs', next: 'starts' })
  })

  it('a resource that no group covers is refused', () => {
    const memory = wrapper('memory', { ...inQueue('a', 1), requests: { cpu: 1, memory: '1Gi' } })
    expect(decided([flavor, clusterQueue('a', 4), localQueue('a')], [memory]).entries).toMatchObject([
      { state: 'waits' },
    ])
  })
})
