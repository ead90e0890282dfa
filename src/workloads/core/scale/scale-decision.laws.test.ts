import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ScaledWorkload } from './node-demand.ts'
import { added, emptyRecord, type NodePool, type PoolMachine, type PoolRecord } from './node-pool.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import { decideScaling, type ScaleDecision } from './scale-decision.ts'
import type { ScaleSettings } from './scale-round.ts'

const settings: ScaleSettings = {
  maxScaleout: 4,
  graceMs: 60_000,
  machineTimeoutMs: 300_000,
  coolDownMs: 120_000,
  settleMs: 10_000,
}
const types = ['small', 'large'] as const
const shape = makePodShape(new Map([['cpu', 1000]]))

interface Pool {
  readonly name: string
  readonly type: string
  readonly sort: NodePool['sort']
  /** Machines that others wanted. */
  base: number
  replicas: number
  record: PoolRecord
  machines: PoolMachine[]
}

/** A cluster with pools, a controller that makes and deletes machines, and workloads that start where there are free machines. */
class World {
  now = 1_000_000
  readonly pools = new Map<string, Pool>()
  readonly workloads = new Map<string, ScaledWorkload>()
  made = 0

  constructor() {
    for (const [name, type, sort, base] of [
      ['p1', 'small', 'shared', 1],
      ['p2', 'small', 'shared', 0],
      ['p3', 'large', 'shared', 0],
      ['p4', 'large', 'pattern', 2],
    ] as const)
      this.pools.set(name, { name, type, sort, base, replicas: base, record: emptyRecord, machines: [] })
    for (const pool of this.pools.values()) this.makeMachines(pool)
  }

  decide(): ScaleDecision {
    return decideScaling(this.workloads.values(), [...this.pools.values()].map(poolOf), settings, this.now)
  }

  /** One write of a decision, as a reconcile sends it; the others are decided on anew. */
  write(at: number): boolean {
    const { pools, workloads } = this.decide()
    const writes: (() => void)[] = []
    for (const [id, { replicas, record, machines, isObsolete }] of pools) {
      const pool = this.pools.get(id)!
      if (isObsolete) {
        writes.push(() => this.pools.delete(id))
        continue
      }
      writes.push(() => Object.assign(pool, { replicas, record }))
      for (const [name, { owner, isMarked }] of machines)
        writes.push(() => {
          this.change(name, { owner, isMarked })
        })
    }
    for (const [id, { create }] of workloads)
      for (const { pattern, count, instanceType = '' } of create) {
        const claim = { workload: id, namespace: 'ns', name: id, count, since: this.now }
        const name = `${pattern}-${id}`
        const fresh = { name, type: instanceType, sort: 'own', base: 0, replicas: count, machines: [] } as const
        writes.push(() => this.pools.set(name, { ...fresh, machines: [], record: { ...emptyRecord, claims: [claim] } }))
      }
    if (writes.length === 0) return false
    writes[at % writes.length]!()
    return true
  }

  makeMachines(pool: Pool): void {
    while (pool.machines.length < pool.replicas) {
      const name = `m${this.made++}`
      const fresh = { name, createdAt: this.now + this.made, isLeaving: false, isMarked: false, users: [] }
      pool.machines.push({ ...fresh, isReady: this.made <= pool.base })
    }
    while (pool.machines.length > pool.replicas) {
      const order = pool.machines.toSorted(
        (a, b) => Number(b.isMarked) - Number(a.isMarked) || Number(a.isReady) - Number(b.isReady),
      )
      const [victim] = order
      if (victim!.users.length > 0) throw new Error('A machine that is in use is deleted.')
      pool.machines = pool.machines.filter((one) => one !== victim)
    }
  }

  get machines(): { pool: Pool; machine: Pool['machines'][number] }[] {
    return [...this.pools.values()].flatMap((pool) => pool.machines.map((machine) => ({ pool, machine })))
  }

  change(name: string, more: Partial<PoolMachine>): void {
    for (const pool of this.pools.values())
      pool.machines = pool.machines.map((one) => (one.name === name ? Object.assign({}, one, more) : one))
  }

