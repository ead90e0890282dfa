/**
 * Writes docs/metrics.md from the table of metrics and the alert rules: `node scripts/generate-metrics-doc.ts`. A test
 * holds the file to them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { alertRules } from '../src/deploy/monitoring/alerts.ts'
import { metricTable } from '../src/manager/observability/metrics.ts'

export const metricsDocUrl: URL = new URL('../docs/metrics.md', import.meta.url)

/** The text, with the tables as the sources have them now. */
export function metricsDoc(text: string): string {
  return between(between(text, 'metrics', metrics()), 'alerts', alerts())
}

function between(text: string, mark: string, table: string): string {
  const [begin, end] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`]
  const [before = '', rest = ''] = text.split(begin)
  const [, after = ''] = rest.split(end)
  return `${before}${begin}\n\n${table}\n\n${end}${after}`
}

function metrics(): string {
  const rows = metricTable.map(({ name, type, labels, help }) => {
    const by = labels.map((label) => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${by} | ${help} |`
  })
  return ['| metric | type | labels | what it is |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function alerts(): string {
  const rows = alertRules.map(({ name, lasting, severity, description }) => {
    return `| \`${name}\` | ${severity} | ${lasting} | ${description} |`
  })
  return ['| alert | severity | after | what to do |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

if (import.meta.main) writeFileSync(metricsDocUrl, metricsDoc(readFileSync(metricsDocUrl, 'utf8')))
