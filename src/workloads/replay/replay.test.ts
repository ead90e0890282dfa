import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/muster-error.ts'
import { workloadErrors } from '../errors.ts'
import { replay } from './replay.ts'
import { readTrace } from './trace.ts'

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
    expect(report.classes).toEqual([{ class: 'jobs', count: 4, started: 4, averageWaitMs: 4000, longestWaitMs: 8000 }])
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

  it.each([
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
