import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock, type VirtualClock } from '../../clock/virtual-clock.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { createActivity } from './activity.ts'
import { createBudgetKeeper } from '../budgets/budget-keeper.ts'
import { type Gate, gateOrder } from '../gates/order.ts'
import { createMetrics } from './metrics.ts'
import { defaultGates, type GateOptions } from '../gates/gate-options.ts'
import type { SchedulerLane } from '../schedule/lane.ts'
import { createScheduler } from '../schedule/scheduler.ts'

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

  it('show the numbers that a controller reports of an object, until it is gone', () => {
    const metrics = createMetrics()
    const line = 'muster_object_value{controller="cache/memcached",object="default/m",name="waiting"}'
    metrics.count({ ...ledger, gauges: new Map([['waiting', 2]]) }, 1)
    metrics.count(ledger, 1)
    expect(metrics.render()).toContain(`${line} 2\n`)
    metrics.count({ ...ledger, gauges: new Map([['waiting', 0]]) }, 1)
    expect(metrics.render()).toContain(`${line} 0\n`)
    metrics.count({ ...ledger, entries: [{ step: 'CRFinalizer', subject: 'cr', operation: 'finalizerRemoved' }] }, 1)
    expect(metrics.render()).not.toContain(line)
  })

  it('count timeouts: of a step, or of the whole reconcile of an isolated operator', () => {
    const metrics = createMetrics()
    for (const reason of ['StepTimeout', 'ReconcileTimeout', 'RequestTimeout'])
      metrics.count({ ...ledger, failure: { ...failure, reason, retry: 'transient' } }, 1)
    expect(metrics.render()).toContain('controller_runtime_reconcile_timeouts_total{controller="cache/memcached"} 2\n')
  })

  it('count queue operations and requests, as client-go does', () => {
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

  it('contain the state of the report', () => {
    const clock = virtualClock(0)
    const activity = createActivity({ clock })
    activity.note(ledger)
    const lane = {
      waiting: 3,
      running: 1,
      runs: [{ key: 'k', since: -5000 }],
      concurrency: 8,
      later: 0,
      isPaused: false,
      heldBy: 'allowance' as const,
    }
    const leases = [{ name: 'muster', isHeld: true }]
    const report = activity.report({
      lanes: new Map([['cache', lane]]),
      informers: [],
      leases,
      assignments: [{ name: 'late', state: 'failed' }],
    })
    const lines = createMetrics().render(report).split('\n')
    for (const line of [
      'workqueue_depth{name="cache",controller="cache",priority=""} 3',
      'controller_runtime_active_workers{controller="cache"} 1',
      'controller_runtime_max_concurrent_reconciles{controller="cache"} 8',
      'workqueue_longest_running_processor_seconds{name="cache",controller="cache"} 5',
      'leader_election_master_status{name="muster"} 1',
      'muster_lane_held{operator="cache",gate="allowance"} 1',
      'muster_assignment_state{operator="late",state="failed"} 1',
      'muster_cost_writes_total{operator="cache"} 2',
      'muster_ready 1',
    ])
      expect(lines).toContain(line)
  })

  it('stay bounded and readable, whatever the reasons of authors', () => {
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

  it('spread the lag of the event loop over buckets', () => {
    const metrics = createMetrics()
    for (const ms of [0, 3, 40, 12_000]) metrics.loopLag(ms)
    const lines = metrics.render().split('\n')
    expect(lines).toContain('muster_event_loop_lag_seconds_bucket{le="0.005"} 2')
    expect(lines).toContain('muster_event_loop_lag_seconds_bucket{le="10"} 3')
    expect(lines).toContain('muster_event_loop_lag_seconds_bucket{le="+Inf"} 4')
    expect(lines).toContain('muster_event_loop_lag_seconds_count 4')
  })

  it('have no series for events that never happened', () => {
    const lines = createMetrics().render().trimEnd().split('\n')
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual([])
    expect(lines).toContain('# TYPE controller_runtime_reconcile_total counter')
  })
})

interface Scene {
  readonly clock: VirtualClock
  readonly lane: SchedulerLane
  /** The lane of another operator, whose runs take long. */
  readonly other: SchedulerLane
}

interface Closing {
  readonly gates?: Partial<GateOptions>
  /** The concurrency of all lanes together. @default 4 */
  readonly concurrency?: number
  readonly close?: (scene: Scene) => void | Promise<void>
}

/** How each gate is closed for a key that is asked for afterwards. */
const closings: Readonly<Record<Gate, Closing>> = {
  pause: { close: ({ lane }) => lane.pause() },
  standby: { close: ({ lane }) => lane.pause('standby') },
  budget: {
    close({ clock, lane }) {
      const keeper = createBudgetKeeper({ clock, onFinding: () => undefined })
      const budget = { requestsPerMinute: 1 }
      const one = keeper.join({ operator: 'held', consumer: 'held', cache: { report: () => [] }, lane, budget })
      for (let request = 0; request < 2; request++) one.request()
    },
  },
  throttle: { close: ({ lane }) => lane.hold('k', 60_000) },
  coolDown: {
    gates: { coolDown: { leastMs: 10_000 } },
    async close({ lane, clock }) {
      lane.add('k')
      await clock.advance(0)
    },
  },
  debounce: { gates: { debounce: { quietMs: 500, maxMs: 2000 } } },
  allowance: { gates: { allowance: { perMinute: 1, burst: 1 } }, close: ({ lane }) => lane.spend(1) },
  concurrency: { gates: { concurrency: 1 }, close: ({ lane }) => lane.add('lasting') },
  share: { concurrency: 1, close: ({ other }) => other.add('lasting') },
}

describe('a closed gate', () => {
  it.each(gateOrder)('is in the metrics by its name, from the lane it holds, until it opens: %s', async (gate) => {
    const { gates, concurrency = 4, close } = closings[gate]
    const clock = virtualClock()
    const metrics = createMetrics()
    const scheduler = createScheduler({ clock, concurrency, observer: metrics })
    const run = (key: string): Promise<void> => (key === 'lasting' ? clock.sleep(4000) : Promise.resolve())
    const lane = scheduler.openLane('held', { ...defaultGates, ...gates })
    const other = scheduler.openLane('other', defaultGates)
    for (const each of [lane, other]) each.serve(run)
    const held = (): readonly string[] => {
      const lanes = new Map([lane, other].map((each, at) => [['held', 'other'][at]!, each.state()] as const))
      const report = createActivity({ clock }).report({ lanes, informers: [] })
      return metrics
        .render(report)
        .split('\n')
        .filter((line) => line.startsWith('muster_lane_held'))
    }
    await close?.({ clock, lane, other })
    expect(held()).toEqual([])
    lane.add('k')
    await clock.advance(0)
    expect(held()).toEqual([`muster_lane_held{operator="held",gate="${gate}"} 1`])
    for (const why of ['pause', 'standby'] as const) lane.resume(why)
    await clock.advance(130_000)
    expect(held()).toEqual([])
  })
})