  phase(workload: ScaledWorkload, phase: ScaledWorkload['phase'], isSettled = false): void {
    this.workloads.set(workload.id, { ...workload, phase, since: this.now, isSettled })
  }

  /** The queue: what finds enough free machines starts on them. */
  start(workload: ScaledWorkload): void {
    if (workload.phase !== 'waiting') return
    const wanted =
      workload.instances === 'inferred' ? new Map([['any', workload.groups[0]!.count]]) : workload.instances
    const taken: string[] = []
    for (const [type, count] of wanted) {
      const free = this.machines.filter(
        ({ pool, machine }) =>
          machine.isReady &&
          machine.users.length === 0 &&
          (type === 'any' || pool.type === type) &&
          !taken.includes(machine.name),
      )
      if (free.length < count) return
      taken.push(...free.slice(0, count).map(({ machine }) => machine.name))
    }
    for (const name of taken) this.change(name, { users: [workload.id] })
    this.phase(workload, 'running', true)
  }

  end(id: string, phase?: ScaledWorkload['phase']): void {
    const workload = this.workloads.get(id)
    if (!workload) return
    for (const { machine } of this.machines) if (machine.users.includes(id)) this.change(machine.name, { users: [] })
    if (phase) this.phase(workload, phase)
    else this.workloads.delete(id)
  }

  check(): void {
    const total = [...this.pools.values()].reduce((sum, { record }) => sum + added(record), 0)
    if (total > settings.maxScaleout) throw new Error(`There are ${total} machines more.`)
    for (const { base, replicas, record } of this.pools.values())
      if (replicas !== base + added(record)) throw new Error('What others wanted is not as it was.')
  }

  /** Until nothing is written or made any more. */
  rest(): void {
    for (let round = 0; round < 400; round++) {
      let wrote = false
      for (let each = 0; this.write(each); each++) {
        wrote = true
        this.check()
        if (each === 200) throw new Error('Its writes have no end.')
      }
      for (const pool of this.pools.values()) this.makeMachines(pool)
      for (const { machine } of this.machines) this.change(machine.name, { isReady: true })
      if (!wrote && !this.write(0)) return
    }
    throw new Error('It does not come to rest.')
  }
}

function poolOf({ name, type, sort, replicas, record, machines }: Pool): NodePool {
  const cpu = type === 'small' ? 2000 : 8000
  const allocatable = new Map([
    ['cpu', cpu],
    ['pods', 1],
  ])
  const template = { key: type, node: { metadata: { labels: {} } }, allocatable }
  const fixed = { min: 0, max: 10, names: true, isLeaving: false }
  return { id: name, name, instanceType: type, template, replicas, record, machines, sort, ...fixed }
}

const demands = fc.oneof(
  fc
    .dictionary(fc.constantFrom(...types), fc.integer({ min: 1, max: 3 }), { minKeys: 1, maxKeys: 2 })
    .map((instances) => new Map(Object.entries(instances))),
  fc.constant('inferred' as const),
)
const ids = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const events = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ submit: ids, instances: demands, count: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 10, arbitrary: fc.record({ write: fc.nat(20) }) },
    { weight: 4, arbitrary: fc.constant({ make: true }) },
    { weight: 4, arbitrary: fc.record({ ready: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ fail: fc.nat(20) }) },
    { weight: 4, arbitrary: fc.record({ start: ids }) },
    { weight: 2, arbitrary: fc.record({ end: ids }) },
    { weight: 1, arbitrary: fc.record({ hold: ids }) },
    { weight: 1, arbitrary: fc.record({ evict: ids }) },
    { weight: 3, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 400 }) }) },
  ),
  { maxLength: 120 },
)
type Events = typeof events extends fc.Arbitrary<infer Value> ? Value : never

