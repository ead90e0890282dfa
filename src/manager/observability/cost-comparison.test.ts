import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { Secret } from '../../kube/kinds.ts'
import { createActivity } from './activity.ts'
import { compareWithSeparateProcesses } from './cost-comparison.ts'
import type { LaneState } from '../schedule/lane.ts'

const idle: LaneState = {
  waiting: 0,
  running: 0,
  runs: [],
  concurrency: 8,
  later: 0,
  isPaused: false,
  heldBy: 'nothing',
}
const day = 86_400_000

describe('a manager against separate processes', () => {
  it('is one process, one watch and one copy instead of many', async () => {
    const clock = virtualClock(0)
    const activity = createActivity({ clock })
    const names = Array.from({ length: 10 }, (_, index) => `o${index}`)
    const input = {
      lanes: new Map(names.map((name) => [name, idle])),
      informers: [
        {
          resource: Secret,
          freshness: { state: 'synced', since: 0 },
          watches: 1,
          cover: 'all',
          objects: 5000,
          bytes: 40e6,
          consumers: names.map((consumer) => ({ consumer, objects: 5000, bytes: 4e6 })),
        },
      ],
      usage: { cpuMs: 0, bytes: 100e6, peakBytes: 100e6, requests: 30 },
    } as const
    activity.sample(input)
    await clock.advance(day / 24)
    const { manager, separate } = compareWithSeparateProcesses(activity.report(input), day, {
      baseBytes: 20e6,
      leaseMs: 2000,
      watchMs: day,
    })
    expect(manager).toEqual({ processes: 1, bytes: 100e6, gbSeconds: 0.1 * 86_400, watches: 1, requests: 30 * 24 })
    expect(separate).toMatchObject({
      processes: 10,
      bytes: 10 * (20e6 + 40e6),
      watches: 10,
      requests: 10 * (43_200 + 1),
    })
    expect(separate.gbSeconds).toBeCloseTo(0.6 * 86_400)
  })
})
