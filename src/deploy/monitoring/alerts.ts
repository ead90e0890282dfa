/**
 * Prometheus alert rules for a manager: what an administrator should know before users notice. Each rule names the
 * symptom, how long it may last, and the command that shows the cause.
 *
 * Labels: `namespace`, `pod` and `job` come from the scrape configuration (a ServiceMonitor sets them); all others are
 * those of the metrics, which `metricTable` lists.
 */
import type { JsonObject } from '../../kube/json.ts'

interface AlertRule {
  readonly name: string
  /** PromQL. */
  readonly when: string
  /** How long it must hold. */
  readonly lasting: string
  readonly severity: 'critical' | 'warning' | 'info'
  readonly summary: string
  /** What to do; `{{ $labels.x }}` is filled in by Prometheus. */
  readonly description: string
}

export const alertRules: readonly AlertRule[] = [
  {
    name: 'MusterAbsent',
    when: 'absent(muster_ready)',
    lasting: '10m',
    severity: 'critical',
    summary: 'No Muster manager is scraped.',
    description:
      'Prometheus has seen no metrics of a manager for ten minutes. Check that the Deployment has Pods, and that the ServiceMonitor selects its metrics Service.',
  },
  {
    name: 'MusterNotReady',
    when: 'muster_ready == 0',
    lasting: '10m',
    severity: 'warning',
    summary: 'The manager {{ $labels.pod }} is not ready.',
    description:
      'Its /readyz lists the reasons: stale caches, reconciles that do not end, operators that do not start.',
  },
  {
    name: 'MusterNoLeader',
    when: 'sum by (namespace, job, name) (leader_election_master_status) == 0',
    lasting: '2m',
    severity: 'critical',
    summary: 'No replica holds the Lease {{ $labels.name }}.',
    description:
      'No operator reconciles. The log of the replicas says why the Lease cannot be taken; check the API server and the role of the manager.',
  },
  {
    name: 'MusterLeaderUnstable',
    when: 'max by (namespace, job, name) (increase(muster_leader_changes_total[1h])) > 5',
    lasting: '5m',
    severity: 'warning',
    summary: 'The Lease {{ $labels.name }} has changed hands {{ $value | humanize }} times within an hour.',
    description:
      'A leader that cannot renew in time loses the Lease: look for a slow API server, a blocked event loop or Pods that are restarted.',
  },
  {
    name: 'MusterConfigurationRejected',
    when: 'muster_config_last_reload_successful == 0',
    lasting: '5m',
    severity: 'warning',
    summary: 'The configuration of {{ $labels.pod }} is invalid.',
    description:
      'The last valid configuration stays in force. The log names the setting and its line; `muster config -f FILE` checks a file before it is applied.',
  },
  {
    name: 'MusterOperatorNotStarted',
    when: 'max by (namespace, job, operator) (muster_assignment_state{state="failed"}) == 1',
    lasting: '10m',
    severity: 'critical',
    summary: 'The operator {{ $labels.operator }} cannot be started.',
    description:
      'The start is retried. The log has the cause: a module that does not load, a missing kind, an isolation level that cannot be enforced.',
  },
  {
    name: 'MusterOperatorQuarantined',
    when: 'sum by (namespace, job, controller) (increase(muster_findings_total{kind="quarantined"}[1h])) > 0',
    lasting: '0m',
    severity: 'critical',
    summary: 'An operator has blocked the event loop and is quarantined: {{ $labels.controller }}.',
    description: 'It runs in a worker now. The quarantine ConfigMap names the object, the step and the line.',
  },
  {
    name: 'MusterFindings',
    when: 'sum by (namespace, job, controller, kind) (increase(muster_findings_total{kind!="quarantined"}[15m])) > 0',
    lasting: '15m',
    severity: 'warning',
    summary: 'The controller {{ $labels.controller }} has findings of the kind {{ $labels.kind }}.',
    description:
      'A hot loop, a conflict with another field manager, or undeclared access: see the condition on the CR, or `muster top`.',
  },
  {
    name: 'MusterReconcileErrors',
    when: [
      'sum by (namespace, job, controller) (rate(controller_runtime_reconcile_errors_total[10m]))',
      '/ sum by (namespace, job, controller) (rate(controller_runtime_reconcile_total[10m])) > 0.5',
    ].join('\n'),
    lasting: '15m',
    severity: 'warning',
    summary: 'More than half of the reconciles of {{ $labels.controller }} fail.',
    description: 'muster_failures_total has the steps and reasons; the log has the messages.',
  },
  {
    name: 'MusterObjectsFailing',
    when: 'sum by (namespace, job, operator) (muster_objects_failing) > 0',
    lasting: '1h',
    severity: 'info',
    summary: '{{ $value }} objects of {{ $labels.operator }} have failed for an hour.',
    description: 'Their Ready conditions have the reasons.',
  },
  {
    name: 'MusterReconcileStuck',
    when: 'max by (namespace, job, name) (workqueue_longest_running_processor_seconds) > 900',
    lasting: '0m',
    severity: 'warning',
    summary: 'A reconcile of {{ $labels.name }} has been running for {{ $value | humanizeDuration }}.',
    description: 'Author code waits for something that does not come. `muster top` names the object.',
  },
  {
    name: 'MusterQueueSlow',
    when: [
      'histogram_quantile(0.99, sum by (namespace, job, name, le) (rate(workqueue_queue_duration_seconds_bucket[10m])))',
      '> 60',
    ].join(' '),
    lasting: '15m',
    severity: 'warning',
    summary: 'Objects of {{ $labels.name }} wait for more than a minute before they are reconciled.',
    description:
      'muster_lane_held names the gate that holds the operator back: its rate limit, its concurrency, or the share of all.',
  },
  {
    name: 'MusterCacheStale',
    when: 'max by (namespace, job, pod, resource) (muster_caches_behind) > 0',
    lasting: '10m',
    severity: 'warning',
    summary: 'The cache of {{ $labels.resource }} in {{ $labels.pod }} is stale.',
    description:
      'Its watch cannot be established: the API server is unreachable, the kind is not served, or the role lacks list or watch.',
  },
  {
    name: 'MusterRequestsForbidden',
    when: 'sum by (namespace, job, code) (increase(rest_client_requests_total{code=~"401|403"}[10m])) > 0',
    lasting: '10m',
    severity: 'warning',
    summary: 'The API server rejects requests of the manager with {{ $labels.code }}.',
    description:
      'The generated roles are too old for the operators: run `muster generate deploy` again and apply the roles.',
  },
  {
    name: 'MusterEventLoopBlocked',
    when: [
      'histogram_quantile(0.99, sum by (namespace, job, pod, le) (rate(muster_event_loop_lag_seconds_bucket[5m])))',
      '> 1',
    ].join(' '),
    lasting: '10m',
    severity: 'warning',
    summary: 'The event loop of {{ $labels.pod }} is blocked for more than a second.',
    description:
      'Author code computes for too long without a pause. `muster cost` names the operator; run it with `isolation: worker`.',
  },
  {
    name: 'MusterHeapNearLimit',
    when: 'nodejs_heap_size_used_bytes / nodejs_heap_size_limit_bytes > 0.9',
    lasting: '10m',
    severity: 'warning',
    summary: 'The heap of {{ $labels.pod }} is at {{ $value | humanizePercentage }} of its limit.',
    description:
      'The process ends at the limit. Raise the memory limit of the container, or find the operator that caches most: `muster cost`.',
  },
  {
    name: 'MusterMetricsDropped',
    when: 'sum by (namespace, job, family) (increase(muster_metrics_dropped_total[1h])) > 0',
    lasting: '0m',
    severity: 'info',
    summary: 'The metric {{ $labels.family }} has too many series.',
    description: 'An operator uses object names as reasons of failures. Further series are not recorded.',
  },
]

/** The rule groups, as in a rule file of Prometheus and in the spec of a PrometheusRule. */
export function alertGroups(): JsonObject {
  return {
    groups: [
      {
        name: 'muster',
        rules: alertRules.map(({ name, when, lasting, severity, summary, description }) => ({
          alert: name,
          expr: when,
          for: lasting,
          labels: { severity },
          annotations: { summary, description },
        })),
      },
    ],
  }
}
