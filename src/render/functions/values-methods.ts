/** What templates may call on `.Values`: the methods of Helm's type. They come before keys of the same name, as methods do in Go. */
import { type GoFunction, goFunction } from '../template/function-type.ts'
import { quoteGoText } from '../template/format-value.ts'
import { GoError } from '../template/go-error.ts'
import { type GoMap, hasMember, isMap, mapView, valuesType } from '../template/values.ts'
import { helmFunctions } from './function-table.ts'

const toYaml = helmFunctions().get('toYaml')!

/** By name: from `.Values` to the method. */
export const valuesMethods: ReadonlyMap<string, (values: GoMap) => GoFunction> = new Map([
  // The same map with the usual type, which `dig` and others insist on.
  ['AsMap', (values) => goFunction('', () => mapView(values))],
  ['YAML', (values) => goFunction('', (_, context) => `${String(toYaml.call([values] as never, context))}\n`)],
  ['Table', (values) => goFunction('string', ([path]: [string]) => tableAt(values, path.split('.')))],
  ['PathValue', (values) => goFunction('string', ([path]: [string]) => valueAt(values, path))],
])

function tableAt(values: GoMap, path: readonly string[]): GoMap {
  let table = values
  for (const key of path) {
    const member = hasMember(table, key) ? table[key] : undefined
    if (!isMap(member)) throw new GoError(`${quoteGoText(key)} is not a table`)
    table = member
  }
  return mapView(table, valuesType)
}

/** A value that is no table. */
function valueAt(values: GoMap, path: string): unknown {
  if (path === '') throw new GoError('YAML path cannot be empty')
  const parts = path.split('.')
  const key = parts.pop()!
  const none = new GoError(`${quoteGoText(key)} is not a value`)
  let table = values
  for (const part of parts) {
    const member = hasMember(table, part) ? table[part] : undefined
    if (!isMap(member)) throw none
    table = member
  }
  if (!hasMember(table, key) || isMap(table[key])) throw none
  return table[key]
}
