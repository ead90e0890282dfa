/**
 * Prometheus metrics of hosted operators: counters from ledgers and lanes, gauges from the report. They have the names,
 * labels and buckets of controller-runtime, so that existing dashboards work, and there are a few of our own.
 * Reconciles are labelled by controller (`operator/controller`); queues and workers, of which there is one set per
 * operator, by operator. `render` returns the exposition format.
 */
import { operatorErrors } from '../../operator/errors.ts'
import { managerErrors } from '../errors.ts'
import { type Ledger, operationCounts } from '../../operator/ledger.ts'
import type { Finding } from '../findings/finding.ts'
import type { LaneObserver } from '../schedule/lane.ts'
import { gauges, gaugeLines } from './gauges.ts'
import { metricLabels, type MetricLabels, queueLabels } from './labels.ts'
import type { ManagerReport } from './report.ts'

export interface Metrics extends LaneObserver {
  /** Counts a finished reconcile. */
  count(ledger: Ledger, tookMs: number): void
  find(finding: Finding): void
  /** Counts a request: for `countedTransport`. */
  request(request: { readonly method: string; readonly code: string; readonly host: string }): void
  /** An attempt of a task has ended. */
  task(name: string, result: 'success' | 'error', tookMs: number): void
  /** A coordinator has decided about a batch of changes. */
  coordinator(name: string, changed: number, tookMs: number): void
  /** Another replica, or this one, has become the holder of the Lease. */
  leaderChange(lease: string): void
  /** A change of the configuration was applied or rejected. */
  reload(result: 'success' | 'failure'): void
  /** How late a timer of the event loop was. */
  loopLag(ms: number): void
  /** With a report, includes the gauges. */
  render(report?: ManagerReport): string
}

/** The buckets of controller-runtime, which its dashboards expect. */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
const lagBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000]

