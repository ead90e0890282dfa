import { describe, expect, it } from 'vitest'
import type { ScaledWorkload } from './node-demand.ts'
import { instanceDemand } from './node-demand.ts'
import { emptyRecord, type NodePool, type PoolMachine } from './node-pool.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import { decideScaling } from './scale-decision.ts'
import type { ScaleSettings } from './scale-round.ts'

const settings: ScaleSettings = {
  maxScaleout: 3,
  graceMs: 60_000,
  machineTimeoutMs: 900_000,
  coolDownMs: 300_000,
  settleMs: 10_000,
}
const now = 1_000_000

const gibibyte = 2 ** 30

function template(cpu: number, gpu = 0) {
  const allocatable = new Map([
    ['cpu', cpu * 1000],
    ['memory', cpu * 4 * gibibyte],
    ['pods', 100],
    ...(gpu > 0 ? ([['nvidia.com/gpu', gpu]] as const) : []),
  ])
  return { key: `${cpu}/${gpu}`, node: { metadata: { labels: {} } }, allocatable }
}

function pool(name: string, more: Partial<NodePool> = {}): NodePool {
  return {
    id: name,
    name,
    instanceType: 'm5',
    template: template(4),
    replicas: 0,
    min: 0,
    max: 100,
    record: emptyRecord,
    machines: [],
    names: true,
    sort: 'shared',
    isLeaving: false,
    ...more,
  }
}

function workload(name: string, more: Partial<ScaledWorkload> = {}): ScaledWorkload {
  return {
    id: name,
    namespace: 'ns',
    name,
    phase: 'waiting',
    since: 0,
    priority: 0,
    groups: [{ shape: makePodShape(new Map([['cpu', 1000]])), count: 1 }],
    instances: new Map([['m5', 1]]),
    isSettled: false,
    ...more,
  }
}

function machine(name: string, more: Partial<PoolMachine> = {}): PoolMachine {
  return { name, createdAt: 0, isReady: true, isLeaving: false, isMarked: false, users: [], ...more }
}

const claim = (name: string, count = 1, since = now - 1000) => ({ workload: name, namespace: 'ns', name, count, since })
const record = (claims: readonly ReturnType<typeof claim>[], more = {}) => ({ ...emptyRecord, claims, ...more })
const large = { shape: makePodShape(new Map([['cpu', 3000]])), count: 2 }

describe('the demand of the label orderedinstance', () => {
  it('names an instance type for each pod set, and sums repeats', () => {
    expect(instanceDemand('a_b', [1, 2])).toEqual(new Map(Object.entries({ a: 1, b: 2 })))
    expect(instanceDemand('a_b_a', [1, 2, 3])).toEqual(new Map(Object.entries({ a: 4, b: 2 })))
  })

  it('is nothing for an empty label, for types without a pod set and pod sets without a type', () => {
    expect(instanceDemand(undefined, [1])).toBeUndefined()
    expect(instanceDemand('', [1])).toEqual(new Map())
    expect(instanceDemand('a', [1, 5])).toEqual(new Map([['a', 1]]))
    expect(instanceDemand('a_b', [1])).toEqual(new Map([['a', 1]]))
  })
})

