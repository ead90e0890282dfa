/**
 * `npm run bench -- workloads`: the queue alone (one incremental decision beside its limit, for few shapes of pods and for as many as
 * workloads; the loads of Kueue's scale tests, replayed in virtual time), and the whole operator under the first of these loads, in
 * real time (`real-time/real-time.ts`).
 */
import { createAdmissionQueue } from '../../src/workloads/core/queue/admission-queue.ts'
import type { QueuedWorkload } from '../../src/workloads/core/queue/queued-workload.ts'
import { createNodeTable } from '../../src/workloads/core/nodes/node-table.ts'
import { makePodShape, type PodShape } from '../../src/workloads/core/pods/pod-shape.ts'
import { createQuotaTree } from '../../src/workloads/core/quota/quota-tree.ts'
import { replay } from '../../src/workloads/replay/replay.ts'
import { scaleSuites, scaleTrace } from '../../src/workloads/replay/scale-trace.ts'
import { readTrace } from '../../src/workloads/replay/trace.ts'
import { type BenchReport, type Figure, figure, median } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import { measureRealTime } from './real-time/real-time.ts'
import { baseline } from './real-time/suites.ts'

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const figures: Figure[] = []
  if (only === undefined || only === 'decision') {
    figures.push(...measureDecisions({ shapes: 200, mostMs: 5, quick, log }))
    figures.push(...measureDecisions({ shapes: 10_000, mostMs: 50, quick, log }))
  }
  if (only === undefined || only === 'replay') {
    figures.push(...measureReplay('baseline', quick ? 5 : 1, log), ...measureReplay('large-scale', quick ? 5 : 1, log))
  }
  if (only === undefined || only === 'real-time')
    for (const server of ['embedded', 'real'] as const) figures.push(...(await measureOperator(server, quick, log)))
  return { figures, missing: [] }
}

/** Kueue under the same load, measured on two cores: its whole time, and the average waits. */
const kueue = {
  embedded: {
    wallMs: 355_000,
    waits: { large: 13_000, medium: 66_000, small: 215_000 },
    rss: 640_000_000,
    limitMs: 100_000,
  },
  real: {
    wallMs: 421_000,
    waits: { large: 46_000, medium: 114_000, small: 236_000 },
    rss: 640_000_000,
    limitMs: 140_000,
  },
} as const

/** A tenth of the workloads of each class if it has to be quick: its ratios mean nothing then. */
async function measureOperator(
  server: 'embedded' | 'real',
  quick: boolean,
  log: (line: string) => void,
): Promise<readonly Figure[]> {
  const classes = baseline.classes.map((one) => ({ ...one, count: quick ? one.count / 10 : one.count }))
  log(`baseline in real time, ${server} server`)
  const { wallMs, usage, waits, evictions, memory, requests } = await measureRealTime(
    { ...baseline, classes },
    server,
    log,
  )
  const peer = kueue[server]
  const workloads = baseline.cohorts * baseline.queues * classes.reduce((sum, { count }) => sum + count, 0)
  log(
    `${workloads} workloads, ${evictions} evictions, ${(memory.cpuMs / 1000).toFixed(1)} s of processor time in the manager, ${(requests.writes / workloads).toFixed(2)} writes and ${(requests.reads / workloads).toFixed(2)} reads for each`,
  )
  const name = (what: string): string => `baseline, ${server} server: ${what}`
  return [
    figure('workloads', name('wall ms'), wallMs, peer.wallMs, 'Kueue', {
      relation: '<=',
      limit: peer.limitMs / peer.wallMs,
    }),
    figure('workloads', name('usage, %'), usage, 85, 'target', { relation: '>=', limit: 1 }),
    figure('workloads', name('most RSS, bytes'), memory.peak, peer.rss, 'Kueue', { relation: '<=', limit: 300 / 640 }),
    ...Object.entries(peer.waits).map(([size, ms]) =>
      figure('workloads', name(`average wait of ${size}, ms`), waits.get(size) ?? 0, ms, 'Kueue', {
        relation: '<=',
        limit: 1 / 3,
      }),
    ),
  ]
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

/**
 * Decisions only: no API server, no objects, and no time that a controller takes. So the waits are a bound of what the queue adds, and
 * their ratio to what is published for a whole control plane in real time is no comparison of the two.
 */
function measureReplay(suite: keyof typeof scaleSuites, share: number, log: (line: string) => void): readonly Figure[] {
  const { published } = scaleSuites[suite]
  const trace = readTrace(scaleTrace(suite, share))
  const before = process.cpuUsage()
  const report = replay(trace)
  const { user, system } = process.cpuUsage(before)
  const usage = report.usage.get('cpu') ?? 0
  const waits = report.classes.map((one) => `${one.class} ${(one.averageWaitMs / 1000).toFixed(1)} s`).join(', ')
  log(
    `${suite}: ${report.admitted} starts, ${report.evicted} evictions, ${(usage * 100).toFixed(0)} % in use; average waits: ${waits}`,
  )
  const work = (report.durationMs / 1000) * usage
  return [
    figure('workloads', `${suite}, virtual: s`, report.durationMs / 1000, work, 'the work at full quota', {
      relation: '<=',
      limit: 1.1,
    }),
    figure('workloads', `${suite}, virtual: share in use`, usage, published.usage, 'published, real time', {
      relation: '>=',
      limit: 1.5,
    }),
    ...report.classes.map((one) =>
      figure(
        'workloads',
        `${suite}, virtual: ${one.class} waits, s`,
        one.averageWaitMs / 1000,
        published.waitSeconds[one.class]!,
        'published, real time',
        { relation: '<=', limit: 1 / 3 },
      ),
    ),
    figure('workloads', `${suite}, virtual: processor s`, (user + system) / 1e6, 60, 'limit of the operator', {
      relation: '<=',
      limit: 1,
    }),
  ]
}
