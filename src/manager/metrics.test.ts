import { describe, expect, it } from 'vitest'
import type { Ledger } from '../operator/ledger.ts'
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

  it('tell nothing of what never happened', () => {
    expect(createMetrics().render()).toBe('\n')
  })
})
