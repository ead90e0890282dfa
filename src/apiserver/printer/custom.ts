/** The printer columns of a CRD: a JSONPath each, and a type that determines the format. */
import { isJsonObject, type Json, stringifyJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/units/duration.ts'
import { formatAge } from './age.ts'
import { type Cell, nameCell, type PrintContext } from './cells.ts'
import { type ColumnDefinition, columnDefinitions } from './columns.ts'
import { parseJsonPath, visitBudget } from './json-path.ts'

/** `additionalPrinterColumns` of a CRD. */
export interface PrinterColumn {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
}

interface CustomColumns {
  readonly definitions: readonly ColumnDefinition[]
  readonly row: (object: UntypedObject, context: PrintContext) => readonly Cell[]
}

/** Thousands of columns may show one long text. */
const charactersPerVisit = 10

export function customColumns(columns: readonly PrinterColumn[] | undefined): CustomColumns {
  const [nameColumn, created] = columnDefinitions('')
  const shown: readonly PrinterColumn[] =
    columns && columns.length > 0
      ? columns
      : [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: created!.description }]
  const paths = shown.map(({ jsonPath }) => parseJsonPath(jsonPath))
  return {
    definitions: [
      nameColumn!,
      ...shown.map(({ name: title, type, format = '', description, jsonPath, priority = 0 }) => ({
        name: title,
        type,
        format,
        description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
        priority,
      })),
    ],
    row: (object, { now }) => {
      // All columns together: there may be thousands.
      const budget = visitBudget()
      const cells = shown.map(({ type }, index) => {
        const [value] = paths[index]?.find(object as unknown as Json, budget) ?? []
        const cell = value === undefined ? null : cellOf(type, value, now)
        if (typeof cell === 'string') budget.left -= Math.floor(cell.length / charactersPerVisit)
        return budget.left < 0 ? null : cell
      })
      return [nameCell(object), ...cells]
    },
  }
}

function cellOf(type: string, value: Json, now: number): Cell {
  switch (type) {
    case 'string':
      return textOf(value)
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null
    default:
      return null
  }
}

function textOf(value: Json): string {
  if (value === null) return '<no value>'
  return isJsonObject(value) || isJsonArray(value) ? stringifyJson(value) : String(value)
}

function ageOf(text: string, now: number): string {
  if (text === '' || text === 'null') return '<unknown>'
  const time = parseTime(text)
  return time === undefined ? '<invalid>' : formatAge(now - time)
}
