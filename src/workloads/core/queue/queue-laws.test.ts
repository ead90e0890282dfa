import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { createNodeTable, type NodeAssignment } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueueDecisions } from './queue-decisions.ts'
import type { QueueOptions } from './queue-state.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { QueuePolicies, QuotaLimit, QuotaNode } from '../quota/quota-node.ts'
import { createQuotaTree } from '../quota/quota-tree.ts'

const queues = ['a', 'b', 'c', 'd']
const nodeNames = ['n0', 'n1', 'n2']
const nodeCpu = 10

const policies = fc.record({
  strategy: fc.constantFrom('StrictFIFO', 'BestEffortFIFO'),
  withinQueue: fc.constantFrom('Never', 'LowerPriority', 'LowerOrNewerEqualPriority'),
  reclaim: fc.constantFrom('Never', 'LowerPriority', 'Any'),
  whileBorrowing: fc.record({ policy: fc.constantFrom('Never', 'LowerPriority') }),
  weight: fc.constantFrom(0, 1, 2),
}) as fc.Arbitrary<Partial<QueuePolicies>>
const limits: fc.Arbitrary<QuotaLimit> = fc.record(
  {
    nominal: fc.integer({ min: 0, max: 12 }),
    borrowing: fc.integer({ min: 0, max: 12 }),
    lending: fc.integer({ min: 0, max: 12 }),
  },
  { requiredKeys: ['nominal'] },
)
/** Two cohorts below one, queues in them; or queues alone. */
const forests = fc
  .record({
    parents: fc.array(fc.constantFrom('left', 'right', 'all', undefined), { minLength: 4, maxLength: 4 }),
    limits: fc.array(limits, { minLength: 7, maxLength: 7 }),
    policies: fc.array(policies, { minLength: 4, maxLength: 4 }),
  })
  .map(({ parents, limits: all, policies: own }): readonly QuotaNode[] => {
    const limitsOf = (index: number): NonNullable<QuotaNode['limits']> => new Map([['cpu', all[index]!]])
    const cohorts: readonly QuotaNode[] = [
      { name: 'all', limits: limitsOf(0) },
      { name: 'left', parent: 'all', limits: limitsOf(1) },
      { name: 'right', parent: 'all', limits: limitsOf(2) },
    ]
    const leaves = queues.map((name, index): QuotaNode => {
      const node = { name, limits: limitsOf(index + 3), policies: own[index]! }
      const parent = parents[index]
      return parent === undefined ? node : { ...node, parent }
    })
    return cohorts.concat(leaves)
  })

const workloads = fc
  .array(
    fc.record(
      {
        queue: fc.constantFrom(...queues),
        priority: fc.integer({ min: 0, max: 3 }),
        since: fc.integer({ min: 0, max: 50 }),
        cpu: fc.integer({ min: 1, max: 6 }),
        count: fc.integer({ min: 1, max: 3 }),
        preemptible: fc.boolean(),
        minimumRunMs: fc.constantFrom(0, 40),
        limitMs: fc.integer({ min: 10, max: 200 }),
      },
      { requiredKeys: ['queue', 'priority', 'since', 'cpu', 'count'] },
    ),
    { minLength: 1, maxLength: 24 },
  )
  .map((all) =>
    all.map(({ cpu, count, ...one }, index): QueuedWorkload => ({
      id: `w${index}`,
      ...one,
      groups: [{ shape: makePodShape(new Map([['cpu', cpu]])), count }],
    })),
  )

type Step =
  | { readonly kind: 'arrive' }
  | { readonly kind: 'end'; readonly which: number }
  | { readonly kind: 'withdraw'; readonly which: number }
  | { readonly kind: 'gone'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('arrive' as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), which: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('gone' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 60 }) }) },
  ),
  { maxLength: 60 },
)

function cpuOf({ groups }: QueuedWorkload): number {
  return groups.reduce((sum, { shape, count }) => sum + shape.requests.get('cpu')! * count, 0)
}

/** Plain bookkeeping of a small cluster, and the queue beside it. */
class Model {
  readonly forest: readonly QuotaNode[]
  readonly options: QueueOptions
  readonly nodes = createNodeTable()
  readonly quota = createQuotaTree()
  queue: ReturnType<typeof createAdmissionQueue>
  now = 100
  readonly waiting = new Map<string, QueuedWorkload>()
  readonly running = new Map<string, QueuedWorkload & { readonly startedAt: number }>()
  readonly leaving = new Map<string, { readonly reason: 'Preempted'; readonly by?: string }>()
  readonly pods = new Map<string, readonly NodeAssignment[]>()
  readonly log: string[] = []
  /** Laws that were broken. */
  readonly broken: string[] = []

  constructor(forest: readonly QuotaNode[], options: QueueOptions) {
    this.forest = forest
    this.options = options
    for (const name of nodeNames)
      this.nodes.setNode(
        name,
        { metadata: { name } },
        new Map([
          ['cpu', nodeCpu],
          ['pods', 20],
        ]),
      )
    this.quota.setNodes(forest)
    this.queue = createAdmissionQueue(this.nodes, this.quota, options)
  }