interface MetricInfo {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

/** Counters and histograms: type, labels, help. */
const counted = {
  controller_runtime_reconcile_total: ['counter', ['controller', 'result'], 'Reconciles by controller and result.'],
  controller_runtime_reconcile_errors_total: ['counter', ['controller'], 'Reconciles that failed.'],
  controller_runtime_terminal_reconcile_errors_total: [
    'counter',
    ['controller'],
    'Reconciles that failed for good, or gave up.',
  ],
  controller_runtime_reconcile_timeouts_total: [
    'counter',
    ['controller'],
    'Reconciles that took too long, or a step of which did.',
  ],
  controller_runtime_reconcile_time_seconds: ['histogram', ['controller'], 'How long reconciles took.'],
  workqueue_adds_total: ['counter', ['name', 'controller'], 'Keys that came into the queue.'],
  workqueue_retries_total: [
    'counter',
    ['name', 'controller'],
    'Keys that came into the queue once more, after a failure.',
  ],
  workqueue_queue_duration_seconds: ['histogram', ['name', 'controller'], 'How long keys waited.'],
  workqueue_work_duration_seconds: ['histogram', ['name', 'controller'], 'How long keys were worked on.'],
  rest_client_requests_total: [
    'counter',
    ['code', 'method', 'host'],
    'Requests to API servers, by code, method and host.',
  ],
  muster_operations_total: ['counter', ['controller', 'operation'], 'What reconciles did, by operation.'],
  muster_failures_total: ['counter', ['controller', 'step', 'reason'], 'What failed, by step and reason.'],
  muster_findings_total: ['counter', ['controller', 'kind'], 'Hot loops, conflicts and undeclared access.'],
  muster_object_value: ['gauge', ['controller', 'object', 'name'], 'Numbers that a controller reports of its objects.'],
  muster_task_time_seconds: ['histogram', ['task', 'result'], 'How long attempts of tasks took.'],
  muster_coordinator_decide_time_seconds: ['histogram', ['coordinator'], 'How long decisions about a batch took.'],
  muster_coordinator_decisions_total: ['counter', ['coordinator'], 'Decisions of coordinators that have changed.'],
  muster_leader_changes_total: ['counter', ['name'], 'Changes of the holder of the Lease, as this replica saw them.'],
  muster_config_reloads_total: ['counter', ['result'], 'Changes of the configuration that were applied or rejected.'],
  muster_event_loop_lag_seconds: [
    'histogram',
    [],
    'How late a timer of the event loop was; sampled once a second. A blocked event loop is late.',
  ],
  muster_metrics_dropped_total: [
    'counter',
    ['family'],
    'What was not counted, since there were too many series of its family.',
  ],
} as const satisfies Readonly<Record<string, readonly [MetricInfo['type'], readonly string[], string]>>

/** All metrics of a manager, in the order of {@link Metrics.render}. */
export const metricTable: readonly MetricInfo[] = [
  ...Object.entries(counted).map(([name, [type, labels, help]]) => ({ name, type, labels, help })),
  ...gauges,
]

type CountedName = keyof typeof counted

/** A step timed out; or the whole reconcile, where the operator is isolated. */
const timeouts: ReadonlySet<string> = new Set([operatorErrors.StepTimeout.name, managerErrors.ReconcileTimeout.name])

/**
 * Limits the number of series: reasons come from authors, and one that contains object names would overload Prometheus.
 */
const mostSeries = 2000

/** By its formatted labels. */
type Series = Map<string, { readonly labels: MetricLabels; amount: number; readonly spread?: Spread }>

/** Observations per bucket, not cumulated; `amount` is their sum. */
interface Spread {
  readonly buckets: readonly number[]
  readonly counts: number[]
}

export function createMetrics(): Metrics {
  const families = new Map<CountedName, Series>()

  /** Undefined: the limit of series is reached. */
  const seriesOf = (name: CountedName, labels: MetricLabels, buckets?: readonly number[]) => {
    let family = families.get(name)
    if (!family) families.set(name, (family = new Map()))
    const key = metricLabels(labels)
    const known = family.get(key)
    if (known) return known
    if (family.size >= mostSeries) return undefined
    const spread = buckets && { buckets, counts: [...buckets, Infinity].map(() => 0) }
    const made = { labels, amount: 0, ...(spread && { spread }) }
    family.set(key, made)
    return made
  }

  const add = (name: CountedName, labels: MetricLabels, amount = 1): void => {
    const series = seriesOf(name, labels)
    if (series) series.amount += amount
    else add('muster_metrics_dropped_total', { family: name })
  }

  const observe = (name: CountedName, labels: MetricLabels, seconds: number, buckets: readonly number[]): void => {
    const series = seriesOf(name, labels, buckets)
    if (!series?.spread) {
      add('muster_metrics_dropped_total', { family: name })
      return
    }
    series.amount += seconds
    const bucket = buckets.findIndex((limit) => seconds <= limit)
    series.spread.counts[bucket < 0 ? buckets.length : bucket]!++
  }

  /** Those of an object that reports others, or none since it is gone, end. */
  const setValues = (labels: MetricLabels, values: ReadonlyMap<string, number>): void => {
    const name = 'muster_object_value'
    const known = families.get(name)
    for (const [key, series] of known ?? []) {
      const isSame =
        series.labels['controller'] === labels['controller'] && series.labels['object'] === labels['object']
      if (isSame && !values.has(series.labels['name'] ?? '')) known!.delete(key)
    }
    for (const [value, amount] of values) {
      const series = seriesOf(name, { ...labels, name: value })
      if (series) series.amount = amount
      else add('muster_metrics_dropped_total', { family: name })
    }
  }

  return {
    count(ledger, tookMs) {
      const { operator, controller, failure, requeueAfterMs, gauges: values, entries, key } = ledger
      const labels = { controller: `${operator}/${controller}` }
      const isGone = entries.some(({ operation }) => operation === 'finalizerRemoved')
      if (values || isGone) setValues({ ...labels, object: key }, isGone ? new Map() : values!)
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
    task(name, result, tookMs) {
      observe('muster_task_time_seconds', { task: name, result }, tookMs / 1000, reconcileBuckets)
    },
    coordinator(name, changed, tookMs) {
      observe('muster_coordinator_decide_time_seconds', { coordinator: name }, tookMs / 1000, reconcileBuckets)
      add('muster_coordinator_decisions_total', { coordinator: name }, changed)
    },
    leaderChange(lease) {
      add('muster_leader_changes_total', { name: lease })
    },
    reload(result) {
      add('muster_config_reloads_total', { result })
    },
    loopLag(ms) {
      observe('muster_event_loop_lag_seconds', {}, ms / 1000, lagBuckets)
    },
    render(report) {
      const lines: string[] = []
      for (const [name, [type, , help]] of Object.entries(counted)) {
        // Also without a value yet: every name can be found.
        lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
        for (const [key, { labels, amount, spread }] of families.get(name as CountedName) ?? []) {
          if (spread) lines.push(...spreadLines(name, labels, amount, spread))
          else lines.push(`${name}${key} ${amount}`)
        }
      }
      if (report) lines.push(...gaugeLines(report, mostSeries))
      return `${lines.join('\n')}\n`
    },
  }
}

/** Prometheus buckets are cumulative. */
function spreadLines(name: string, labels: MetricLabels, sum: number, { buckets, counts }: Spread): readonly string[] {
  let total = 0
  const lines = counts.map((count, index) => {
    total += count
    const le = index < buckets.length ? String(buckets[index]) : '+Inf'
    return `${name}_bucket${metricLabels({ ...labels, le })} ${total}`
  })
  return [...lines, `${name}_sum${metricLabels(labels)} ${sum}`, `${name}_count${metricLabels(labels)} ${total}`]
}
