import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { noQuotaObjects, type QuotaObjects, readQuota } from './quota-model.ts'
import type { QuotaLimit } from '../core/quota/quota-node.ts'

const subtree = (tree: string, name: string, spec: object): KubeObject & { readonly spec: object } => ({
  apiVersion: 'quota.codeflare.dev/v1alpha1',
  kind: 'QuotaSubtree',
  metadata: { name, namespace: 'kube-system', labels: { tree } },
  spec,
})

const kueue = (
  kind: string,
  name: string,
  spec: object,
  namespace?: string,
): KubeObject & { readonly spec: object } => ({
  apiVersion: 'kueue.x-k8s.io/v1beta2',
  kind,
  metadata: { name, ...(namespace !== undefined && { namespace }) },
  spec,
})

const node = (name: string, requests: object, more: object = {}): object => ({ name, quotas: { requests, ...more } })

const flavors = (name: string, ...resources: readonly object[]): object => ({
  resourceGroups: [{ coveredResources: ['cpu'], flavors: [{ name, resources }] }],
})

const cpu = (nominalQuota: unknown, more: object = {}): object => ({ name: 'cpu', nominalQuota, ...more })

const flavor = kueue('ResourceFlavor', 'any', {})
const everyNamespace = { namespaceSelector: {} }
const inTeam = { namespace: 'team', namespaceLabels: {} }
const onQueue = (name: string) => ({ ...inTeam, labels: { 'kueue.x-k8s.io/queue-name': name } })

const read = (objects: Partial<QuotaObjects>, options = {}) =>
  readQuota({ ...noQuotaObjects, ...objects }, { quotaEnabled: true, ...options })

const limitsOf = (objects: Partial<QuotaObjects>): Readonly<Record<string, QuotaLimit | undefined>> =>
  Object.fromEntries(read(objects).pools.map(({ name, groups }) => [name, groups[0]?.flavors[0]?.limits.get('cpu')]))

describe('objects of Kueue', () => {
  it('count once by name: those of the cluster have no namespace, whatever a file says', () => {
    const queue = (namespace?: string) => kueue('ClusterQueue', 'q', { ...everyNamespace }, namespace)
    expect(read({ clusterQueues: [queue(), queue('team')] }).pools.map(({ name }) => name)).toEqual(['queue/q'])
    const local = (namespace: string) => kueue('LocalQueue', 'main', { clusterQueue: 'q' }, namespace)
    const model = read({ clusterQueues: [queue()], localQueues: [local('other'), local('team')] })
    expect(model.chargeOf(onQueue('main'))).toMatchObject({ kind: 'Charged', pools: ['queue/q'] })
  })
})