describe('scale-out', () => {
  it('adds machines of the named types to matching pools, and records for whom in the same write', () => {
    const decision = decideScaling(
      [
        workload('a', {
          instances: new Map([
            ['m5', 1],
            ['g4', 2],
          ]),
        }),
      ],
      [pool('m'), pool('g', { instanceType: 'g4', replicas: 1 })],
      settings,
      now,
    )
    expect(decision.pools.get('m')).toMatchObject({ replicas: 1, record: { claims: [{ workload: 'a', count: 1 }] } })
    expect(decision.pools.get('g')).toMatchObject({ replicas: 3, record: { claims: [{ workload: 'a', count: 2 }] } })
    expect(decision.workloads.get('a')?.reason).toBe('ScalingOut')
  })

  it('adds nothing for a workload that waits for something else, runs, or names nothing', () => {
    const decision = decideScaling(
      [workload('a', { phase: 'other' }), workload('b', { phase: 'running' }), workload('c', { instances: new Map() })],
      [pool('m')],
      settings,
      now,
    )
    expect(decision.pools.size).toBe(0)
    expect(decision.workloads.get('c')?.reason).toBe('NoInstanceTypes')
  })

  it('counts all pools and workloads together towards the maximum, and says so', () => {
    const pools = [pool('m', { replicas: 2, record: record([claim('a', 2)]) }), pool('g', { instanceType: 'g4' })]
    const two = workload('b', { instances: new Map([['g4', 2]]) })
    const four = workload('c', { instances: new Map([['g4', 4]]) })
    const one = workload('d', { instances: new Map([['g4', 1]]), since: 5 })
    const decision = decideScaling([workload('a', { phase: 'running' }), two, four, one], pools, settings, now)
    expect(decision.pools.size).toBe(0)
    expect(decision.workloads.get('b')).toMatchObject({
      reason: 'MaxScaleoutReached',
      message: 'It needs 2 machines more; all pools together may be given 3 (instascale.maxScaleoutAllowed).',
    })
    expect(decision.workloads.get('c')?.reason).toBe('ExceedsMaxScaleout')
    // The first one would wait for ever if later ones took what it waits for.
    expect(decision.workloads.get('d')?.reason).toBe('MaxScaleoutReached')
  })

  it('infers the cheapest pool that the pods fit: no devices for work that needs none', () => {
    const gpu = pool('gpu', { template: template(8, 4) })
    const small = pool('small')
    const decision = decideScaling(
      [workload('a', { instances: 'inferred', groups: [large] })],
      [gpu, small],
      settings,
      now,
    )
    expect(decision.pools.get('small')).toMatchObject({ replicas: 2 })
    expect(decision.pools.has('gpu')).toBe(false)
    const cheap = { ...gpu, template: { ...template(8, 4), price: 1 } }
    const dear = { ...small, template: { ...template(4), price: 2 } }
    const priced = decideScaling(
      [workload('a', { instances: 'inferred', groups: [large] })],
      [cheap, dear],
      settings,
      now,
    )
    expect(priced.pools.get('gpu')).toMatchObject({ replicas: 1 })
  })

  it('takes nodes of several pools when no pool fits all pods', () => {
    const device = { shape: makePodShape(new Map([['nvidia.com/gpu', 1]])), count: 1 }
    const memory = { shape: makePodShape(new Map([['memory', 30 * gibibyte]])), count: 1 }
    const decision = decideScaling(
      [workload('a', { instances: 'inferred', groups: [device, memory] })],
      [pool('gpu', { template: template(4, 1) }), pool('wide', { template: template(8) })],
      settings,
      now,
    )
    expect([...decision.pools].map(([id, { replicas }]) => [id, replicas])).toEqual([
      ['gpu', 1],
      ['wide', 1],
    ])
  })

  it('adds nodes once for workloads that share them', () => {
    const each = {
      instances: 'inferred',
      groups: [{ shape: makePodShape(new Map([['cpu', 1000]])), count: 2 }],
    } as const
    const both = [workload('a', each), workload('b', each)]
    const decision = decideScaling(both, [pool('m')], settings, now)
    expect(decision.pools.get('m')).toMatchObject({ replicas: 1, record: { claims: [{ workload: 'a' }] } })
    expect(decision.workloads.get('b')?.reason).toBe('SharesNodes')
    const { replicas, record: stored } = decision.pools.get('m')!
    const later = decideScaling(both, [pool('m', { replicas, record: stored })], settings, now + 1)
    expect(later.pools.size).toBe(0)
    expect(later.workloads.get('b')?.reason).toBe('SharesNodes')
    // Started, but its pods and the status of the other are not seen yet.
    const started = [workload('a', { ...each, phase: 'running', since: now }), workload('b', each)]
    expect(decideScaling(started, [pool('m', { replicas, record: stored })], settings, now + 1).pools.size).toBe(0)
    const settled = decideScaling(started, [pool('m', { replicas, record: stored })], settings, now + 10_000)
    expect(settled.pools.get('m')).toMatchObject({ replicas: 2 })
  })

  it('says what is not possible', () => {
    const waiting = (more: Partial<ScaledWorkload>) =>
      decideScaling([workload('a', more)], [pool('m', { max: 2 })], settings, now).workloads.get('a')?.reason
    expect(waiting({ instances: new Map([['x1', 1]]) })).toBe('NoMatchingPool')
    expect(waiting({ instances: new Map([['m5', 3]]) })).toBe('NoMatchingPool')
    const wide = { shape: makePodShape(new Map([['cpu', 64_000]])), count: 1 }
    expect(waiting({ instances: 'inferred', groups: [wide] })).toBe('NoMatchingPool')
    const many = { shape: makePodShape(new Map([['cpu', 4000]])), count: 50 }
    const decision = decideScaling(
      [workload('a', { instances: 'inferred', groups: [many] })],
      [pool('m')],
      settings,
      now,
    )
    expect(decision.workloads.get('a')?.message).toBe(
      'It needs 50 machines, and no more than 3 are ever added (instascale.maxScaleoutAllowed).',
    )
  })
})

