import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAdmissionQueue } from './admission-queue.ts'
import { createNodeTable } from '../nodes/node-table.ts'
import { makePodShape } from '../pods/pod-shape.ts'
import type { QueueOptions } from './queue-state.ts'
import type { QueuedWorkload } from './queued-workload.ts'

function cluster(count: number, options: QueueOptions = {}) {
  const nodes = createNodeTable()
  const allocatable = new Map(Object.entries({ cpu: 8, pods: 20 }))
  for (let each = 0; each < count; each++) nodes.setNode(`${each}`, { metadata: { name: `${each}` } }, allocatable)
  return createAdmissionQueue(nodes, undefined, { reserveAfterMs: 0, ...options })
}

function workload(id: string, cpu: number, more: Partial<QueuedWorkload> = {}): QueuedWorkload {
  const groups = [{ shape: makePodShape(new Map([['cpu', cpu]])), count: 1 }]
  return { id, queue: '', priority: 0, since: 0, groups, ...more }
}

function started(queue: ReturnType<typeof cluster>, now: number): readonly string[] {
  return queue.decide(now).starts.map((one) => one.workload.id)
}

describe('a reservation', () => {
  it('keeps room for a large workload, and lets in only what ends before', () => {
    const queue = cluster(1)
    queue.add(workload('first', 4, { limitMs: 100 }))
    expect(started(queue, 0)).toEqual(['first'])
    queue.add(workload('large', 8, { since: 1 }))
    queue.add(workload('long', 4, { since: 2, limitMs: 200 }))
    queue.add(workload('unknown', 4, { since: 2 }))
    queue.add(workload('short', 4, { since: 3, limitMs: 50 }))
    expect(started(queue, 10)).toEqual(['short'])
    expect(queue.explain('large', 10)).toEqual({ kind: 'AwaitingEnds', running: 2, at: 100 })
    expect(queue.estimate('large', 10)).toBe(100)
    expect(queue.explain('long', 10)).toMatchObject({ kind: 'InsufficientNodes' })
    queue.remove('short')
    expect(started(queue, 60)).toEqual([])
    expect(queue.explain('long', 60)).toEqual({ kind: 'Reserved', by: 'large' })
    queue.remove('first')
    expect(started(queue, 100)).toEqual(['large'])
  })

  it('leaves alone what it does not need', () => {
    const queue = cluster(2)
    queue.add(workload('a', 6, { limitMs: 100 }))
    queue.add(workload('b', 6, { limitMs: 500 }))
    expect(started(queue, 0)).toEqual(['a', 'b'])
    queue.add(workload('large', 8, { since: 1 }))
    queue.add(workload('endless', 2, { since: 2 }))
    queue.add(workload('other', 2, { since: 3 }))
    // The node of "b" is not the one that it waits for.
    expect(started(queue, 10)).toEqual(['endless'])
  })

  it('gives way to what is ahead of it, and starts as soon as it fits anywhere', () => {
    const queue = cluster(1)
    queue.add(workload('running', 4, { limitMs: 100 }))
    expect(started(queue, 0)).toEqual(['running'])
    queue.add(workload('large', 8, { since: 1 }))
    expect(started(queue, 1)).toEqual([])
    queue.add(workload('urgent', 4, { since: 2, priority: 1 }))
    expect(started(queue, 2)).toEqual(['urgent'])
    queue.remove('running')
    queue.remove('urgent')
    expect(started(queue, 3)).toEqual(['large'])
  })

  it('is made only after the time that a workload may be passed', () => {
    const queue = cluster(1, { reserveAfterMs: 1000 })
    queue.add(workload('running', 4))
    expect(started(queue, 0)).toEqual(['running'])
    queue.add(workload('large', 8))
    queue.add(workload('passes', 4, { since: 1 }))
    const { starts, again } = queue.decide(1)
    expect([starts.length, again]).toEqual([1, 1000])
    queue.remove('passes')
    queue.add(workload('late', 4, { since: 2 }))
    expect(started(queue, 1000)).toEqual([])
    expect(queue.explain('late', 1000)).toEqual({ kind: 'Reserved', by: 'large' })
  })

  it('is never delayed by what passes, and no workload starves while small ones keep coming', () => {
    const small = fc.record({
      cpu: fc.integer({ min: 1, max: 4 }),
      limitMs: fc.integer({ min: 1, max: 40 }),
      after: fc.integer({ min: 0, max: 10 }),
    })
    fc.assert(
      fc.property(
        fc.array(small, { minLength: 10, maxLength: 60 }),
        fc.integer({ min: 1, max: 2 }),
        (arrivals, count) => {
          const queue = cluster(count)
          const ends: { readonly at: number; readonly id: string }[] = []
          let [now, promised] = [0, Infinity]
          let startedAt = Infinity
          queue.add(workload('filler', 5, { limitMs: 30 }))
          const step = (): void => {
            ends.sort((a, b) => a.at - b.at)
            while (ends[0] && ends[0].at <= now) queue.remove(ends.shift()!.id)
            for (const { workload: one } of queue.decide(now).starts) {
              if (one.id === 'large') startedAt = now
              else ends.push({ at: now + one.limitMs!, id: one.id })
            }
            const reason = queue.explain('large', now)
            if (reason?.kind === 'AwaitingEnds') promised = Math.min(promised, reason.at ?? Infinity)
          }
          step()
          now = 1
          queue.add(workload('large', 8, { since: 1, groups: [{ shape: makePodShape(new Map([['cpu', 8]])), count }] }))
          step()
          for (const [index, { cpu, limitMs, after }] of arrivals.entries()) {
            for (let rest = after; rest > 0; rest--) {
              now++
              step()
            }
            queue.add(workload(`s${index}`, cpu, { since: now, limitMs }))
            step()
          }
          for (let rest = 0; rest < 50; rest++) {
            now++
            step()
          }
          expect(startedAt).toBeLessThanOrEqual(promised)
          expect(startedAt).not.toBe(Infinity)
        },
      ),
    )
  })
})

describe('an estimate', () => {
  it('adds up declared ends, also of what is ahead, and is unknown without them', () => {
    const queue = cluster(1, { reserveAfterMs: Infinity })
    queue.add(workload('running', 8, { limitMs: 100 }))
    expect(started(queue, 0)).toEqual(['running'])
    queue.add(workload('second', 8, { since: 1, expectedMs: 50 }))
    queue.add(workload('third', 8, { since: 2 }))
    queue.add(workload('fourth', 8, { since: 3 }))
    expect(['second', 'third', 'fourth'].map((id) => queue.estimate(id, 10))).toEqual([100, 150, undefined])
    expect(['second', 'third', 'fourth'].map((id) => queue.position(id, 10))).toEqual([1, 2, 3])
    expect(queue.ahead('fourth', 10, 5)).toEqual(['second', 'third'])
    expect(queue.position('running', 10)).toBeUndefined()
    // What runs longer than declared may end at any time.
    expect(queue.estimate('second', 200)).toBeUndefined()
    queue.remove('running')
    expect(started(queue, 201)).toEqual(['second'])
  })
})
