import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../clock/virtual-clock.ts'
import type { Ledger } from '../operator/ledger.ts'
import { createActivity } from './activity.ts'
import { createMetrics } from './metrics.ts'

const ledger: Ledger = {
  operator: 'cache',
  controller: 'memcached',
  key: 'default/m',
  generation: 1,
  path: ['CRGetter'],
  entries: [
    { step: 'Updater', subject: 'a', operation: 'created' },
    { step: 'Updater', subject: 'b', operation: 'created' },
  ],
  health: new Map(),
  isFinalizing: false,
  startedAt: 0,
}
const failure = {
  step: 'Updater',
  subject: 'a',
  reason: 'Odd "reason"\n',
  message: 'no',
  retry: 'terminal',
  gaveUp: false,
  afterMs: undefined,
} as const

describe('metrics', () => {
  it('count reconciles, operations and failures by the names of controller-runtime', () => {
    const metrics = createMetrics()
    metrics.count(ledger, 30)
    metrics.count({ ...ledger, requeueAfterMs: 5 }, 70_000)
    metrics.count({ ...ledger, failure }, 1)
    const text = metrics.render()
    expect(text).toContain('controller_runtime_reconcile_total{controller="cache/memcached",result="success"} 1\n')
    expect(text).toContain(
      'controller_runtime_reconcile_total{controller="cache/memcached",result="requeue_after"} 1\n',
    )
    expect(text).toContain('controller_runtime_reconcile_total{controller="cache/memcached",result="error"} 1\n')
    expect(text).toContain('controller_runtime_terminal_reconcile_errors_total{controller="cache/memcached"} 1\n')
    expect(text).toContain('muster_operations_total{controller="cache/memcached",operation="created"} 6\n')
    expect(text).toContain(String.raw`step="Updater",reason="Odd \"reason\"\n"} 1`)
    expect(text).toContain('reconcile_time_seconds_bucket{controller="cache/memcached",le="0.025"} 1\n')
    expect(text).toContain('reconcile_time_seconds_bucket{controller="cache/memcached",le="60"} 2\n')
    expect(text).toContain('reconcile_time_seconds_bucket{controller="cache/memcached",le="+Inf"} 3\n')
    expect(text).toContain('reconcile_time_seconds_count{controller="cache/memcached"} 3\n')
  })

  it('count what passes through queues, and requests, as client-go does', () => {
    const metrics = createMetrics()
    metrics.added('cache', 'change', true)
    metrics.added('cache', 'change', false)
    metrics.added('cache', 'retry', true)
    metrics.started('cache', 5)
    metrics.ended('cache', 2000)
    metrics.request({ method: 'PATCH', code: '200', host: 'a:6443' })
    const text = metrics.render()
    const queue = 'name="cache",controller="cache"'
    for (const line of [
      `workqueue_adds_total{${queue}} 2`,
      `workqueue_retries_total{${queue}} 1`,
      `workqueue_queue_duration_seconds_bucket{${queue},le="0.001"} 0`,
      `workqueue_queue_duration_seconds_bucket{${queue},le="0.01"} 1`,
      `workqueue_work_duration_seconds_sum{${queue}} 2`,
      `workqueue_work_duration_seconds_bucket{${queue},le="1e-8"} 0`,
      'rest_client_requests_total{code="200",method="PATCH",host="a:6443"} 1',
    ])
      expect(text.split('\n')).toContain(line)
  })

  it('say how things stand, from the report', () => {
    const clock = virtualClock(0)
    const activity = createActivity({ clock })
    activity.note(ledger)
    const lane = {
      waiting: 3,
      running: 1,
      runs: [{ key: 'k', since: -5000 }],
      places: 8,
      later: 0,
      isPaused: false,
      heldBy: 'allowance' as const,
    }
    const leases = [{ name: 'muster', isHeld: true }]
    const report = activity.report({
      lanes: new Map([['cache', lane]]),
      feeds: [],
      leases,
      posts: [{ name: 'late', stand: 'failed' }],
    })
    const lines = createMetrics().render(report).split('\n')
    for (const line of [
      'workqueue_depth{name="cache",controller="cache",priority=""} 3',
      'controller_runtime_active_workers{controller="cache"} 1',
      'controller_runtime_max_concurrent_reconciles{controller="cache"} 8',
      'workqueue_longest_running_processor_seconds{name="cache",controller="cache"} 5',
      'leader_election_master_status{name="muster"} 1',
      'muster_lane_held{operator="cache",gate="allowance"} 1',
      'muster_operator_stand{operator="late",stand="failed"} 1',
      'muster_cost_writes_total{operator="cache"} 2',
      'muster_ready 1',
    ])
      expect(lines).toContain(line)
  })

  it('stay bounded and readable, whatever authors call their reasons', () => {
    const metrics = createMetrics()
    const most = 3000
    for (let index = 0; index < most; index++)
      metrics.count({ ...ledger, failure: { ...failure, reason: `R${index}` } }, 1)
    const text = metrics.render()
    expect(text.match(/^muster_failures_total\{/gm)).toHaveLength(2000)
    expect(text).toContain('muster_metrics_dropped_total{family="muster_failures_total"} 1000\n')
    const awkward = fc
      .array(fc.constantFrom('"', '\\', '\n', '\r', 'n', '}', '{', ' ', '\u0000', 'é', '😀'))
      .map((all) => all.join(''))
    fc.assert(
      fc.property(awkward, (reason) => {
        const odd = createMetrics()
        odd.count({ ...ledger, failure: { ...failure, reason } }, 1)
        const lines = odd
          .render()
          .split('\n')
          .filter((line) => line.startsWith('muster_failures_total'))
        // One line, whose label ends where it should.
        expect(lines).toHaveLength(1)
        expect(lines[0]).toMatch(/reason="(?:[^"\\]|\\["\\n])*"\} 1$/)
      }),
    )
  })

  it('tell nothing of what never happened', () => {
    expect(createMetrics().render()).toBe('\n')
  })
})
