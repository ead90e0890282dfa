/**
 * Column definitions: type, format, description and priority (`-o wide`). Read from `columns.json`, which
 * `scripts/generate-columns.ts` writes; many columns share a description.
 */
import { createRequire } from 'node:module'

export interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  /** 0: always shown; otherwise only with `-o wide`. */
  readonly priority: number
}

/** Name, type, format, priority, and the index of the description. */
export type PackedColumn = readonly [string, string, string, number, number]

export interface PackedColumns {
  readonly descriptions: readonly string[]
  /** By storage table: `deployments.apps`. */
  readonly tables: Readonly<Record<string, readonly PackedColumn[]>>
}

const load = createRequire(import.meta.url)

let packed: PackedColumns | undefined

/** The columns of a kind, or the default columns. */
export function columnDefinitions(table: string): readonly ColumnDefinition[] {
  packed ??= load('./columns.json') as PackedColumns
  const { descriptions, tables } = packed
  const columns = (Object.hasOwn(tables, table) ? tables[table] : undefined) ?? tables['limitranges'] ?? []
  return columns.map(([name, type, format, priority, text]) => ({
    name,
    type,
    format,
    description: descriptions[text] ?? '',
    priority,
  }))
}
