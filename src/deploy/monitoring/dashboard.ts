/**
 * A Grafana dashboard for one installation: are the replicas well, what do the operators do, what do they cost, and how
 * is the process. Problems come first. Every metric is in `metricTable`; a test compares them.
 */
import type { JsonObject } from '../../kube/json.ts'
import { type Panel, placed, prometheusSource, type Row } from './panel.ts'

/** Series of the chosen installation. */
const chosen = 'namespace="$namespace",job="$job"'
const replicas = `{${chosen},pod=~"$pod"}`
const all = `{${chosen}}`

const graph = (title: string, unit: string, queries: Panel['queries'], description?: string): Panel => ({
  title,
  type: 'timeseries',
  width: 12,
  height: 8,
  unit,
  queries,
  ...(description !== undefined && { description }),
})

const stat = (title: string, expr: string, legend: string, more: Partial<Panel> = {}): Panel => ({
  title,
  type: 'stat',
  width: 4,
  height: 4,
  unit: 'short',
  queries: [{ expr, legend }],
  ...more,
})

const wellIfOne = { 0: ['no', 'red'], 1: ['yes', 'green'] } as const
const wellIfNone = { 0: ['none', 'green'] } as const

const quantile = (share: number, metric: string, by: string): string =>
  `histogram_quantile(${share}, sum by (${by}, le) (rate(${metric}_bucket${all}[$__rate_interval])))`

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}${all}[$__rate_interval]))`

const rows: readonly Row[] = [
  {
    title: 'Overview',
    panels: [
      stat('Ready', `muster_ready${replicas}`, '{{pod}}', { meanings: wellIfOne }),
      stat('Holds the Lease', `leader_election_master_status${replicas}`, '{{pod}}', {
        meanings: { 0: ['standby', 'blue'], 1: ['active', 'green'] },
      }),
      stat('Configuration in force', `muster_config_last_reload_successful${replicas}`, '{{pod}}', {
        meanings: { 0: ['rejected', 'red'], 1: ['valid', 'green'] },
      }),
      stat('Operators that cannot start', `count(muster_assignment_state{${chosen},state="failed"}) or vector(0)`, '', {
        meanings: wellIfNone,
      }),
      stat('Failing objects', `sum(muster_objects_failing${all}) or vector(0)`, '', { meanings: wellIfNone }),
      stat('Findings within an hour', `sum(increase(muster_findings_total${all}[1h])) or vector(0)`, '', {
        meanings: wellIfNone,
        description: 'Hot loops, conflicts with other field managers, undeclared access, quarantined operators.',
      }),
    ],
  },
  {
    title: 'Operators',
    panels: [
      graph('Reconciles', 'ops', [
        { expr: rate('controller_runtime_reconcile_total', 'controller'), legend: '{{controller}}' },
      ]),
      graph('Failed reconciles', 'ops', [
        { expr: rate('controller_runtime_reconcile_errors_total', 'controller'), legend: '{{controller}}' },
        {
          expr: rate('controller_runtime_terminal_reconcile_errors_total', 'controller'),
          legend: '{{controller}} for good',
        },
      ]),
      graph('Duration of a reconcile', 's', [
        {
          expr: quantile(0.5, 'controller_runtime_reconcile_time_seconds', 'controller'),
          legend: '{{controller}} p50',
        },
        {
          expr: quantile(0.99, 'controller_runtime_reconcile_time_seconds', 'controller'),
          legend: '{{controller}} p99',
        },
      ]),
      graph('Wait before a reconcile', 's', [
        { expr: quantile(0.99, 'workqueue_queue_duration_seconds', 'name'), legend: '{{name}} p99' },
      ]),
      graph('Queued and running', 'short', [
        { expr: `sum by (name) (workqueue_depth${all})`, legend: '{{name}} queued' },
        { expr: `sum by (controller) (controller_runtime_active_workers${all})`, legend: '{{controller}} running' },
      ]),
      graph(
        'Held by a gate',
        'short',
        [{ expr: `max by (operator, gate) (muster_lane_held${all})`, legend: '{{operator}}: {{gate}}' }],
        'The first closed gate of an operator whose keys wait.',
      ),
      graph('Failing objects', 'short', [
        { expr: `sum by (operator) (muster_objects_failing${all})`, legend: '{{operator}}' },
      ]),
      graph('Failures by reason', 'ops', [
        {
          expr: rate('muster_failures_total', 'controller, step, reason'),
          legend: '{{controller}} {{step}} {{reason}}',
        },
      ]),
      graph('Changes made', 'ops', [
        { expr: rate('muster_operations_total', 'controller, operation'), legend: '{{controller}} {{operation}}' },
      ]),
      graph('Findings', 'short', [
        {
          expr: `sum by (controller, kind) (increase(muster_findings_total${all}[$__rate_interval]))`,
          legend: '{{controller}} {{kind}}',
        },
      ]),
    ],
  },
  {
    title: 'Cost of the operators',
    panels: [
      graph('Event loop time', 'percentunit', [
        { expr: rate('muster_cost_cpu_seconds_total', 'operator'), legend: '{{operator}}' },
      ]),
      graph('Share of the caches', 'bytes', [
        { expr: `sum by (operator) (muster_cost_cache_bytes${all})`, legend: '{{operator}}' },
      ]),
      graph('Events', 'ops', [{ expr: rate('muster_cost_events_total', 'operator'), legend: '{{operator}}' }]),
      graph('Writes', 'ops', [{ expr: rate('muster_cost_writes_total', 'operator'), legend: '{{operator}}' }]),
    ],
  },
  {
    title: 'API servers and caches',
    panels: [
      graph('Requests', 'reqps', [
        { expr: rate('rest_client_requests_total', 'method, code'), legend: '{{method}} {{code}}' },
      ]),
      graph('Stale caches', 'short', [
        { expr: `sum by (pod, resource) (muster_caches_behind${replicas}) > 0`, legend: '{{pod}} {{resource}}' },
      ]),
      graph('Cached objects', 'short', [
        { expr: `max by (resource) (muster_cache_objects${all})`, legend: '{{resource}}' },
      ]),
      graph('Watches', 'short', [{ expr: `muster_watches${replicas}`, legend: '{{pod}}' }]),
    ],
  },
  {
    title: 'Process',
    panels: [
      graph('Memory', 'bytes', [
        { expr: `process_resident_memory_bytes${replicas}`, legend: '{{pod}} resident' },
        { expr: `nodejs_heap_size_used_bytes${replicas}`, legend: '{{pod}} heap in use' },
        { expr: `nodejs_heap_size_total_bytes${replicas}`, legend: '{{pod}} heap reserved' },
        { expr: `nodejs_external_memory_bytes${replicas}`, legend: '{{pod}} buffers' },
        { expr: `nodejs_heap_size_limit_bytes${replicas}`, legend: '{{pod}} heap limit' },
      ]),
      graph('Processor and event loop', 'percentunit', [
        { expr: `rate(process_cpu_seconds_total${replicas}[$__rate_interval])`, legend: '{{pod}} processor' },
        {
          expr: `rate(nodejs_eventloop_active_seconds_total${replicas}[$__rate_interval])`,
          legend: '{{pod}} event loop',
        },
      ]),
      graph('Event loop lag', 's', [
        { expr: quantile(0.5, 'muster_event_loop_lag_seconds', 'pod'), legend: '{{pod}} p50' },
        { expr: quantile(0.99, 'muster_event_loop_lag_seconds', 'pod'), legend: '{{pod}} p99' },
      ]),
      graph('Leader changes and configuration reloads', 'short', [
        {
          expr: `max by (name) (increase(muster_leader_changes_total${all}[$__rate_interval]))`,
          legend: 'changes of the Lease {{name}}',
        },
        {
          expr: `sum by (pod, result) (increase(muster_config_reloads_total${all}[$__rate_interval]))`,
          legend: '{{pod}} reload: {{result}}',
        },
        { expr: `changes(process_start_time_seconds${replicas}[$__rate_interval])`, legend: '{{pod}} restarts' },
      ]),
    ],
  },
]

export function dashboard(): JsonObject {
  const label = (name: string, of: string, more: JsonObject = {}): JsonObject => ({
    name,
    type: 'query',
    datasource: prometheusSource,
    query: { query: `label_values(${of}, ${name})`, refId: name },
    refresh: 2,
    sort: 1,
    ...more,
  })
  return {
    uid: 'muster-manager',
    title: 'Muster',
    description: 'A Muster manager: its replicas, its operators and what they cost.',
    tags: ['kubernetes', 'operators', 'muster'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        label('namespace', 'muster_ready'),
        label('job', 'muster_ready{namespace="$namespace"}'),
        label('pod', `muster_ready{${chosen}}`, {
          multi: true,
          includeAll: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        }),
      ],
    },
    annotations: {
      list: [
        {
          name: 'Leader changes',
          datasource: prometheusSource,
          enable: true,
          iconColor: 'orange',
          expr: `max by (name) (changes(muster_leader_changes_total{${chosen}}[1m])) > 0`,
          titleFormat: 'another replica leads',
          textFormat: '{{name}}',
        },
      ],
    },
    panels: placed(rows),
  }
}