describe('QuotaSubtrees', () => {
  const subtrees = [
    subtree('context', 'root', { children: [node('root', { cpu: '1075m', memory: '1045Mi' })] }),
    subtree('context', 'leaves', {
      parent: 'root',
      children: [
        node('gold', { cpu: '600m' }),
        node('bronze', { cpu: '400m' }, { hardLimit: true }),
        node('default', { cpu: 0 }),
      ],
    }),
    subtree('service', 'root', { children: [node('default', { cpu: 8 })] }),
  ]

  it('build a tree of several objects; a parent has what its children leave, a hard limit borrows nothing', () => {
    expect(limitsOf({ subtrees })).toEqual({
      'tree/context/root': { nominal: 75 },
      'tree/context/gold': { nominal: 600 },
      'tree/context/bronze': { nominal: 400, borrowing: 0 },
      'tree/context/default': { nominal: 0 },
      'tree/service/default': { nominal: 8000 },
    })
    const root = read({ subtrees }).pools.find(({ name }) => name === 'tree/context/root')
    expect(root?.groups[0]?.flavors[0]?.limits.get('memory')).toEqual({ nominal: 1045 * 1024 * 1024 })
  })

  it('may promise more to the children than the parent has', () => {
    const generous = subtree('context', 'leaves', { parent: 'root', children: [node('gold', { cpu: 2 })] })
    expect(limitsOf({ subtrees: [subtrees[0]!, generous] })['tree/context/root']).toEqual({ nominal: -925 })
  })

  it('charge a workload to the node that its labels name, and to "default" in the trees they do not name', () => {
    const model = read({ subtrees })
    expect(model.chargeOf({ ...inTeam, labels: { context: 'gold' } })).toEqual({
      kind: 'Charged',
      pools: ['tree/context/gold', 'tree/service/default'],
      stop: 'None',
    })
    expect(model.chargeOf({ ...inTeam, labels: {} })).toMatchObject({
      pools: ['tree/context/default', 'tree/service/default'],
    })
  })

  it('refuse a workload that names a node that does not exist', () => {
    expect(read({ subtrees }).chargeOf({ ...inTeam, labels: { context: 'silver' } })).toEqual({
      kind: 'Refused',
      reason: 'UnknownQuotaNode',
      message: 'the tree "context" has no node "silver"',
    })
    const bare = [subtree('context', 'root', { children: [node('root', { cpu: 1 })] })]
    expect(read({ subtrees: bare }).chargeOf({ ...inTeam, labels: {} })).toMatchObject({ reason: 'UnknownQuotaNode' })
  })

  it('count only where quota is enabled', () => {
    const model = read({ subtrees }, { quotaEnabled: false })
    expect(model.pools).toEqual([])
    expect(model.chargeOf({ ...inTeam, labels: { context: 'silver' } })).toMatchObject({ kind: 'Charged', pools: [] })
  })

  it('give back what was borrowed, and evict lower priorities, with preemption only', () => {
    expect(read({ subtrees }).pools[0]?.policies).toMatchObject({ reclaim: 'Never', withinQueue: 'Never' })
    expect(read({ subtrees }, { preemption: true }).pools[0]?.policies).toMatchObject({
      reclaim: 'Any',
      withinQueue: 'LowerPriority',
      whileBorrowing: { policy: 'Never' },
    })
  })

  it('leave out what does not hang on a root, and say where it breaks off; the rest counts', () => {
    const broken = [
      ...subtrees,
      subtree('context', 'dangling', { parent: 'silver', children: [node('s1', { cpu: 1 })] }),
      subtree('context', 'below', { parent: 's1', children: [node('s2', { cpu: 1 })] }),
      subtree('context', 'loop', { parent: 'a', children: [node('b', { cpu: 1 })] }),
      subtree('context', 'loop-back', { parent: 'b', children: [node('a', { cpu: 1 }), node('c', { cpu: 1 })] }),
      { ...subtree('', 'homeless', { children: [node('x', { cpu: 1 })] }) },
    ]
    const { pools, problems } = read({ subtrees: broken })
    expect(pools).toEqual(read({ subtrees }).pools)
    expect(problems.map(({ object, reason, message }) => [object, reason, message])).toEqual([
      ['QuotaSubtree kube-system/below', 'UnknownParent', 'its ancestor "silver" is not defined'],
      ['QuotaSubtree kube-system/dangling', 'UnknownParent', 'its parent "silver" is not defined'],
      ['QuotaSubtree kube-system/homeless', 'MissingTree', expect.any(String)],
      ['QuotaSubtree kube-system/loop', 'Cycle', '"b" is in or below a cycle of parents'],
      ['QuotaSubtree kube-system/loop-back', 'Cycle', '"a" is in or below a cycle of parents'],
      ['QuotaSubtree kube-system/loop-back', 'Cycle', '"c" is in or below a cycle of parents'],
    ])
  })

  it('keep the older definition of a node, whatever comes first', () => {
    const older = subtree('t', 'older', { children: [node('default', { cpu: 1 })] })
    const newer = subtree('t', 'a-newer', { children: [node('default', { cpu: 9 })] })
    const at = (object: KubeObject, creationTimestamp: string) => ({
      ...object,
      metadata: { ...object.metadata, creationTimestamp },
    })
    const two = [at(newer, '2026-02-01T00:00:00Z'), at(older, '2026-01-01T00:00:00Z')]
    for (const given of [two, two.toReversed()]) {
      expect(limitsOf({ subtrees: given })).toEqual({ 'tree/t/default': { nominal: 1000 } })
      expect(read({ subtrees: given }).problems).toMatchObject([
        { object: 'QuotaSubtree kube-system/a-newer', reason: 'Duplicate', field: 'spec.children[0].name' },
      ])
    }
  })

  it('have so many resources at most: each costs an account at every node', () => {
    const many = Array.from({ length: 300 }, (_, index) => node(`n${index}`, { [`example.com/r${index}`]: 1 }))
    const { pools, problems } = read({ subtrees: [subtree('t', 'many', { children: many })] })
    expect(pools[0]?.groups[0]?.resources).toHaveLength(200)
    expect(problems).toHaveLength(100)
    expect(problems[0]).toMatchObject({ reason: 'InvalidField', field: expect.stringContaining('quotas') as string })
  })

  it('take an amount that cannot be read for zero, and name it', () => {
    const wrong = [
      subtree('t', 'wrong', {
        children: [node('default', { cpu: '-1', memory: 'plenty', pods: 3 }, { disabled: true })],
      }),
    ]
    const { pools, problems } = read({ subtrees: wrong })
    expect([...pools[0]!.groups[0]!.flavors[0]!.limits]).toEqual([
      ['cpu', { nominal: 0 }],
      ['memory', { nominal: 0 }],
      ['pods', { nominal: 3 }],
    ])
    expect(problems.map(({ field, reason }) => [field, reason])).toEqual([
      ['spec.children[0].quotas.disabled', 'IgnoredField'],
      ['spec.children[0].quotas.requests.cpu', 'InvalidAmount'],
      ['spec.children[0].quotas.requests.memory', 'InvalidAmount'],
    ])
  })
})

