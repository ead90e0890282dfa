/**
 * Prometheus metrics of hosted operators: counters from ledgers and lanes, gauges from the report. They have the names,
 * labels and buckets of controller-runtime, so that existing dashboards work, and there are a few of our own.
 * Reconciles are labelled by controller (`operator/controller`); queues and workers, of which there is one set per
 * operator, by operator. `render` returns the exposition format.
 */
import type { ErrorName } from '../../kube/errors.ts'
import { type Ledger, operationCounts } from '../../operator/ledger.ts'
import type { Finding } from '../findings/finding.ts'
import type { ManagerReport, OperatorReport } from './report.ts'
import type { LaneObserver } from '../schedule/scheduler.ts'

export interface Metrics extends LaneObserver {
  /** Counts a finished reconcile. */
  count(ledger: Ledger, tookMs: number): void
  find(finding: Finding): void
  /** Counts a request: for `countedTransport`. */
  request(request: { readonly method: string; readonly code: string; readonly host: string }): void
  /** With a report, includes the gauges. */
  render(report?: ManagerReport): string
}

type Labels = Readonly<Record<string, string>>

/** The buckets of controller-runtime, which its dashboards expect. */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]

/** Counters and histograms. */
const counted = {
  controller_runtime_reconcile_total: ['counter', 'Reconciles by controller and result.'],
  controller_runtime_reconcile_errors_total: ['counter', 'Reconciles that failed.'],
  controller_runtime_terminal_reconcile_errors_total: ['counter', 'Reconciles that failed for good, or gave up.'],
  controller_runtime_reconcile_timeouts_total: ['counter', 'Reconciles that took too long, or a step of which did.'],
  controller_runtime_reconcile_time_seconds: ['histogram', 'How long reconciles took.'],
  workqueue_adds_total: ['counter', 'Keys that came into the queue.'],
  workqueue_retries_total: ['counter', 'Keys that came into the queue once more, after a failure.'],
  workqueue_queue_duration_seconds: ['histogram', 'How long keys waited.'],
  workqueue_work_duration_seconds: ['histogram', 'How long keys were worked on.'],
  rest_client_requests_total: ['counter', 'Requests to API servers, by code, method and host.'],
  muster_operations_total: ['counter', 'What reconciles did, by operation.'],
  muster_failures_total: ['counter', 'What failed, by step and reason.'],
  muster_findings_total: ['counter', 'Hot loops, conflicts and undeclared access.'],
  muster_metrics_dropped_total: ['counter', 'What was not counted, since there were too many series of its family.'],
} as const

type CountedName = keyof typeof counted

/** A step timed out; or the whole reconcile, where the operator is isolated. */
const timeouts: ReadonlySet<string> = new Set<ErrorName>(['StepTimeout', 'ReconcileTimeout'])

/**
 * Limits the number of series: reasons come from authors, and one that contains object names would overload Prometheus.
 */
const mostSeries = 2000

/** By its formatted labels. */
type Series = Map<string, { readonly labels: Labels; amount: number; readonly spread?: Spread }>

/** Observations per bucket, not cumulated; `amount` is their sum. */
interface Spread {
  readonly buckets: readonly number[]
  readonly counts: number[]
}

