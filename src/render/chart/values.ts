/**
 * Values: the settings of a chart, as a tree. Maps keep Go's meaning of a map from text to anything: a key with the value null is
 * present, and keys have no order. A number is a `number` if it came from YAML or JSON (Go's float64) and a `bigint` if it came
 * from `--set` (Go's int64): templates print them differently.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'

export type ChartValue = null | boolean | string | number | bigint | ChartValue[] | ValueMap

export type ValueMap = Map<string, ChartValue>

/** A warning that Helm prints while it prepares values; rendering goes on. */
export type Warn = (message: string) => void

export function isTable(value: ChartValue | undefined): value is ValueMap {
  return value instanceof Map
}

/** Every number becomes a float64, as in Helm. */
export function chartValueOf(json: Json): ChartValue {
  if (typeof json === 'bigint') return Number(json)
  if (Array.isArray(json)) return json.map((item: Json) => chartValueOf(item))
  if (!isJsonObject(json)) return json as ChartValue
  const map: ValueMap = new Map()
  for (const [key, member] of Object.entries(json)) if (member !== undefined) map.set(key, chartValueOf(member))
  return map
}

/** The inverse, for schemas and for output. */
export function chartValueJson(value: ChartValue): Json {
  if (Array.isArray(value)) return value.map(chartValueJson)
  if (!isTable(value)) return value
  // Not by assignment: a key may be "__proto__".
  return Object.fromEntries([...value].map(([key, member]) => [key, chartValueJson(member)]))
}

function copyValue<V extends ChartValue>(value: V): V
function copyValue(value: ChartValue): ChartValue {
  if (Array.isArray(value)) return value.map((item) => copyValue(item))
  return isTable(value) ? copyTable(value) : value
}

export function copyTable(table: ValueMap): ValueMap {
  return new Map([...table].map(([key, member]) => [key, copyValue(member)]))
}

/**
 * A values file. Its documents are merged in order, the later ones win. Unlike elsewhere, a line of three dashes separates
 * documents even inside a block of text.
 * @throws InvalidYaml, InvalidValues
 */
export function readValues(text: string, source: string): ValueMap {
  let merged: ValueMap = new Map()
  for (const part of text.split(/^---[ \t\r]*$/m)) {
    const document = readYamlDocuments(part, { source })[0] ?? null
    if (document === null) continue
    const value = chartValueOf(document)
    if (!isTable(value)) throw new MusterError(renderErrors.InvalidValues, `${source}: values must be a mapping.`)
    merged = mergeTables(merged, value)
  }
  return merged
}

/** A new table: maps are merged, anything else of `over` replaces that of `under`. */
export function mergeTables(under: ValueMap, over: ValueMap): ValueMap {
  const merged = new Map(under)
  for (const [key, value] of over) {
    const before = merged.get(key)
    merged.set(key, isTable(value) && isTable(before) ? mergeTables(before, value) : value)
  }
  return merged
}

/** The table at a path of keys joined by dots; undefined if there is none. */
export function tableAt(values: ValueMap, path: string): ValueMap | undefined {
  let table = values
  for (const key of path.split('.')) {
    const next = table.get(key)
    if (!isTable(next)) return undefined
    table = next
  }
  return table
}

/** The value at a path of keys joined by dots; undefined if there is none, or if it is a table. */
export function scalarAt(values: ValueMap, path: string): ChartValue | undefined {
  const dot = path.lastIndexOf('.')
  const table = dot < 0 ? values : tableAt(values, path.slice(0, dot))
  const value = table?.get(path.slice(dot + 1))
  return isTable(value) ? undefined : value
}