describe('queues of Kueue', () => {
  const resourceFlavors = [flavor]
  const localQueues = [kueue('LocalQueue', 'mine', { clusterQueue: 'blue' }, 'team')]
  const blue = kueue('ClusterQueue', 'blue', {
    ...everyNamespace,
    cohortName: 'all',
    ...flavors('any', cpu(9, { borrowingLimit: '500m', lendingLimit: 4 })),
  })

  it('are pools below their cohorts, which need not exist', () => {
    expect(limitsOf({ resourceFlavors, clusterQueues: [blue] })).toEqual({
      'cohort/all': undefined,
      'queue/blue': { nominal: 9000, borrowing: 500, lending: 4000 },
    })
    const cohorts = [kueue('Cohort', 'all', { parentName: 'top', ...flavors('any', cpu(3)) })]
    const { pools } = read({ resourceFlavors, clusterQueues: [blue], cohorts })
    expect(pools.map(({ name, parent }) => [name, parent])).toEqual([
      ['cohort/all', 'cohort/top'],
      ['cohort/top', undefined],
      ['queue/blue', 'cohort/all'],
    ])
  })

  it('read the same in v1beta1', () => {
    const old = { ...blue, apiVersion: 'kueue.x-k8s.io/v1beta1' }
    const { cohortName, ...rest } = { cohortName: 'all', ...everyNamespace, ...flavors('any', cpu(1)) }
    const spec = { ...rest, flavorFungibility: { whenCanBorrow: 'Borrow', whenCanPreempt: 'Preempt' } }
    const { pools, problems } = read({
      resourceFlavors,
      clusterQueues: [{ ...old, spec: { ...spec, cohort: cohortName } } as KubeObject],
    })
    expect(pools[1]).toMatchObject({
      parent: 'cohort/all',
      policies: { whenCanBorrow: 'MayStopSearch', whenCanPreempt: 'MayStopSearch' },
    })
    expect(problems).toEqual([])
  })

  it('are found through a LocalQueue of the namespace; without a label, through that named "default"', () => {
    const objects = { resourceFlavors, localQueues, clusterQueues: [blue] }
    const model = read(objects)
    expect(model.chargeOf(onQueue('mine'))).toEqual({ kind: 'Charged', pools: ['queue/blue'], stop: 'None' })
    expect(model.chargeOf(onQueue('other'))).toMatchObject({ reason: 'UnknownLocalQueue' })
    expect(model.chargeOf({ ...onQueue('mine'), namespace: 'elsewhere' })).toMatchObject({
      reason: 'UnknownLocalQueue',
    })
    expect(model.chargeOf({ ...inTeam, labels: {} })).toMatchObject({ kind: 'Charged', pools: [] })
    const usual = kueue('LocalQueue', 'default', { clusterQueue: 'blue' }, 'team')
    expect(read({ ...objects, localQueues: [usual] }).chargeOf({ ...inTeam, labels: {} })).toMatchObject({
      pools: ['queue/blue'],
    })
    expect(read(objects, { defaultQueueName: 'mine' }).chargeOf({ ...inTeam, labels: {} })).toMatchObject({
      pools: ['queue/blue'],
    })
    expect(read(objects, { kueueEnabled: false }).chargeOf(onQueue('other'))).toMatchObject({
      kind: 'Charged',
      pools: [],
    })
  })

  it('take workloads of the namespaces that they select', () => {
    const select = (namespaceSelector: unknown) =>
      read({
        resourceFlavors,
        localQueues,
        clusterQueues: [{ ...blue, spec: { ...blue.spec, namespaceSelector } } as KubeObject],
      })
    const own = { matchLabels: { 'kubernetes.io/metadata.name': 'team' } }
    expect(select(own).chargeOf(onQueue('mine'))).toMatchObject({ kind: 'Charged' })
    const members = { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] }
    expect(select(members).chargeOf(onQueue('mine'))).toMatchObject({ reason: 'NamespaceNotAllowed' })
    expect(select(members).chargeOf({ ...onQueue('mine'), namespaceLabels: { team: 'a' } }).kind).toBe('Charged')
    expect(select(undefined).chargeOf(onQueue('mine'))).toMatchObject({ reason: 'NamespaceNotAllowed' })
    const wrong = select({ matchExpressions: [{ key: 'team', operator: 'Near' }] })
    expect(wrong.chargeOf(onQueue('mine'))).toMatchObject({ reason: 'NamespaceNotAllowed' })
    expect(wrong.problems).toMatchObject([{ field: 'spec.namespaceSelector', reason: 'InvalidField' }])
  })

  it('are active once all objects that they need exist', () => {
    const withoutFlavor = read({ localQueues, clusterQueues: [blue] })
    expect(withoutFlavor.chargeOf(onQueue('mine'))).toMatchObject({
      reason: 'InactiveClusterQueue',
      message: 'the ClusterQueue "blue" is not active: there is no ResourceFlavor "any"',
    })
    expect(withoutFlavor.problems).toMatchObject([{ object: 'ClusterQueue blue', reason: 'UnknownFlavor' }])
    expect(read({ localQueues, resourceFlavors }).chargeOf(onQueue('mine'))).toMatchObject({
      reason: 'UnknownClusterQueue',
    })
    expect(read({ localQueues, resourceFlavors, clusterQueues: [blue] }).problems).toEqual([])
  })

  it('stop what is new, or drain all, as the stricter of both queues says', () => {
    const stopped = (cluster: string, local: string) =>
      read({
        resourceFlavors,
        clusterQueues: [{ ...blue, spec: { ...blue.spec, stopPolicy: cluster } } as KubeObject],
        localQueues: [kueue('LocalQueue', 'mine', { clusterQueue: 'blue', stopPolicy: local }, 'team')],
      }).chargeOf(onQueue('mine'))
    expect(stopped('Hold', 'None')).toMatchObject({ stop: 'Hold', stoppedBy: 'ClusterQueue blue' })
    expect(stopped('Hold', 'HoldAndDrain')).toMatchObject({ stop: 'HoldAndDrain', stoppedBy: 'LocalQueue team/mine' })
    expect(stopped('None', 'Sometimes')).toEqual({ kind: 'Charged', pools: ['queue/blue'], stop: 'None' })
  })

  it('are inactive in a cycle of cohorts; other cohorts go on', () => {
    const cohorts = [kueue('Cohort', 'all', { parentName: 'top' }), kueue('Cohort', 'top', { parentName: 'all' })]
    const green = kueue('ClusterQueue', 'green', { ...everyNamespace, cohortName: 'other', ...flavors('any', cpu(1)) })
    const model = read({ resourceFlavors, localQueues, clusterQueues: [blue, green], cohorts })
    expect(model.chargeOf(onQueue('mine'))).toMatchObject({ reason: 'InactiveClusterQueue' })
    expect(model.pools.map(({ name }) => name)).toEqual(['cohort/other', 'queue/blue', 'queue/green'])
    expect(model.problems.map(({ object, reason }) => [object, reason])).toEqual([
      ['Cohort all', 'Cycle'],
      ['Cohort top', 'Cycle'],
    ])
  })

  it('give their policies and weights', () => {
    const spec = {
      ...everyNamespace,
      ...flavors('any', cpu(1)),
      queueingStrategy: 'StrictFIFO',
      preemption: {
        withinClusterQueue: 'LowerOrNewerEqualPriority',
        reclaimWithinCohort: 'Any',
        borrowWithinCohort: { policy: 'LowerPriority', maxPriorityThreshold: 100 },
      },
      fairSharing: { weight: '500m' },
    }
    expect(read({ resourceFlavors, clusterQueues: [kueue('ClusterQueue', 'q', spec)] }).pools[0]?.policies).toEqual({
      strategy: 'StrictFIFO',
      withinQueue: 'LowerOrNewerEqualPriority',
      reclaim: 'Any',
      whileBorrowing: { policy: 'LowerPriority', highestPriority: 100 },
      whenCanBorrow: 'MayStopSearch',
      whenCanPreempt: 'TryNextFlavor',
      weight: 0.5,
    })
  })

  it('give a flavor the labels of its nodes, and the taints that it does not tolerate itself', () => {
    const spot = kueue('ResourceFlavor', 'spot', {
      nodeLabels: { type: 'spot' },
      nodeTaints: [
        { key: 'spot', value: 'true', effect: 'NoSchedule' },
        { key: 'slow', effect: 'NoExecute' },
      ],
      tolerations: [{ key: 'spot', operator: 'Equal', value: 'true' }],
    })
    const queue = kueue('ClusterQueue', 'q', flavors('spot', cpu(1)))
    const [pool] = read({ resourceFlavors: [spot], clusterQueues: [queue] }).pools
    expect(pool?.groups[0]?.flavors[0]).toMatchObject({
      name: 'spot',
      nodeLabels: { type: 'spot' },
      nodeTaints: [{ key: 'slow', effect: 'NoExecute' }],
    })
  })

  it('give a workload the priority of its WorkloadPriorityClass', () => {
    const high = { ...kueue('WorkloadPriorityClass', 'high', {}), value: 1000 }
    const model = read({ priorityClasses: [high] })
    expect(model.priorityOf({ 'kueue.x-k8s.io/priority-class': 'high' })).toBe(1000)
    expect(model.priorityOf({ 'kueue.x-k8s.io/priority-class': 'low' })).toBeUndefined()
    expect(model.priorityOf({})).toBeUndefined()
  })
})