describe('a pool that fails', () => {
  const waiting = workload('a')
  const stored = record([claim('a', 1, now - 1000)])
  const others = pool('other')

  it('is given up at a stock-out, and the next one that matches is tried when that is stored', () => {
    const broken = pool('m', {
      replicas: 1,
      record: stored,
      machines: [
        machine('m1', { isReady: false, failure: 'InsufficientInstanceCapacity', owner: 'a', isMarked: false }),
      ],
    })
    const decision = decideScaling([waiting], [broken, others], settings, now)
    expect(decision.pools.get('m')?.record.notBefore).toBe(now + settings.coolDownMs)
    expect(decision.pools.get('m')?.machines.get('m1')).toEqual({ owner: '', isMarked: true })
    expect(decision.pools.get('other')).toMatchObject({ replicas: 1 })
  })

  it('is given up when machines are not ready in time', () => {
    const slow = pool('m', { replicas: 1, record: stored, machines: [] })
    const early = decideScaling([waiting], [slow, others], settings, now)
    expect(early.pools.size).toBe(0)
    expect(early.again).toBe(now - 1000 + settings.machineTimeoutMs)
    const late = decideScaling([waiting], [slow, others], settings, early.again!)
    expect(late.pools.get('m')).toMatchObject({ replicas: 0, record: { claims: [], failures: 1 } })
    expect(late.pools.get('other')).toMatchObject({ replicas: 1 })
  })

  it('cools down longer with each failure, and says that it does', () => {
    const cooling = pool('m', { record: { ...emptyRecord, failures: 2, notBefore: now + 5000 } })
    const decision = decideScaling([waiting], [cooling], settings, now)
    expect(decision.workloads.get('a')?.reason).toBe('PoolsUnavailable')
    expect(decision.again).toBe(now + 5000)
    expect(decideScaling([waiting], [cooling], settings, now + 5000).pools.get('m')).toMatchObject({ replicas: 1 })
    const again = pool('m', { replicas: 1, record: { ...stored, failures: 2 } })
    const third = decideScaling([waiting], [again], settings, now + settings.machineTimeoutMs)
    expect(third.pools.get('m')?.record.notBefore).toBe(now + settings.machineTimeoutMs + 4 * settings.coolDownMs)
  })
})