export function createMetrics(): Metrics {
  const families = new Map<CountedName, Series>()

  /** Undefined: the limit of series is reached. */
  const seriesOf = (name: CountedName, labels: Labels, buckets?: readonly number[]) => {
    let family = families.get(name)
    if (!family) families.set(name, (family = new Map()))
    const key = formatLabels(labels)
    const known = family.get(key)
    if (known) return known
    if (family.size >= mostSeries) return undefined
    const spread = buckets && { buckets, counts: [...buckets, Infinity].map(() => 0) }
    const made = { labels, amount: 0, ...(spread && { spread }) }
    family.set(key, made)
    return made
  }

  const add = (name: CountedName, labels: Labels, amount = 1): void => {
    const series = seriesOf(name, labels)
    if (series) series.amount += amount
    else add('muster_metrics_dropped_total', { family: name })
  }

  const observe = (name: CountedName, labels: Labels, seconds: number, buckets: readonly number[]): void => {
    const series = seriesOf(name, labels, buckets)
    if (!series?.spread) {
      add('muster_metrics_dropped_total', { family: name })
      return
    }
    series.amount += seconds
    const bucket = buckets.findIndex((limit) => seconds <= limit)
    series.spread.counts[bucket < 0 ? buckets.length : bucket]!++
  }

  return {
    count(ledger, tookMs) {
      const { operator, controller, failure, requeueAfterMs } = ledger
      const labels = { controller: `${operator}/${controller}` }
      const result = failure && !failure.gaveUp ? 'error' : requeueAfterMs === undefined ? 'success' : 'requeue_after'
      add('controller_runtime_reconcile_total', { ...labels, result })
      if (failure && !failure.gaveUp) add('controller_runtime_reconcile_errors_total', labels)
      if (failure?.retry === 'terminal') add('controller_runtime_terminal_reconcile_errors_total', labels)
      if (failure && timeouts.has(failure.reason)) add('controller_runtime_reconcile_timeouts_total', labels)
      if (failure) add('muster_failures_total', { ...labels, step: failure.step, reason: failure.reason })
      for (const [operation, times] of operationCounts(ledger)) {
        add('muster_operations_total', { ...labels, operation }, times)
      }
      observe('controller_runtime_reconcile_time_seconds', labels, tookMs / 1000, reconcileBuckets)
    },
    find({ operator, controller, kind }) {
      add('muster_findings_total', { controller: `${operator}/${controller}`, kind })
    },
    added(lane, cause, isNew) {
      if (isNew) add('workqueue_adds_total', queueLabels(lane))
      if (cause === 'retry') add('workqueue_retries_total', queueLabels(lane))
    },
    started(lane, waitedMs) {
      observe('workqueue_queue_duration_seconds', queueLabels(lane), waitedMs / 1000, queueBuckets)
    },
    ended(lane, tookMs) {
      observe('workqueue_work_duration_seconds', queueLabels(lane), tookMs / 1000, queueBuckets)
    },
    request({ method, code, host }) {
      add('rest_client_requests_total', { code, method, host })
    },
    render(report) {
      const lines: string[] = []
      for (const [name, [type, help]] of Object.entries(counted)) {
        const family = families.get(name as CountedName)
        if (!family) continue
        lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
        for (const [key, { labels, amount, spread }] of family) {
          if (spread) lines.push(...spreadLines(name, labels, amount, spread))
          else lines.push(`${name}${key} ${amount}`)
        }
      }
      if (report) lines.push(...standing(report))
      return `${lines.join('\n')}\n`
    },
  }
}

/** Prometheus buckets are cumulative. */
function spreadLines(name: string, labels: Labels, sum: number, { buckets, counts }: Spread): readonly string[] {
  let total = 0
  const lines = counts.map((count, index) => {
    total += count
    const le = index < buckets.length ? String(buckets[index]) : '+Inf'
    return `${name}_bucket${formatLabels({ ...labels, le })} ${total}`
  })
  return [...lines, `${name}_sum${formatLabels(labels)} ${sum}`, `${name}_count${formatLabels(labels)} ${total}`]
}

type Sample = readonly [labels: Labels, value: number]

interface Standing {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly help: string
  samples(report: ManagerReport): readonly Sample[]
}

const each =
  (of: (operator: OperatorReport) => number, labels = (name: string): Labels => ({ operator: name })) =>
  ({ operators }: ManagerReport): readonly Sample[] =>
    operators.map((operator) => [labels(operator.name), of(operator)])

const byController = (name: string): Labels => ({ controller: name })