  law(holds: boolean, otherwise: string): void {
    if (!holds) this.broken.push(otherwise)
  }

  add(workload: QueuedWorkload): void {
    this.waiting.set(workload.id, workload)
    this.queue.add(workload)
  }

  decide(): QueueDecisions {
    const decided = this.queue.decide(this.now)
    for (const { id, by } of decided.evictions) {
      this.checkEviction(id, by)
      this.leaving.set(id, { reason: 'Preempted', ...(by !== undefined && { by }) })
      this.log.push(`-${id}`)
    }
    for (const { workload, assignments } of decided.starts) {
      this.law(this.waiting.delete(workload.id), `${workload.id} started, but did not wait`)
      this.running.set(workload.id, { ...workload, startedAt: this.now })
      this.pods.set(workload.id, assignments)
      this.queue.settle(workload.id, assignments)
      this.log.push(`+${workload.id}`)
    }
    this.checkRoom()
    this.law(this.queue.waiting === this.waiting.size && this.queue.running === this.running.size, 'one is lost')
    return decided
  }

  /** A running workload is gone; one that was evicted waits again. */
  gone(id: string): void {
    const workload = this.running.get(id)!
    this.running.delete(id)
    this.pods.delete(id)
    this.queue.remove(id)
    if (this.leaving.delete(id)) {
      const { startedAt: _, ...again } = workload
      this.add(again)
    }
  }

  checkEviction(id: string, by: string | undefined): void {
    const victim = this.running.get(id)!
    const claimant = this.waiting.get(by!)!
    this.law(!this.leaving.has(id), `${id} is evicted twice`)
    this.law(victim.preemptible !== false, `${id} is not preemptible`)
    this.law(this.now - victim.startedAt >= (victim.minimumRunMs ?? 0), `${id} has not run for its minimum`)
    const node = this.forest.find(({ name }) => name === claimant.queue)!
    const { withinQueue, reclaim, whileBorrowing } = node.policies!
    const isLower = victim.priority < claimant.priority
    if (victim.queue === claimant.queue) {
      const isEqual = victim.priority === claimant.priority && withinQueue === 'LowerOrNewerEqualPriority'
      this.law(withinQueue !== 'Never' && (isLower || isEqual), `${id} may not leave for ${by} in its queue`)
      return
    }
    this.law(reclaim === 'Any' || isLower, `${id} has the priority to stay`)
    this.law(reclaim !== 'Never' || whileBorrowing!.policy !== 'Never', `${by} may evict none of other queues`)
    const used = [...this.running.values()].filter(({ queue }) => queue === victim.queue)
    const { nominal } = this.forest.find(({ name }) => name === victim.queue)!.limits!.get('cpu')!
    const sum = used.reduce((all, one) => all + cpuOf(one), 0)
    this.law(sum > nominal, `${id} leaves for another queue though its own stays within its quota`)
  }

  /** Nodes and quota by plain sums, whatever is leaving. */
  checkRoom(): void {
    const taken = new Map<string, number>()
    for (const assignments of this.pods.values())
      for (const { node, shape, count } of assignments)
        taken.set(node, (taken.get(node) ?? 0) + shape.requests.get('cpu')! * count)
    for (const [name, sum] of taken) this.law(sum <= nodeCpu, `${name} has too little`)
    const own = new Map<string, number>()
    for (const one of this.running.values()) own.set(one.queue, (own.get(one.queue) ?? 0) + cpuOf(one))
    const judge = (node: QuotaNode): { readonly lent: number; readonly above: number } => {
      const { nominal, borrowing = Infinity, lending = Infinity } = node.limits!.get('cpu')!
      const children = this.forest.filter(({ parent }) => parent === node.name).map(judge)
      const subtree = children.reduce((sum, { lent }) => sum + lent, nominal)
      const kept = Math.max(0, subtree - lending)
      const used = children.reduce((sum, { above }) => sum + above, own.get(node.name) ?? 0)
      this.law(used <= subtree + (node.parent === undefined ? 0 : borrowing), `${node.name} exceeds its quota`)
      return { lent: subtree - kept, above: Math.max(0, used - kept) }
    }
    for (const node of this.forest) if (node.parent === undefined) judge(node)
  }

  /** A new process: all it knows is what the objects say. */
  restarted(): Model {
    const copy = new Model(this.forest, this.options)
    copy.now = this.now
    for (const [id, workload] of [...this.running].toReversed()) {
      copy.running.set(id, workload)
      copy.pods.set(id, this.pods.get(id)!)
      const leaving = this.leaving.get(id)
      if (leaving) copy.leaving.set(id, leaving)
      copy.queue.restore(workload, { pods: this.pods.get(id)!, ...(leaving && { leaving }) })
    }
    for (const workload of [...this.waiting.values()].toReversed()) copy.add(workload)
    return copy
  }
}

