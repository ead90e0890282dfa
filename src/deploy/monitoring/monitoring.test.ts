import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { metricTable } from '../../manager/observability/metrics.ts'
import { alertGroups, alertRules } from './alerts.ts'
import { dashboard } from './dashboard.ts'

/** Names of series: a histogram has three. */
const series = new Map(
  metricTable.flatMap(({ name, type, labels }) =>
    (type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map(
      (suffix) => [`${name}${suffix}`, [...labels, ...(suffix === '_bucket' ? ['le'] : [])]] as const,
    ),
  ),
)
/** Set by the scrape configuration. */
const ofTargets = ['namespace', 'pod', 'job']

const metricName = /\b(?:muster|controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_\w+/g

function namesIn(query: string): readonly string[] {
  return query.match(metricName) ?? []
}

/** Labels in selectors and in `by (…)`. */
function labelsIn(query: string): readonly string[] {
  const selected = [...query.matchAll(/[{,](\w+)(?:=~|!=|=)"/g)].map(([, name]) => name!)
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names]) => names!.split(', '))
  return [...selected, ...grouped]
}

/** Members called so, wherever they are. */
function membersOf(value: Json | undefined, name: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => membersOf(item, name))
  if (!isJsonObject(value)) return []
  const own = typeof value[name] === 'string' ? [value[name]] : []
  return [...own, ...Object.values(value).flatMap((member) => membersOf(member, name))]
}

const queries = [
  ...membersOf(dashboard(), 'expr'),
  ...membersOf(dashboard(), 'query'),
  ...alertRules.map(({ when }) => when),
].filter((query) => namesIn(query).length > 0)

describe('dashboard and alerts', () => {
  it.each(queries)('use metrics that exist, by labels that they have: %s', (query) => {
    const names = namesIn(query)
    expect(names.filter((name) => !series.has(name))).toEqual([])
    const known = new Set([...ofTargets, ...names.flatMap((name) => series.get(name) ?? [])])
    expect(labelsIn(query).filter((label) => !known.has(label))).toEqual([])
  })

  it('show the heap, the lag of the event loop, reloads and leader changes', () => {
    const shown = new Set(queries.flatMap(namesIn))
    for (const name of [
      'nodejs_heap_size_used_bytes',
      'muster_event_loop_lag_seconds_bucket',
      'muster_config_reloads_total',
      'muster_leader_changes_total',
    ])
      expect(shown).toContain(name)
  })
})

describe('the dashboard', () => {
  interface Place {
    readonly id: number
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  }
  const panels = dashboard()['panels'] as unknown as readonly Place[]

  it('has panels that do not overlap, each with a unique id', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24)
  })
})

describe('the alerts', () => {
  it('each have a name of their own, a summary and a description', () => {
    expect(new Set(alertRules.map(({ name }) => name)).size).toBe(alertRules.length)
    for (const { summary, description } of alertRules) {
      expect(summary).toMatch(/\.$/)
      expect(description.length).toBeGreaterThan(20)
    }
    expect(membersOf(alertGroups(), 'alert')).toEqual(alertRules.map(({ name }) => name))
  })

  it('fill in labels that their query keeps', () => {
    for (const { when, summary, description } of alertRules) {
      const used = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, name]) => name!)
      const grouped = [...when.matchAll(/\bby \(([^)]*)\)/g)].map(([, names]) => names!.split(', '))
      const kept =
        grouped.length > 0 ? grouped.flat() : [...ofTargets, ...namesIn(when).flatMap((name) => series.get(name)!)]
      expect(used.filter((name) => !kept.includes(name))).toEqual([])
    }
  })
})
