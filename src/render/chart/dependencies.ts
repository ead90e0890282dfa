/**
 * Resolves the subcharts of a chart for the values of a user: aliases, tags, conditions and import-values, in this order. The
 * result is a new chart that contains the enabled subcharts only, under the names by which they are used.
 */
import { isVersionInRange } from '../version/version-constraint.ts'
import type { Chart, Dependency } from './chart.ts'
import { coalesceTables, coalesceValues } from './coalesce.ts'
import { copyTable, isTable, scalarAt, tableAt, type ChartValue, type ValueMap, type Warn } from './values.ts'

/** @throws InvalidValues */
export function resolveDependencies(chart: Chart, values: ValueMap, warn: Warn): Chart {
  return importValues(enabledOnly(chart, values, '', warn), warn)
}

/** Names of dependencies that Chart.yaml lists and `charts/` does not have. */
export function missingDependencies(chart: Chart): readonly string[] {
  const present = new Set(chart.dependencies.map(({ metadata }) => metadata.name))
  return chart.metadata.dependencies.map(({ name }) => name).filter((name) => !present.has(name))
}

function enabledOnly(chart: Chart, values: ValueMap, path: string, warn: Warn): Chart {
  const declared = chart.metadata.dependencies
  if (declared.length === 0) return chart
  const matches = (one: Chart, { name, version }: Dependency): boolean =>
    one.metadata.name === name && isVersionInRange(version, one.metadata.version)

  const undeclared = chart.dependencies.filter((one) => !declared.some((each) => matches(one, each)))
  const used = declared.flatMap((each) => {
    const found = chart.dependencies.find((one) => matches(one, each))
    return found ? [renamed(found, each.alias)] : []
  })
  const named = declared.map((each) => Object.assign({}, each, { name: each.alias || each.name }))
  const candidates: Chart = {
    ...chart,
    metadata: { ...chart.metadata, dependencies: named },
    dependencies: [...undeclared, ...used],
  }
  const coalesced = coalesceValues(candidates, values, warn)
  const decided = named.map((each) => Object.assign({}, each, { enabled: isEnabled(each, coalesced, path, warn) }))
  const disabled = new Set(decided.filter(({ enabled }) => !enabled).map(({ name }) => name))
  const kept = candidates.dependencies.filter(({ metadata }) => !disabled.has(metadata.name))
  return {
    ...candidates,
    metadata: { ...chart.metadata, dependencies: decided.filter(({ enabled }) => enabled) },
    dependencies: kept.map((each) => enabledOnly(each, coalesced, `${path}${each.metadata.name}.`, warn)),
  }
}

function renamed(chart: Chart, alias: string): Chart {
  return alias === '' ? chart : { ...chart, metadata: { ...chart.metadata, name: alias } }
}

/** The first condition that is a boolean decides; otherwise tags, of which one that is true suffices; otherwise it is enabled. */
function isEnabled({ name, condition, tags }: Dependency, values: ValueMap, path: string, warn: Warn): boolean {
  for (const each of condition.trim().split(',')) {
    const value = each === '' ? undefined : scalarAt(values, path + each)
    if (typeof value === 'boolean') return value
    if (value !== undefined) warn(`the condition ${each} of chart ${name} is not a boolean`)
  }
  const table = tableAt(values, 'tags')
  const states = tags.map((tag) => ({ tag, state: table?.get(tag) })).filter(({ state }) => state !== undefined)
  for (const { tag, state } of states) {
    if (typeof state !== 'boolean') warn(`the tag ${tag} of chart ${name} is not a boolean`)
  }
  return states.some(({ state }) => state === true) || !states.some(({ state }) => state === false)
}

/** Imports come from the deepest charts first, and lose against the parent's own values. */
function importValues(chart: Chart, warn: Warn): Chart {
  const dependencies = chart.dependencies.map((each) => importValues(each, warn))
  const whole = { ...chart, dependencies }
  if (chart.metadata.dependencies.length === 0) return whole
  const values = coalesceValues(whole, new Map(), warn, 'merge')
  const imported: ValueMap = new Map()
  const tables = { warn, mode: 'merge', prefix: '' } as const
  for (const { name, importValues: imports } of chart.metadata.dependencies) {
    for (const each of imports) {
      const { child, parent } = typeof each === 'string' ? { child: `exports.${each}`, parent: '.' } : each
      const table = tableAt(values, `${name}.${child}`)
      if (table) coalesceTables(imported, nested(parent, copyTable(table)), tables)
      else warn(`chart ${name} has no table ${child} to import`)
    }
  }
  return { ...whole, values: coalesceTables(copyTable(values), imported, tables) }
}

/** The table at the end of a path: `a.b` gives `{a: {b: table}}`, `.` the table itself. */
function nested(path: string, table: ValueMap): ValueMap {
  if (path === '.') return table
  const whole = path.split('.').reduceRight<ChartValue>((inner, key) => new Map([[key, inner]]), table)
  return isTable(whole) ? whole : table
}