describe('machines that no workload needs', () => {
  const owned = pool('m', {
    replicas: 2,
    record: record([claim('gone')]),
    machines: [machine('base', { createdAt: 1, users: ['other'] }), machine('added', { createdAt: 2, owner: 'gone' })],
  })

  it('are handed over to the next workload that waits for the like of it: no machine goes', () => {
    const decision = decideScaling([workload('next')], [owned], settings, now)
    expect(decision.pools.get('m')).toMatchObject({
      replicas: 2,
      record: { claims: [{ workload: 'next', count: 1 }], idle: [] },
    })
    expect(decision.pools.get('m')?.machines).toEqual(new Map([['added', { owner: 'next', isMarked: false }]]))
  })

  it('are kept for the grace time, marked, and removed when the mark is stored', () => {
    const first = decideScaling([], [owned], settings, now).pools.get('m')!
    expect(first).toMatchObject({ replicas: 2, record: { claims: [], idle: [{ count: 1, since: now }] } })
    const idle = { ...owned, record: first.record, machines: [owned.machines[0]!, machine('added', { owner: '' })] }
    const early = decideScaling([], [idle], settings, now + 1)
    expect(early.pools.size).toBe(0)
    expect(early.again).toBe(now + settings.graceMs)
    const marking = decideScaling([], [idle], settings, early.again!).pools.get('m')!
    expect(marking.replicas).toBe(2)
    expect(marking.machines).toEqual(new Map([['added', { owner: '', isMarked: true }]]))
    const marked = { ...idle, machines: [idle.machines[0]!, machine('added', { owner: '', isMarked: true })] }
    const removal = decideScaling([], [marked], settings, early.again!).pools.get('m')!
    expect(removal).toMatchObject({ replicas: 1, record: { claims: [], idle: [] } })
  })

  it('lose the mark when another workload gets them in time', () => {
    const marked = {
      ...owned,
      record: record([], { idle: [{ count: 1, since: 1 }] }),
      machines: [owned.machines[0]!, machine('added', { owner: '', isMarked: true })],
    }
    const decision = decideScaling([workload('next')], [marked], settings, now).pools.get('m')!
    expect(decision.replicas).toBe(2)
    expect(decision.machines).toEqual(new Map([['added', { owner: 'next', isMarked: false }]]))
  })

  it('go at once when another workload waits for their place in the maximum', () => {
    const full = pool('m', {
      replicas: 3,
      record: record([], { idle: [{ count: 3, since: now - 1 }] }),
      machines: [],
    })
    const decision = decideScaling(
      [workload('a', { instances: new Map([['g4', 1]]) })],
      [full, pool('g', { instanceType: 'g4' })],
      settings,
      now,
    )
    expect(decision.pools.get('m')).toMatchObject({ replicas: 0 })
    expect(decision.pools.has('g')).toBe(false)
  })

  it('stay while pods of a workload run on them', () => {
    const busy = pool('m', {
      replicas: 1,
      record: record([], { idle: [{ count: 1, since: 1 }] }),
      machines: [machine('added', { owner: '', users: ['other'] })],
    })
    expect(decideScaling([workload('other', { phase: 'running' })], [busy], settings, now).pools.size).toBe(0)
  })

  it('are the workload’s that runs on them, not of the one that still waits', () => {
    const taken = pool('m', {
      replicas: 1,
      record: record([claim('a')]),
      machines: [machine('added', { owner: 'a', users: ['b'] })],
    })
    const both = [workload('a'), workload('b', { phase: 'running', since: now - settings.settleMs })]
    const decision = decideScaling(both, [taken], settings, now + settings.settleMs).pools.get('m')!
    expect(decision).toMatchObject({ replicas: 2, record: { claims: [{ workload: 'b' }, { workload: 'a' }] } })
  })
})

describe('what people do by hand', () => {
  it('is not undone: fewer replicas than were added are fewer claims, and a pause', () => {
    const lowered = pool('m', { replicas: 1, record: record([claim('a', 3)]) })
    const decision = decideScaling([workload('a', { instances: new Map([['m5', 3]]) })], [lowered], settings, now)
    expect(decision.pools.get('m')).toMatchObject({
      replicas: 1,
      record: { claims: [{ workload: 'a', count: 1 }], notBefore: now + settings.coolDownMs },
    })
    expect(decision.workloads.get('a')?.reason).toBe('PoolsUnavailable')
  })

  it('stays when the machines that were added go', () => {
    const raised = pool('m', { replicas: 7, record: record([], { idle: [{ count: 2, since: 1 }] }) })
    expect(decideScaling([], [raised], settings, now).pools.get('m')).toMatchObject({ replicas: 5 })
  })
})

describe('pools that are made for a workload', () => {
  const pattern = pool('p', { sort: 'pattern', replicas: 1 })
  const own = pool('own', { sort: 'own', replicas: 1, record: record([claim('gone')]) })

  it('are asked for after a pattern, unless an empty one can be taken over', () => {
    expect(decideScaling([workload('a')], [pattern], settings, now).workloads.get('a')?.create).toEqual([
      { pattern: 'p', instanceType: 'm5', count: 1 },
    ])
    const decision = decideScaling([workload('a')], [pattern, own], settings, now)
    expect(decision.workloads.get('a')?.create).toEqual([])
    expect(decision.pools.get('own')).toMatchObject({ replicas: 1, record: { claims: [{ workload: 'a' }] } })
  })

  it('serve one workload at a time, and go when they are empty', () => {
    const decision = decideScaling([workload('a'), workload('gone')], [pattern, own], settings, now)
    expect(decision.workloads.get('a')?.create).toHaveLength(1)
    const empty = pool('own', { sort: 'own' })
    expect(decideScaling([], [empty], settings, now).pools.get('own')).toMatchObject({ isObsolete: true })
  })
})
