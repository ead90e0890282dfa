/**
 * Metrics of hosted operators, derived from ledgers and nothing else, under the names that dashboards for
 * controller-runtime already have, beside a few of our own. `render` is the text that Prometheus reads.
 */
import { type Ledger, operationCounts } from '../operator/ledger.ts'
import type { Finding } from './findings/finding.ts'

export interface Metrics {
  /** Counts a reconcile that has ended. */
  count(ledger: Ledger, tookMs: number): void
  find(finding: Finding): void
  render(): string
}

type Labels = Readonly<Record<string, string>>

interface Family {
  readonly type: 'counter' | 'histogram'
  readonly help: string
  readonly values: Map<string, number>
}

/** Those of controller-runtime: a dashboard made for it finds its buckets. */
const bucketsSeconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]

const families = {
  controller_runtime_reconcile_total: ['counter', 'Reconciles by controller and result.'],
  controller_runtime_reconcile_errors_total: ['counter', 'Reconciles that failed.'],
  controller_runtime_terminal_reconcile_errors_total: ['counter', 'Reconciles that failed for good, or gave up.'],
  controller_runtime_reconcile_time_seconds: ['histogram', 'How long reconciles took.'],
  muster_operations_total: ['counter', 'What reconciles did, by operation.'],
  muster_failures_total: ['counter', 'What failed, by step and reason.'],
  muster_findings_total: ['counter', 'Hot loops, conflicts and undeclared access.'],
} as const

type FamilyName = keyof typeof families

export function createMetrics(): Metrics {
  const state = new Map<FamilyName, Family>(
    Object.entries(families).map(([name, [type, help]]) => [name as FamilyName, { type, help, values: new Map() }]),
  )

  const add = (name: FamilyName, labels: Labels, amount = 1, suffix = ''): void => {
    const { values } = state.get(name)!
    const key = `${name}${suffix}${formatLabels(labels)}`
    values.set(key, (values.get(key) ?? 0) + amount)
  }

  return {
    count(ledger, tookMs) {
      const { operator, controller, failure, requeueAfterMs } = ledger
      const labels = { controller: `${operator}/${controller}` }
      const result = failure && !failure.gaveUp ? 'error' : requeueAfterMs === undefined ? 'success' : 'requeue_after'
      add('controller_runtime_reconcile_total', { ...labels, result })
      if (failure && !failure.gaveUp) add('controller_runtime_reconcile_errors_total', labels)
      if (failure?.retry === 'terminal') add('controller_runtime_terminal_reconcile_errors_total', labels)
      if (failure) add('muster_failures_total', { ...labels, step: failure.step, reason: failure.reason })
      for (const [operation, times] of operationCounts(ledger)) {
        add('muster_operations_total', { ...labels, operation }, times)
      }
      const seconds = tookMs / 1000
      for (const limit of bucketsSeconds) {
        const isWithin = seconds <= limit ? 1 : 0
        add('controller_runtime_reconcile_time_seconds', { ...labels, le: String(limit) }, isWithin, '_bucket')
      }
      add('controller_runtime_reconcile_time_seconds', { ...labels, le: '+Inf' }, 1, '_bucket')
      add('controller_runtime_reconcile_time_seconds', labels, seconds, '_sum')
      add('controller_runtime_reconcile_time_seconds', labels, 1, '_count')
    },
    find({ operator, controller, kind }) {
      add('muster_findings_total', { controller: `${operator}/${controller}`, kind })
    },
    render() {
      const lines: string[] = []
      for (const [name, { type, help, values }] of state) {
        if (values.size > 0) lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
        for (const [key, value] of values) lines.push(`${key} ${value}`)
      }
      return `${lines.join('\n')}\n`
    },
  }
}

/** Reasons are authors' words: whatever they hold, the text stays readable. */
function formatLabels(labels: Labels): string {
  const entries = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`)
  return `{${entries.join(',')}}`
}

function escape(value: string): string {
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('"', String.raw`\"`)
}
