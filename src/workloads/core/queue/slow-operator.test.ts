import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueuedWorkload } from './queued-workload.ts'
import type { QuotaNode } from '../quota/quota-node.ts'
import { createQuotaTree } from '../quota/quota-tree.ts'

const queues = ['a', 'b', 'c']
const sizes = [
  { name: 'small', cpu: 1, priority: 1, runMs: 40, everyMs: 10, count: 20 },
  { name: 'medium', cpu: 5, priority: 2, runMs: 300, everyMs: 20, count: 20 },
  { name: 'large', cpu: 20, priority: 3, runMs: 60, everyMs: 250, count: 5 },
] as const

interface Known {
  readonly workload: QueuedWorkload
  readonly runMs: number
  state: 'waiting' | 'starting' | 'running' | 'leaving'
}

/** Each decision is carried out some milliseconds later, as by an operator that has to write. */
function simulate(delays: readonly number[]) {
  const quota = createQuotaTree()
  const limits = new Map([['cpu', { nominal: 20, borrowing: 100 }]])
  quota.setNodes([
    { name: 'cohort', limits: new Map() },
    ...queues.map((name): QuotaNode => {
      // Not 'Any': an owner could take its quota back from a workload for which others have just left.
      const policies = { withinQueue: 'LowerPriority', reclaim: 'LowerPriority' } as const
      return { name, parent: 'cohort', limits, policies }
    }),
  ])
  const queue = createAdmissionQueue(undefined, quota, { awaitsConfirmation: true, reserveAfterMs: Infinity })
  const known = new Map<string, Known>()
  const due: { readonly at: number; readonly act: () => void }[] = []
  const evictedFor = new Set<string>()
  let evictions = 0
  const problems: string[] = []
  let now = 0
  let used = 0
  let turn = 0
  const after = (ms: number, act: () => void): void => void due.push({ at: now + ms, act })
  const delay = (): number => 1 + delays[turn++ % delays.length]!

  const carryOut = (): void => {
    const { starts, evictions: leaving } = queue.decide(now)
    for (const { workload } of starts) {
      const one = known.get(workload.id)!
      one.state = 'starting'
      after(delay(), () => {
        one.state = 'running'
        used += cpuOf(one)
        if (used > 60) problems.push(`${used} of 60 are used at ${now}`)
        queue.restore({ ...one.workload, startedAt: now })
        after(one.runMs, () => {
          if (one.state !== 'running') return
          used -= cpuOf(one)
          queue.remove(one.workload.id)
          known.delete(one.workload.id)
        })
      })
    }
    for (const { id, by } of leaving) {
      const one = known.get(id)!
      if (one.state !== 'running') problems.push(`${id} is evicted while it is ${one.state}`)
      one.state = 'leaving'
      const pair = `${id} for ${by}`
      if (evictedFor.has(pair)) problems.push(`${id} is evicted for ${by} again`)
      evictedFor.add(pair)
      evictions++
      after(delay(), () => {
        // Its end may have been on its way.
        if (!known.has(id)) return
        used -= cpuOf(one)
        one.state = 'waiting'
        queue.remove(id)
        queue.add(one.workload)
      })
    }
  }

  for (const name of queues)
    for (const { name: size, cpu, priority, runMs, everyMs, count } of sizes)
      for (let index = 0; index < count; index++) {
        const id = `${name}-${size}-${index}`
        const at = index * everyMs
        const groups = [{ shape: makePodShape(new Map([['cpu', cpu]])), count: 1 }]
        const workload = { id, queue: name, priority, since: at, groups }
        after(at, () => {
          known.set(id, { workload, runMs, state: 'waiting' })
          queue.add(workload)
        })
      }
  for (let rounds = 0; due.length > 0 && rounds < 10_000; rounds++) {
    due.sort((a, b) => a.at - b.at)
    now = due[0]!.at
    while (due.length > 0 && due[0]!.at <= now) due.shift()!.act()
    carryOut()
  }
  return { left: [...known.keys()], problems, hasEvicted: evictions > 0 }
}

function cpuOf({ workload }: Known): number {
  return workload.groups[0]!.shape.requests.get('cpu')!
}

it('however late decisions are carried out: all end, quota holds, each victim leaves once for one workload', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 12 }), (delays) => {
      expect(simulate(delays)).toEqual({ left: [], problems: [], hasEvicted: true })
    }),
    { numRuns: 15 },
  )
})