/** Gauges, read from the report. */
const gauges: readonly Standing[] = [
  {
    name: 'workqueue_depth',
    type: 'gauge',
    help: 'Queued keys.',
    // Priorities age here, so a key has no fixed one; dashboards sum over the label.
    samples: each(
      ({ waiting }) => waiting,
      (name) => ({ ...queueLabels(name), priority: '' }),
    ),
  },
  {
    name: 'controller_runtime_active_workers',
    type: 'gauge',
    help: 'Reconciles in progress.',
    samples: each(({ running }) => running, byController),
  },
  {
    name: 'controller_runtime_max_concurrent_reconciles',
    type: 'gauge',
    help: 'Maximum concurrent reconciles.',
    samples: each(({ places }) => places, byController),
  },
  {
    name: 'workqueue_unfinished_work_seconds',
    type: 'gauge',
    help: 'Time that the reconciles in progress have taken, in total.',
    samples: each(({ runningMs }) => runningMs.all / 1000, queueLabels),
  },
  {
    name: 'workqueue_longest_running_processor_seconds',
    type: 'gauge',
    help: 'Time that the longest reconcile in progress has taken.',
    samples: each(({ runningMs }) => runningMs.longest / 1000, queueLabels),
  },
  {
    name: 'leader_election_master_status',
    type: 'gauge',
    help: 'Whether this replica holds the lease.',
    samples: ({ leases }) => leases.map(({ name, isHeld }) => [{ name }, isHeld ? 1 : 0]),
  },
  {
    name: 'muster_ready',
    type: 'gauge',
    help: 'Whether the manager is ready: caches are fresh and reconciles finish.',
    samples: ({ isReady }) => [[{}, isReady ? 1 : 0]],
  },
  {
    name: 'muster_operator_stand',
    type: 'gauge',
    help: 'The state of each assigned operator; failed: it cannot be started.',
    samples: ({ posts = [] }) => posts.map(({ name, stand }) => [{ operator: name, stand }, 1]),
  },
  {
    name: 'muster_lane_held',
    type: 'gauge',
    help: 'The gate that holds an operator’s keys.',
    samples: ({ operators }) =>
      operators.flatMap(({ name, heldBy }) => (heldBy === 'nothing' ? [] : [[{ operator: name, gate: heldBy }, 1]])),
  },
  {
    name: 'muster_objects_failing',
    type: 'gauge',
    help: 'CRs whose last reconcile failed.',
    samples: each(({ failing }) => failing),
  },
  {
    name: 'muster_cost_events_total',
    type: 'counter',
    help: 'Changes that enqueued a key of the operator.',
    samples: each(({ cost }) => cost.events),
  },
  {
    name: 'muster_cost_reads_total',
    type: 'counter',
    help: 'Objects and lists read from caches.',
    samples: each(({ cost }) => cost.reads),
  },
  {
    name: 'muster_cost_writes_total',
    type: 'counter',
    help: 'Write requests.',
    samples: each(({ cost }) => cost.writes),
  },
  {
    name: 'muster_cost_cpu_seconds_total',
    type: 'counter',
    help: 'Event loop time of the operator.',
    samples: each(({ cost }) => cost.cpuMs / 1000),
  },
  {
    name: 'muster_cost_cache_bytes',
    type: 'gauge',
    help: 'The operator’s share of the caches.',
    samples: each(({ cost }) => cost.bytes),
  },
  {
    name: 'muster_cost_cache_gigabyte_seconds_total',
    type: 'counter',
    help: 'The operator’s share of the caches, over time.',
    samples: each(({ cost }) => cost.gbSeconds),
  },
  {
    name: 'muster_cache_bytes',
    type: 'gauge',
    help: 'Estimated memory of a cache.',
    samples: ({ feeds }) => feeds.map(({ resource, bytes }) => [{ resource }, bytes]),
  },
  {
    name: 'muster_cache_objects',
    type: 'gauge',
    help: 'Objects in a cache.',
    samples: ({ feeds }) => feeds.map(({ resource, objects }) => [{ resource }, objects]),
  },
  {
    name: 'muster_caches_behind',
    type: 'gauge',
    help: 'Stale caches of a resource.',
    samples: ({ feeds }) => feeds.map(({ resource, state }) => [{ resource }, state === 'synced' ? 0 : 1]),
  },
  {
    name: 'muster_watches',
    type: 'gauge',
    help: 'Open watches.',
    samples: ({ process }) => [[{}, process.watches]],
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    help: 'Processor time of the process.',
    samples: ({ process }) => [[{}, process.cpuMs / 1000]],
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    help: 'Memory of the process.',
    samples: ({ process }) => [[{}, process.bytes]],
  },
]

function standing(report: ManagerReport): readonly string[] {
  const lines: string[] = []
  for (const gauge of gauges) {
    // One resource may be cached for several clusters: equal labels make one series.
    const values = new Map<string, number>()
    for (const [labels, value] of gauge.samples(report).slice(0, mostSeries)) {
      const key = formatLabels(labels)
      values.set(key, (values.get(key) ?? 0) + value)
    }
    if (values.size > 0) lines.push(`# HELP ${gauge.name} ${gauge.help}`, `# TYPE ${gauge.name} ${gauge.type}`)
    for (const [key, value] of values) lines.push(`${gauge.name}${key} ${value}`)
  }
  return lines
}

/** client-go's queues have a name, controller-runtime adds the controller: here both are the operator. */
function queueLabels(lane: string): Labels {
  return { name: lane, controller: lane }
}

/** Reasons come from authors: special characters are escaped. */
function formatLabels(labels: Labels): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '{' : ','}${name}="${escape(labels[name]!)}"`
  return text === '' ? '' : `${text}}`
}

const special = /[\\\n"]/

function escape(value: string): string {
  if (!special.test(value)) return value
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('"', String.raw`\"`)
}