function play(steps: Events): World {
  const world = new World()
  const at = (nat: number) => world.machines[nat % Math.max(1, world.machines.length)]?.machine
  for (const step of steps) {
    if ('submit' in step) {
      const { submit: id, instances, count } = step
      if (world.workloads.has(id)) continue
      const fixed = { id, namespace: 'ns', name: id, priority: 0, isSettled: false, phase: 'waiting' } as const
      world.workloads.set(id, { ...fixed, since: world.now, groups: [{ shape, count }], instances })
    } else if ('write' in step) world.write(step.write)
    else if ('make' in step) for (const pool of world.pools.values()) world.makeMachines(pool)
    else if ('ready' in step) {
      const machine = at(step.ready)
      if (machine && machine.failure === undefined) world.change(machine.name, { isReady: true })
    } else if ('fail' in step) {
      const machine = at(step.fail)
      if (machine && !machine.isReady) world.change(machine.name, { failure: 'InsufficientCapacity' })
    } else if ('start' in step) {
      const workload = world.workloads.get(step.start)
      if (workload) world.start(workload)
    } else if ('end' in step) world.end(step.end)
    else if ('hold' in step) world.end(step.hold, 'other')
    else if ('evict' in step) world.end(step.evict, 'waiting')
    else world.now += step.pass * 1000
    world.check()
  }
  return world
}

function byId<Value>(map: ReadonlyMap<string, Value>): ReadonlyMap<string, Value> {
  return new Map([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

describe('decisions about nodes', () => {
  it('never exceed the maximum, take nothing that others wanted or that is in use, and end', () => {
    fc.assert(
      fc.property(events, (steps) => {
        const world = play(steps)
        world.rest()
        for (const workload of Array.from(world.workloads.values())) world.start(workload)
        // Their machines may be in use by others.
        for (const id of Array.from(world.workloads.keys()))
          if (!world.machines.some(({ machine }) => machine.users.includes(id))) world.workloads.delete(id)
        for (let each = 0; each < 3; each++) {
          world.now += settings.graceMs
          world.rest()
        }
      }),
      { numRuns: 300 },
    )
  })

  it('leave nothing behind: every machine that was added is removed at last', () => {
    fc.assert(
      fc.property(events, (steps) => {
        const world = play(steps)
        for (const id of Array.from(world.workloads.keys())) world.end(id)
        world.rest()
        world.now += settings.graceMs
        world.rest()
        expect([...world.pools.keys()]).toEqual(['p1', 'p2', 'p3', 'p4'])
        for (const { record, replicas, base, machines } of world.pools.values()) {
          expect(record.claims.length + record.idle.length).toBe(0)
          expect(replicas).toBe(base)
          expect(machines.filter(({ isMarked }) => isMarked)).toEqual([])
        }
      }),
    )
  })

  it('are a function of what is stored, in any order, and of the time', () => {
    fc.assert(
      fc.property(events, (steps) => {
        const world = play(steps)
        const reversed = decideScaling(
          [...world.workloads.values()].toReversed(),
          [...world.pools.values()].map(poolOf).toReversed(),
          settings,
          world.now,
        )
        const { pools, workloads, again } = world.decide()
        expect(byId(reversed.pools)).toEqual(byId(pools))
        expect(reversed.workloads).toEqual(workloads)
        expect(reversed.again).toBe(again)
      }),
    )
  })

  it('give every workload nodes that can have them, when machines come and other workloads end', () => {
    fc.assert(
      fc.property(events, (steps) => {
        const world = play(steps)
        for (let round = 0; world.workloads.size > 0; round++) {
          expect(round, 'a workload waits for ever').toBeLessThan(40)
          world.rest()
          for (const workload of Array.from(world.workloads.values())) {
            if (workload.phase === 'other') world.phase(workload, 'waiting')
            const reason = world.decide().workloads.get(workload.id)?.reason
            if (reason === 'ExceedsMaxScaleout' || reason === 'NoMatchingPool') world.end(workload.id)
            else world.start(workload)
          }
          const running = [...world.workloads.values()].find(({ phase }) => phase === 'running')
          if (running) world.end(running.id)
          world.now += 10 * settings.coolDownMs
        }
      }),
      { numRuns: 40 },
    )
  })
})
