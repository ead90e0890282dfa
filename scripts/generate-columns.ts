/**
 * Generates `src/apiserver/printer/columns.json`: the table columns of a kube-apiserver.
 *
 *     kubectl proxy & node scripts/generate-columns.ts --server http://127.0.0.1:8001
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { ColumnDefinition, PackedColumn, PackedColumns } from '../src/apiserver/printer/columns.ts'
import { builtinResources } from '../src/kube/builtin.ts'

async function fetchColumns(server: string): Promise<PackedColumns> {
  const descriptions: string[] = []
  const tables: Record<string, readonly PackedColumn[]> = {}
  const placeOf = (text: string): number => {
    const known = descriptions.indexOf(text)
    return known < 0 ? descriptions.push(text) - 1 : known
  }
  for (const { group, version, plural } of builtinResources().filter((one) => one.verbs.includes('list'))) {
    const path = `${group === '' ? '/api' : `/apis/${group}`}/${version}/${plural}`
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const answer = await fetch(new URL(path, server), { headers: { accept } })
    // Alpha and beta versions are not served by default.
    if (!answer.ok) continue
    const { columnDefinitions } = (await answer.json()) as { readonly columnDefinitions: readonly ColumnDefinition[] }
    tables[group === '' || group === 'events.k8s.io' ? plural : `${plural}.${group}`] = columnDefinitions.map(
      ({ name, type, format, priority, description }) => [name, type, format, priority, placeOf(description)],
    )
  }
  return { descriptions, tables }
}

/** One line for each description and each table, so that diffs are readable. */
function print({ descriptions, tables }: PackedColumns): string {
  const lines = Object.entries(tables).map(([table, columns]) => `${JSON.stringify(table)}:${JSON.stringify(columns)}`)
  return `{"descriptions":[\n${descriptions.map((text) => JSON.stringify(text)).join(',\n')}\n],"tables":{\n${lines.join(',\n')}\n}}\n`
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { server: { type: 'string' } } })
  if (values.server === undefined) throw new Error('--server is missing: the address of a `kubectl proxy`')
  const columns = await fetchColumns(values.server)
  const target = new URL('../src/apiserver/printer/columns.json', import.meta.url)
  writeFileSync(fileURLToPath(target), print(columns))
  console.log(`${Object.keys(columns.tables).length} tables, ${columns.descriptions.length} descriptions`)
}

if (import.meta.main) await main()
