import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/muster-error.ts'
import { workloadErrors } from '../errors.ts'
import { replay } from './replay.ts'
import { scaleTrace } from './scale-trace.ts'
import { readTrace } from './trace.ts'
import { plotUsage } from './usage-plot.ts'

const job = { queue: 'gold', duration: '10s', pods: [{ count: 2, requests: { cpu: 1 } }] }

function messageOf(trace: unknown): string {
  try {
    readTrace(trace)
  } catch (error) {
    if (isMusterError(error, workloadErrors.InvalidTrace)) return error.message
    throw error
  }
  return 'valid'
}

describe('a replay', () => {
  it('starts what fits, and the rest when others end', () => {
    const report = replay(
      readTrace({
        queues: [{ name: 'gold', quota: { cpu: { nominal: 4 } } }],
        workloads: [{ ...job, class: 'jobs', count: 4, every: '1s' }],
      }),
    )
    // Two run at once: the third starts at 10 s, the fourth at 11 s.
    expect(report.classes).toEqual([
      { class: 'jobs', count: 4, started: 4, evicted: 0, averageWaitMs: 4000, longestWaitMs: 8000 },
    ])
    expect(report.durationMs).toBe(21_000)
    expect(report.usage.get('cpu')).toBeCloseTo(80 / 84)
    expect(report.unstarted).toEqual([])
  })

  it('judges by nodes, and says why a workload never started', () => {
    const report = replay(
      readTrace({
        nodes: [{ count: 2, allocatable: { cpu: 2 } }],
        workloads: [
          { class: 'fits', duration: '1s', pods: [{ count: 2, requests: { cpu: '1500m' } }] },
          { class: 'large', duration: '1s', pods: [{ requests: { cpu: 3 } }] },
        ],
      }),
    )
    expect(report.admitted).toBe(1)
    expect(report.unstarted).toEqual([
      {
        class: 'large',
        count: 1,
        reason: expect.objectContaining({ kind: 'InsufficientNodes', pods: 1, room: 0, resource: 'cpu' }),
      },
    ])
  })

  it('evicts, lets the victims leave in their time, and begins them anew', () => {
    const gold = { name: 'gold', quota: { cpu: { nominal: 2 } }, withinQueue: 'LowerPriority' }
    const report = replay(
      readTrace({
        queues: [gold],
        workloads: [
          { ...job, class: 'low', shutdown: '1s' },
          { ...job, class: 'high', priority: 1, at: '4s' },
        ],
      }),
    )
    // 4 s are lost, one more until the low one has left; the high one takes 10 s, and the low one another 10 s.
    expect(report).toMatchObject({ durationMs: 25_000, admitted: 3, evicted: 1, unstarted: [] })
    expect(report.classes.map(({ class: name, evicted }) => [name, evicted])).toEqual([
      ['low', 1],
      ['high', 0],
    ])
    expect(report.usage.get('cpu')).toBe(1)
  })

  it('keeps to limits, flavors, policies and back-off', () => {
    const flavors = ['small', 'large'].map((name) => ({ name, labels: { type: name } }))
    const group = (large: number): unknown => ({
      resources: ['cpu'],
      flavors: [
        { name: 'small', quota: { cpu: { nominal: 2 } } },
        { name: 'large', quota: { cpu: { nominal: large } } },
      ],
    })
    const report = replay(
      readTrace({
        settings: { backoff: '20s', reserveAfter: '1m', seed: 7 },
        flavors,
        nodes: flavors.map(({ labels }) => ({ labels, allocatable: { cpu: 8 } })),
        queues: [{ name: 'gold', groups: [group(4)], strategy: 'BestEffortFIFO', otherResources: 'unlimited' }],
        workloads: [
          { ...job, class: 'a', limit: '5s', count: 3 },
          { ...job, class: 'b', at: '1s', pods: [{ requests: { cpu: 7 } }] },
        ],
      }),
    )
    // Two go to the large flavor, one to the small one; the other never fits, and is not asked for ever.
    expect(report).toMatchObject({ admitted: 3, durationMs: 5000 })
    expect(report.unstarted).toMatchObject([{ class: 'b', reason: { kind: 'InsufficientQuota' } }])
    expect(report.usage.get('cpu')).toBeCloseTo(1)
  })

  it('is the same for the same seed, and another one for another', () => {
    const at = (seed: number): ReturnType<typeof replay> =>
      replay(
        readTrace({
          settings: { seed },
          queues: [{ name: 'gold', quota: { cpu: { nominal: 4 } } }],
          workloads: [{ ...job, class: 'jobs', count: 20, variation: 0.5 }],
        }),
      )
    expect(at(1)).toEqual(at(1))
    expect(at(1).durationMs).not.toBe(at(2).durationMs)
  })

  it('uses the whole quota on the loads of scale tests, and draws it', () => {
    for (const name of ['baseline', 'large-scale'] as const) {
      const report = replay(readTrace(scaleTrace(name, 25)))
      expect(report.unstarted).toEqual([])
      expect(report.usage.get('cpu')).toBeGreaterThan(name === 'baseline' ? 0.5 : 0.2)
      const { times, usage, waiting } = report.series
      expect([usage.get('cpu')!.length, waiting.length]).toEqual([times.length, times.length])
      expect(times.length).toBeLessThanOrEqual(400)
      const plot = plotUsage(report.series)
      expect(plot).toMatch(/^<svg [^>]*>\n/)
      expect(plot).not.toContain('NaN')
    }
  })

  it.each([
    [
      'an unknown flavor',
      { queues: [{ name: 'gold', groups: [{ resources: ['cpu'], flavors: [{ name: 'x' }] }] }], workloads: [job] },
      'queues[0].groups[0].flavors[0].name: there is no flavor "x".',
    ],
    [
      'an unknown word',
      { queues: [{ name: 'gold', reclaim: 'Always' }], workloads: [job] },
      'queues[0].reclaim: not one of Never, LowerPriority, Any.',
    ],
    ['a list', [], 'trace: not an object.'],
    ['without workloads', { nodes: [{ allocatable: { cpu: 1 } }] }, 'workloads: a trace needs at least one workload.'],
    [
      'without nodes and queues',
      { workloads: [job] },
      'trace: it has neither nodes nor queues: all would start at once.',
    ],
    [
      'a misspelt field',
      { queues: [{ name: 'gold' }], workloads: [{ ...job, priorty: 1 }] },
      'workloads[0].priorty: unknown field; did you mean "priority"?.',
    ],
    [
      'a bad quantity',
      { queues: [{ name: 'gold', quota: { cpu: { nominal: 'x' } } }], workloads: [job] },
      'queues[0].quota.cpu.nominal: "x" is not a valid quantity.',
    ],
    [
      'a bad duration',
      { queues: [{ name: 'gold' }], workloads: [{ ...job, duration: 5 }] },
      'workloads[0].duration: not a valid duration, such as 200ms, 90s or 2h.',
    ],
    [
      'an unknown queue',
      { queues: [{ name: 'silver' }], workloads: [job] },
      'workloads[0].queue: there is no queue "gold".',
    ],
    [
      'too many',
      { queues: [{ name: 'gold' }], workloads: [{ ...job, count: 2_000_000 }] },
      'workloads: more than 1000000 workloads.',
    ],
    [
      'a fraction',
      { queues: [{ name: 'gold' }], workloads: [{ ...job, count: 1.5 }] },
      'workloads[0].count: not a whole number from 1.',
    ],
    [
      'a pod without requests and spec',
      { queues: [{ name: 'gold' }], workloads: [{ ...job, pods: [{ count: 1 }] }] },
      'workloads[0].pods[0]: it needs either requests, or the spec of a pod.',
    ],
  ])('names the mistake of a trace: %s', (_, trace, message) => {
    expect(messageOf(trace)).toBe(message.replace('?.', '?'))
  })
})