function play(model: Model, all: readonly QueuedWorkload[], moves: readonly Step[], check?: () => void): void {
  const arriving = [...all]
  for (const move of moves) {
    if (move.kind === 'arrive') {
      const next = arriving.shift()
      if (next) model.add(next)
    } else if (move.kind === 'wait') model.now += move.ms
    else if (move.kind === 'withdraw') {
      const [id] = pick([...model.waiting.keys()], move.which)
      if (id !== undefined) {
        model.waiting.delete(id)
        model.queue.remove(id)
      }
    } else {
      const from = move.kind === 'gone' ? [...model.leaving.keys()] : [...model.running.keys()]
      const [id] = pick(from, move.which)
      if (id !== undefined) {
        if (move.kind === 'end') model.leaving.delete(id)
        model.gone(id)
      }
    }
    model.decide()
    check?.()
  }
}

function pick<Item>(items: readonly Item[], which: number): readonly Item[] {
  return items.length === 0 ? [] : [items[which % items.length]!]
}

const anyOptions: fc.Arbitrary<QueueOptions> = fc.record(
  {
    fairSharing: fc.boolean(),
    backoffMs: fc.constantFrom(0, 30),
    headOfLineHoldingMs: fc.constantFrom(0, 30),
    reserveAfterMs: fc.constantFrom(0, 60, Infinity),
  },
  { requiredKeys: [] },
)

describe('over long random runs, the queue', () => {
  it('never exceeds nodes and quota, evicts only whom it may, and loses no workload', () => {
    fc.assert(
      fc.property(forests, workloads, steps, anyOptions, (forest, all, moves, options) => {
        const model = new Model(forest, options)
        play(model, all, moves)
        expect(model.broken).toEqual([])
        for (const id of [...model.running.keys(), ...model.waiting.keys()]) model.queue.remove(id)
        expect([model.queue.waiting, model.queue.running]).toEqual([0, 0])
        for (const [, { allocatable, free }] of model.nodes.totals()) expect(free).toBe(allocatable)
        const untouched = createQuotaTree()
        untouched.setNodes(forest)
        for (const { name } of forest) expect(model.quota.available(name, 'cpu')).toBe(untouched.available(name, 'cpu'))
      }),
    )
  })

  it('decides the same for the same changes', () => {
    fc.assert(
      fc.property(forests, workloads, steps, anyOptions, (forest, all, moves, options) => {
        const [first, second] = [new Model(forest, options), new Model(forest, options)]
        play(first, all, moves)
        play(second, all, moves)
        expect(second.log).toEqual(first.log)
      }),
    )
  })

  it('starts and evicts after a restart what it would have without, when no eviction is under way', () => {
    fc.assert(
      fc.property(forests, workloads, steps, (forest, all, moves) => {
        const model = new Model(forest, { reserveAfterMs: Infinity })
        play(model, all, moves)
        // Those that are evicted have gone, and the others have had their turn.
        for (let round = 0; round < 12; round++) {
          for (const id of [...model.leaving.keys()].toSorted()) model.gone(id)
          model.now += 50
          model.decide()
        }
        fc.pre(model.leaving.size === 0)
        const copy = model.restarted()
        const ending = [...model.running.keys()].toSorted()
        for (const one of [model, copy]) {
          one.log.length = 0
          for (const id of ending) {
            one.now += 50
            one.decide()
            for (const victim of [...one.leaving.keys()].toSorted()) one.gone(victim)
            if (one.running.has(id)) one.gone(id)
          }
        }
        expect(copy.log).toEqual(model.log)
      }),
    )
  })

  it('comes to rest: evicted workloads that wait again at once never evict each other for ever', () => {
    fc.assert(
      fc.property(forests, workloads, fc.boolean(), (forest, all, fairSharing) => {
        const model = new Model(forest, { fairSharing, reserveAfterMs: Infinity })
        for (const one of all) model.add(one)
        let rounds = 0
        for (;;) {
          model.now += 50
          const { starts, evictions } = model.decide()
          if (starts.length + evictions.length === 0 && model.leaving.size === 0) break
          for (const id of model.leaving.keys()) model.gone(id)
          expect(rounds++).toBeLessThan(200)
        }
        expect(model.broken).toEqual([])
      }),
    )
  })

  it('leaves nothing waiting that fits, when nothing is kept for others', () => {
    fc.assert(
      fc.property(forests, workloads, steps, (forest, all, moves) => {
        const model = new Model(
          forest.map(({ policies: own, ...node }) => ({ ...node, policies: { ...own, strategy: 'BestEffortFIFO' } })),
          { reserveAfterMs: Infinity },
        )
        play(model, all, moves, () => {
          if (model.leaving.size > 0) return
          for (const { id, queue, groups } of model.waiting.values()) {
            const demand = new Map([['cpu', cpuOf(model.waiting.get(id)!)]])
            const fits = !model.quota.shortage([{ node: queue, amounts: demand }]) && model.nodes.place(groups)
            expect(fits ? id : undefined).toBeUndefined()
          }
        })
      }),
    )
  })
})
