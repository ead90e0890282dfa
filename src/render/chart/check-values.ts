/** Compares values with the schemas of a chart and of its subcharts (values.schema.json). */
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { schemaProblems } from '../schema/json-schema.ts'
import type { Chart } from './chart.ts'
import { isTable, chartValueJson, type ValueMap } from './values.ts'

/** @throws InvalidValues, with every problem of every chart; InvalidChart if a schema cannot be used */
export function checkValues(chart: Chart, values: ValueMap): void {
  const problems = chartProblems(chart, values)
  if (problems.length === 0) return
  throw new MusterError(
    renderErrors.InvalidValues,
    `values don't meet the specifications of the schema(s) in the following chart(s):\n${problems.join('\n')}\n`,
  )
}

function chartProblems(chart: Chart, values: ValueMap): readonly string[] {
  const { name } = chart.metadata
  const own =
    chart.schema === undefined ? [] : schemaProblems(chart.schema, chartValueJson(values), `${name}/values.schema.json`)
  const below = chart.dependencies.flatMap((each) => {
    const section = values.get(each.metadata.name)
    return isTable(section) ? chartProblems(each, section) : []
  })
  return [...(own.length > 0 ? [`${name}:`, ...own] : []), ...below]
}
