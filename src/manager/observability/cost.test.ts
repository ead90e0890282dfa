import { describe, expect, it } from 'vitest'
import type { InformerReport } from '../../cache/shared-cache.ts'
import { Secret } from '../../kube/kinds.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { addEvents, addReconcile, extrapolate, noCost, sampleMemory } from './cost.ts'

const ledger: Ledger = {
  operator: 'a',
  controller: 'c',
  key: 'k',
  generation: 1,
  path: [],
  entries: [
    { step: 'Updater', subject: 'x', operation: 'created' },
    { step: 'Updater', subject: 'y', operation: 'unchanged' },
    { step: 'Updater', subject: 'cr', operation: 'statusWritten' },
  ],
  health: new Map(),
  isFinalizing: false,
  startedAt: 0,
}
const measured = (reads: number, cpuMs: number): Ledger => ({
  ...ledger,
  effort: { id: '1', endedAt: 0, reads, cpuMs, sent: [] },
})
const informers = (bytes: number): readonly InformerReport[] => [
  {
    resource: Secret,
    freshness: { state: 'synced', since: 0 },
    watches: 1,
    cover: 'all',
    objects: 2,
    bytes: 2 * bytes,
    consumers: [
      { consumer: 'a', objects: 2, bytes },
      { consumer: 'b', objects: 2, bytes },
    ],
  },
]

describe('cost', () => {
  it('counts operations, not unchanged objects', () => {
    const cost = addReconcile(addEvents(noCost(0), 3), measured(5, 2))
    expect(cost).toMatchObject({ events: 3, reconciles: 1, reads: 5, writes: 2, failures: 0, cpuMs: 2 })
  })

  it('is memory over time, with the share of each operator', () => {
    let cost = sampleMemory(noCost(0), informers(1e9), 'a', 0)
    cost = sampleMemory(cost, informers(3e9), 'a', 10_000)
    cost = sampleMemory(cost, informers(0), 'a', 20_000)
    expect(cost.gbSeconds).toBeCloseTo(1 * 10 + 3 * 10)
    expect(cost.bytes).toBe(0)
  })

  it('estimates the cache of an operator that runs alone', () => {
    expect(sampleMemory(noCost(0), informers(1000), 'a', 0)).toMatchObject({
      bytes: 1000,
      aloneBytes: 2000,
      aloneWatches: 1,
    })
  })

  it('is extrapolated to a day', () => {
    const hour = sampleMemory(addReconcile(noCost(0), measured(5, 100)), [], 'a', 3_600_000)
    expect(extrapolate(hour, 86_400_000)).toMatchObject({ reconciles: 24, writes: 48, reads: 120, cpuMs: 2400 })
    expect(extrapolate(noCost(0), 86_400_000).writes).toBe(0)
  })
})
