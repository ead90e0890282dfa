/**
 * Coalescing: the values of a chart and of its subcharts become one tree. A user's value wins over that of the chart, a chart's
 * over that of its subchart. Tables are merged, other values are replaced. A null of a user deletes the default.
 *
 * Two modes. `coalesce` removes nulls that did their work. `merge` keeps them: import-values run before the user's values are
 * known, and a null must survive until then.
 */
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import type { Chart } from './chart.ts'
import { copyTable, isTable, type ChartValue, type ValueMap, type Warn } from './values.ts'

type CoalesceMode = 'coalesce' | 'merge'

const globalKey = 'global'

/** @throws InvalidValues if the section of a subchart is no mapping */
export function coalesceValues(chart: Chart, values: ValueMap, warn: Warn, mode: CoalesceMode = 'coalesce'): ValueMap {
  return coalesceChart(chart, copyTable(values), '', { warn, mode })
}

interface Coalescing {
  readonly warn: Warn
  readonly mode: CoalesceMode
}

const joined = (prefix: string, key: string): string => (prefix === '' ? key : `${prefix}.${key}`)

function coalesceChart(chart: Chart, values: ValueMap, prefix: string, options: Coalescing): ValueMap {
  addDefaults(chart, values, joined(prefix, chart.metadata.name), options)
  for (const subchart of chart.dependencies) {
    const { name } = subchart.metadata
    const section = values.get(name) ?? (values.has(name) ? null : new Map<string, ChartValue>())
    if (!isTable(section)) {
      throw new MusterError(
        renderErrors.InvalidValues,
        `the value "${name}" of chart ${chart.metadata.name} is the section of a subchart and must be a mapping.`,
      )
    }
    values.set(name, section)
    const subPrefix = joined(prefix, chart.metadata.name)
    passGlobalsDown(section, values, subPrefix, options)
    coalesceChart(subchart, section, subPrefix, options)
  }
  return values
}

/** The chart's own values, where none are set. */
function addDefaults(chart: Chart, values: ValueMap, prefix: string, { warn, mode }: Coalescing): void {
  for (const [key, own] of copyTable(chart.values)) {
    const given = values.get(key)
    if (!values.has(key)) {
      if (mode === 'coalesce') {
        if (own === null) continue
        if (isTable(own)) removeNulls(own)
      }
      values.set(key, own)
    } else if (given === null && mode === 'coalesce') {
      values.delete(key)
    } else if (isTable(given)) {
      if (!isTable(own)) {
        if (own !== null) warn(`warning: skipped value for ${prefix}.${key}: Not a table.`)
        continue
      }
      // Values for a subchart keep their nulls: they may delete defaults of the subchart.
      const isSubchart = chart.dependencies.some(({ metadata }) => metadata.name === key)
      const tableMode = isSubchart ? 'merge' : mode
      if (tableMode === 'coalesce') removeNulls(own)
      coalesceTables(given, own, { warn, mode: tableMode, prefix: joined(prefix, key) })
    }
  }
}

/** Globals of a chart are visible in its subcharts, and win over theirs. */
function passGlobalsDown(to: ValueMap, from: ValueMap, prefix: string, { warn }: Coalescing): void {
  const own = to.has(globalKey) ? to.get(globalKey) : new Map<string, ChartValue>()
  if (!isTable(own)) {
    warn(`warning: skipping globals because destination ${globalKey} is not a table.`)
    return
  }
  const above = from.has(globalKey) ? from.get(globalKey) : new Map<string, ChartValue>()
  if (!isTable(above)) {
    warn(`warning: skipping globals because source ${globalKey} is not a table.`)
    return
  }
  for (const [key, value] of above) {
    const mine = own.get(key)
    if (isTable(value)) {
      // Only the first level is copied: deeper tables are shared with the chart above.
      const copy = new Map(value)
      if (!own.has(key)) own.set(key, copy)
      else if (!isTable(mine)) warn(`Conflict: cannot merge map onto non-map for "${key}". Skipping.`)
      else own.set(key, coalesceTables(copy, mine, { warn, mode: 'merge', prefix: joined(prefix, key) }))
    } else if (isTable(mine)) warn(`key ${key} is table. Skipping`)
    else own.set(key, value)
  }
  to.set(globalKey, own)
}

interface TableCoalescing extends Coalescing {
  /** Where the tables are, for warnings. */
  readonly prefix: string
}

/** Adds to `to` what only `from` has. Changes both: `from` must be a copy. Warnings name no values: these may be secret. */
export function coalesceTables(to: ValueMap, from: ValueMap, options: TableCoalescing): ValueMap {
  const { warn, mode, prefix } = options
  const hadValue = new Set([...from].filter(([, value]) => value !== null).map(([key]) => key))
  for (const [key, value] of to) if (value === null) from.set(key, null)
  for (const [key, value] of from) {
    const given = to.get(key)
    const path = joined(prefix, key)
    if (!to.has(key)) to.set(key, value)
    else if (given === null && mode === 'coalesce' && hadValue.has(key)) to.delete(key)
    else if (isTable(value)) {
      if (isTable(given)) coalesceTables(given, value, { warn, mode, prefix: path })
      else warn(`warning: cannot overwrite table with non table for ${path}`)
    } else if (isTable(given) && value !== null)
      warn(`warning: destination for ${path} is a table. Ignoring non-table value`)
  }
  return to
}

function removeNulls(table: ValueMap): void {
  for (const [key, value] of table) {
    if (value === null) table.delete(key)
    else if (isTable(value)) removeNulls(value)
  }
}
