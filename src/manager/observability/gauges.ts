/**
 * The metrics that are read from the report when they are scraped: gauges, and counters that are kept elsewhere. What
 * is counted as it happens is in `metrics.ts`.
 */
import type { NodeUsage } from './cost.ts'
import { metricLabels, type MetricLabels, queueLabels } from './labels.ts'
import type { ManagerReport, OperatorReport } from './report.ts'

type Sample = readonly [labels: MetricLabels, value: number]

interface Gauge {
  readonly name: string
  readonly type: 'gauge' | 'counter'
  readonly labels: readonly string[]
  readonly help: string
  samples(report: ManagerReport): readonly Sample[]
}

const each =
  (of: (operator: OperatorReport) => number, labels = (name: string): MetricLabels => ({ operator: name })) =>
  ({ operators }: ManagerReport): readonly Sample[] =>
    operators.map((operator) => [labels(operator.name), of(operator)])

const ofNode =
  (of: (usage: NodeUsage) => number) =>
  ({ process: { node } }: ManagerReport): readonly Sample[] =>
    node ? [[{}, of(node)]] : []

const byController = (name: string): MetricLabels => ({ controller: name })

export const gauges: readonly Gauge[] = [
  {
    name: 'workqueue_depth',
    type: 'gauge',
    labels: ['name', 'controller', 'priority'],
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
    labels: ['controller'],
    help: 'Reconciles in progress.',
    samples: each(({ running }) => running, byController),
  },
  {
    name: 'controller_runtime_max_concurrent_reconciles',
    type: 'gauge',
    labels: ['controller'],
    help: 'Maximum concurrent reconciles.',
    samples: each(({ concurrency }) => concurrency, byController),
  },
  {
    name: 'workqueue_unfinished_work_seconds',
    type: 'gauge',
    labels: ['name', 'controller'],
    help: 'Time that the reconciles in progress have taken, in total.',
    samples: each(({ runningMs }) => runningMs.all / 1000, queueLabels),
  },
  {
    name: 'workqueue_longest_running_processor_seconds',
    type: 'gauge',
    labels: ['name', 'controller'],
    help: 'Time that the longest reconcile in progress has taken.',
    samples: each(({ runningMs }) => runningMs.longest / 1000, queueLabels),
  },
  {
    name: 'leader_election_master_status',
    type: 'gauge',
    labels: ['name'],
    help: 'Whether this replica holds the lease.',
    samples: ({ leases }) => leases.map(({ name, isHeld }) => [{ name }, isHeld ? 1 : 0]),
  },
  {
    name: 'muster_ready',
    type: 'gauge',
    labels: [],
    help: 'Whether the manager is ready: caches are fresh and reconciles finish.',
    samples: ({ isReady }) => [[{}, isReady ? 1 : 0]],
  },
  {
    name: 'muster_assignment_state',
    type: 'gauge',
    labels: ['operator', 'state'],
    help: 'The state of each assigned operator; failed: it cannot be started.',
    samples: ({ assignments = [] }) => assignments.map(({ name, state }) => [{ operator: name, state }, 1]),
  },
  {
    name: 'muster_lane_held',
    type: 'gauge',
    labels: ['operator', 'gate'],
    help: 'The gate that holds an operator’s keys.',
    samples: ({ operators }) =>
      operators.flatMap(({ name, heldBy }) => (heldBy === 'nothing' ? [] : [[{ operator: name, gate: heldBy }, 1]])),
  },
  {
    name: 'muster_objects_failing',
    type: 'gauge',
    labels: ['operator'],
    help: 'CRs whose last reconcile failed.',
    samples: each(({ failing }) => failing),
  },
  {
    name: 'muster_cost_events_total',
    type: 'counter',
    labels: ['operator'],
    help: 'Changes that enqueued a key of the operator.',
    samples: each(({ cost }) => cost.events),
  },
  {
    name: 'muster_cost_reads_total',
    type: 'counter',
    labels: ['operator'],
    help: 'Objects and lists read from caches.',
    samples: each(({ cost }) => cost.reads),
  },
  {
    name: 'muster_cost_writes_total',
    type: 'counter',
    labels: ['operator'],
    help: 'Write requests.',
    samples: each(({ cost }) => cost.writes),
  },
  {
    name: 'muster_cost_cpu_seconds_total',
    type: 'counter',
    labels: ['operator'],
    help: 'Event loop time of the operator.',
    samples: each(({ cost }) => cost.cpuMs / 1000),
  },
  {
    name: 'muster_cost_cache_bytes',
    type: 'gauge',
    labels: ['operator'],
    help: 'The operator’s share of the caches.',
    samples: each(({ cost }) => cost.bytes),
  },
  {
    name: 'muster_cost_cache_gigabyte_seconds_total',
    type: 'counter',
    labels: ['operator'],
    help: 'The operator’s share of the caches, over time.',
    samples: each(({ cost }) => cost.gbSeconds),
  },
  {
    name: 'muster_cache_bytes',
    type: 'gauge',
    labels: ['resource'],
    help: 'Estimated memory of a cache.',
    samples: ({ informers }) => informers.map(({ resource, bytes }) => [{ resource }, bytes]),
  },
  {
    name: 'muster_cache_objects',
    type: 'gauge',
    labels: ['resource'],
    help: 'Objects in a cache.',
    samples: ({ informers }) => informers.map(({ resource, objects }) => [{ resource }, objects]),
  },
  {
    name: 'muster_caches_behind',
    type: 'gauge',
    labels: ['resource'],
    help: 'Stale caches of a resource.',
    samples: ({ informers }) => informers.map(({ resource, state }) => [{ resource }, state === 'synced' ? 0 : 1]),
  },
  {
    name: 'muster_watches',
    type: 'gauge',
    labels: [],
    help: 'Open watches.',
    samples: ({ process }) => [[{}, process.watches]],
  },
  {
    name: 'process_cpu_seconds_total',
    type: 'counter',
    labels: [],
    help: 'Processor time of the process.',
    samples: ({ process }) => [[{}, process.cpuMs / 1000]],
  },
  {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory of the process.',
    samples: ({ process }) => [[{}, process.bytes]],
  },
  {
    name: 'process_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the process started, in seconds since 1970.',
    samples: ofNode(({ startedAt }) => startedAt / 1000),
  },
  {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    labels: [],
    help: 'Heap in use by JavaScript objects.',
    samples: ofNode(({ heapUsedBytes }) => heapUsedBytes),
  },
  {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    labels: [],
    help: 'Heap that Node has reserved.',
    samples: ofNode(({ heapTotalBytes }) => heapTotalBytes),
  },
  {
    name: 'nodejs_heap_size_limit_bytes',
    type: 'gauge',
    labels: [],
    help: 'The largest heap that Node allows; the process ends beyond it.',
    samples: ofNode(({ heapLimitBytes }) => heapLimitBytes),
  },
  {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    labels: [],
    help: 'Memory of buffers and other data outside of the heap.',
    samples: ofNode(({ externalBytes }) => externalBytes),
  },
  {
    name: 'nodejs_eventloop_active_seconds_total',
    type: 'counter',
    labels: [],
    help: 'Time that the event loop was busy; its rate is the utilization.',
    samples: ofNode(({ loopBusyMs }) => loopBusyMs / 1000),
  },
  {
    name: 'nodejs_version_info',
    type: 'gauge',
    labels: ['version'],
    help: 'The version of Node; always 1.',
    samples: ({ process: { node } }) => (node ? [[{ version: node.version }, 1]] : []),
  },
  {
    name: 'muster_config_last_reload_successful',
    type: 'gauge',
    labels: [],
    help: 'Whether the current content of the configuration is in force; 0: it was rejected.',
    samples: ({ configuration }) =>
      configuration ? [[{}, configuration.condition.reason === 'Rejected' ? 0 : 1]] : [],
  },
  {
    name: 'muster_config_restart_required',
    type: 'gauge',
    labels: [],
    help: 'Whether settings were changed that take effect after a restart of the manager.',
    samples: ({ configuration }) =>
      configuration ? [[{}, configuration.condition.reason === 'RestartRequired' ? 1 : 0]] : [],
  },
  {
    name: 'muster_config_last_reload_success_timestamp_seconds',
    type: 'gauge',
    labels: [],
    help: 'When the configuration in force was read, in seconds since 1970.',
    samples: ({ configuration }) => (configuration ? [[{}, configuration.readAt / 1000]] : []),
  },
]

/** In the exposition format, with at most `mostSeries` series for each metric. */
export function gaugeLines(report: ManagerReport, mostSeries: number): readonly string[] {
  const lines: string[] = []
  for (const gauge of gauges) {
    // One resource may be cached for several clusters: equal labels make one series.
    const values = new Map<string, number>()
    for (const [labels, value] of gauge.samples(report).slice(0, mostSeries)) {
      const key = metricLabels(labels)
      values.set(key, (values.get(key) ?? 0) + value)
    }
    lines.push(`# HELP ${gauge.name} ${gauge.help}`, `# TYPE ${gauge.name} ${gauge.type}`)
    for (const [key, value] of values) lines.push(`${gauge.name}${key} ${value}`)
  }
  return lines
}
