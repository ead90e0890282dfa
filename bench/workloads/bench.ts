/**
 * `npm run bench -- workloads`: the queue alone, before it is an operator. One incremental decision beside its limit, for few
 * shapes of pods and for as many as workloads; and the loads of Kueue's scale tests, replayed in virtual time.
 */
import { createAdmissionQueue } from '../../src/workloads/core/admission-queue.ts'
import type { QueuedWorkload } from '../../src/workloads/core/queued-workload.ts'
import { createNodeTable } from '../../src/workloads/core/node-table.ts'
import { makePodShape, type PodShape } from '../../src/workloads/core/pod-shape.ts'
import { createQuotaTree } from '../../src/workloads/core/quota-tree.ts'
import { replay } from '../../src/workloads/replay/replay.ts'
import { readTrace } from '../../src/workloads/replay/trace.ts'
import { type BenchReport, type Figure, figure, median } from '../figure.ts'
import type { BenchOptions } from '../main.ts'

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const figures: Figure[] = []
  if (only === undefined || only === 'decision') {
    figures.push(...measureDecisions({ shapes: 200, mostMs: 5, quick, log }))
    figures.push(...measureDecisions({ shapes: 10_000, mostMs: 50, quick, log }))
  }
  if (only === undefined || only === 'replay') {
    figures.push(...measureReplay('baseline', quick ? 5 : 1, log), ...measureReplay('large-scale', quick ? 5 : 1, log))
  }
  return { figures, missing: [] }
}

interface DecisionOptions {
  readonly shapes: number
  readonly mostMs: number
  readonly quick: boolean
  readonly log: (line: string) => void
}

/** 5,000 full nodes and 10,000 waiting workloads: one ends, and the next ones start. Processor time, since others run here. */
function measureDecisions({ shapes, mostMs, quick, log }: DecisionOptions): readonly Figure[] {
  const nodes = createNodeTable()
  const quota = createQuotaTree()
  const queues = Array.from({ length: 30 }, (_, index) => `queue-${index}`)
  const limits = new Map(['cpu', 'memory', 'nvidia.com/gpu'].map((resource) => [resource, { nominal: 2 ** 52 }]))
  quota.setNodes([{ name: 'all', limits }, ...queues.map((name) => ({ name, parent: 'all', limits: new Map() }))])
  for (let index = 0; index < 5000; index++) {
    const gpus = index % 4 === 0 ? 8 : 0
    const allocatable = new Map(Object.entries({ cpu: 64_000, memory: 2 ** 38, 'nvidia.com/gpu': gpus, pods: 110 }))
    nodes.setNode(
      `node-${index}`,
      { metadata: { name: `node-${index}`, labels: { zone: `${index % 3}` } } },
      allocatable,
    )
  }
  const queue = createAdmissionQueue(nodes, quota)
  const make = (id: string, index: number): QueuedWorkload => ({
    id,
    queue: queues[index % queues.length]!,
    priority: index % 3,
    since: index,
    groups: [{ shape: shapeOf(index % shapes), count: 20 + ((index * 7) % 50) }],
  })
  let filled = 0
  do queue.add(make(`running-${filled}`, filled++))
  while (queue.decide(0).starts.length > 0)
  for (let index = 0; index < 10_000; index++) queue.add(make(`waiting-${index}`, index))
  queue.decide(0)
  const rounds = quick ? 20 : 200
  const times: number[] = []
  let admitted = 0
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage()
    queue.remove(`running-${round}`)
    admitted += queue.decide(round).starts.length
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
  }
  const worst = times.toSorted((a, b) => a - b)[Math.floor(rounds * 0.99)]!
  log(
    `${shapes} shapes: ${queue.waiting} wait, ${queue.running} run; ${admitted} started in ${rounds} decisions, p99 ${worst.toFixed(2)} ms`,
  )
  return [
    figure('workloads', `one decision, ${shapes} shapes: ms`, median(times), mostMs, 'limit', {
      relation: '<',
      limit: 1,
    }),
  ]
}

function shapeOf(index: number): PodShape {
  const requests = {
    cpu: 500 + index * 3,
    memory: (1 + (index % 37)) * 2 ** 30 + index,
    ...(index % 5 === 0 && { 'nvidia.com/gpu': 1 + (index % 8) }),
  }
  return makePodShape(
    new Map(Object.entries(requests)),
    index % 7 === 0 ? { nodeSelector: { zone: `${index % 3}` } } : {},
  )
}

/** The generators of Kueue's performance tests: for each queue so many of each class, one after the other. */
const suites = {
  baseline: {
    cohorts: 5,
    queues: 6,
    classes: [
      { class: 'small', cpu: 1, duration: '200ms', priority: 50, count: 350, every: '100ms' },
      { class: 'medium', cpu: 5, duration: '500ms', priority: 100, count: 100, every: '500ms' },
      { class: 'large', cpu: 20, duration: '1s', priority: 200, count: 50, every: '1200ms' },
    ],
  },
  'large-scale': {
    cohorts: 10,
    queues: 100,
    classes: [
      { class: 'small', cpu: 1, duration: '150ms', priority: 50, count: 35, every: '60ms' },
      { class: 'medium', cpu: 5, duration: '350ms', priority: 100, count: 11, every: '300ms' },
      { class: 'large', cpu: 20, duration: '700ms', priority: 200, count: 4, every: '700ms' },
    ],
  },
} as const

/** Decisions only: no API server, and no time that a controller takes. What remains is the work itself. */
function measureReplay(suite: keyof typeof suites, share: number, log: (line: string) => void): readonly Figure[] {
  const { cohorts, queues, classes } = suites[suite]
  const trace = readTrace({
    queues: Array.from({ length: cohorts }, (_, cohort) => [
      { name: `cohort-${cohort}` },
      ...Array.from({ length: queues }, (__, index) => ({
        name: `${cohort}-${index}`,
        parent: `cohort-${cohort}`,
        quota: { cpu: { nominal: 20, borrowing: 100 } },
      })),
    ]).flat(),
    workloads: Array.from({ length: cohorts * queues }, (_, index) =>
      classes.map(({ cpu, count, class: name, duration, priority, every }) => ({
        class: name,
        duration,
        priority,
        every,
        count: Math.ceil(count / share),
        queue: `${Math.floor(index / queues)}-${index % queues}`,
        pods: [{ requests: { cpu } }],
      })),
    ).flat(),
  })
  const before = process.cpuUsage()
  const report = replay(trace)
  const { user, system } = process.cpuUsage(before)
  const waits = report.classes.map((one) => `${one.class} ${(one.averageWaitMs / 1000).toFixed(1)} s`).join(', ')
  const used = ((report.usage.get('cpu') ?? 0) * 100).toFixed(0)
  log(`${suite}: ${report.admitted} workloads, ${used} % in use; average waits: ${waits}`)
  const work = report.durationMs * (report.usage.get('cpu') ?? 0)
  return [
    figure(
      'workloads',
      `${suite}, the queue alone: virtual s`,
      report.durationMs / 1000,
      work / 1000,
      'the work at full quota',
      {
        relation: '<=',
        limit: 1.1,
      },
    ),
    figure('workloads', `${suite}, the queue alone: processor s`, (user + system) / 1e6, 60, 'limit of the operator', {
      relation: '<=',
      limit: 1,
    }),
  ]
}
