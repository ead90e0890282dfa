import { expect, it } from 'vitest'
import { createCatalog } from '../catalog/catalog.ts'
import { plainColumns } from './cluster.ts'
import { columnDefinitions } from './columns.ts'
import { printerOf } from './printers.ts'

const tables = [
  ...new Set(
    createCatalog()
      .all()
      .filter(({ verbs, version }) => verbs.includes('list') && /^v\d+$/.test(version))
      .map(({ table }) => table),
  ),
]

it.each(tables)('%s has a cell for every column', (table) => {
  const names = columnDefinitions(table).map(({ name }) => name)
  const cells = Object.keys(printerOf(table) ?? plainColumns)
  // kube-apiserver has one more cell than columns for IPAddresses.
  expect(table.startsWith('ipaddresses') ? cells.slice(0, 2) : cells).toEqual(names)
})

it.each(tables)('%s prints an empty object', (table) => {
  const context = { now: 0, list: [] }
  for (const cell of Object.values(printerOf(table) ?? plainColumns)) {
    expect(['string', 'number', 'boolean']).toContain(typeof cell({ metadata: {} } as never, context))
  }
})
