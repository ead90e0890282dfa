/** Reads JSON into the fields that a table declares. Unknown fields, and values of another type, are errors with their place. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { failure } from './failure.ts'

type FieldType =
  | 'text'
  | 'boolean'
  | 'integer'
  | 'any'
  /** A mapping of texts. */
  | 'texts'
  | readonly ['list', FieldType]
  | FieldTable

export interface FieldTable {
  readonly [name: string]: FieldType
}

interface Place {
  readonly file: string
  readonly path: string
}

/** The value as the table declares it; null members are left out, as if they were not there. */
export function readFields(value: Json, table: FieldTable, file: string): JsonObject {
  return readTable(value, table, { file, path: '' })
}

function readTable(value: Json, table: FieldTable, place: Place): JsonObject {
  if (!isJsonObject(value)) throw invalid(place, 'must be a mapping')
  const names = Object.keys(table)
  const entries: [string, Json][] = []
  for (const [given, member] of Object.entries(value)) {
    // Go's decoder accepts names in any case.
    const name = Object.hasOwn(table, given) ? given : names.find((one) => one.toLowerCase() === given.toLowerCase())
    const at = { file: place.file, path: place.path === '' ? given : `${place.path}.${given}` }
    if (name === undefined) throw unknown(at, given, names)
    if (member !== null && member !== undefined) entries.push([name, readValue(member, table[name]!, at)])
  }
  return Object.fromEntries(entries)
}

function readValue(value: Json, type: FieldType, place: Place): Json {
  if (isListType(type)) {
    if (!Array.isArray(value)) throw invalid(place, 'must be a list')
    return value.map((item: Json, index) => {
      const at = { file: place.file, path: `${place.path}[${index}]` }
      return item === null ? emptyOf(type[1]) : readValue(item, type[1], at)
    })
  }
  if (typeof type === 'object') return readTable(value, type, place)
  if (type === 'any') return value
  if (type === 'texts') return readTexts(value, place)
  if (type === 'integer') {
    if (!Number.isInteger(value) && typeof value !== 'bigint') throw invalid(place, 'must be a whole number')
    return value
  }
  const expected = type === 'text' ? 'string' : 'boolean'
  if (typeof value !== expected) {
    const hint = type === 'text' && typeof value !== 'object' ? `; write it in quotes` : ''
    throw invalid(place, `must be ${type === 'text' ? 'a text' : 'true or false'}${hint}`)
  }
  return value
}

function readTexts(value: Json, place: Place): JsonObject {
  if (!isJsonObject(value)) throw invalid(place, 'must be a mapping')
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (member !== null && typeof member !== 'string') {
        throw invalid({ file: place.file, path: `${place.path}.${key}` }, 'must be a text; write it in quotes')
      }
      return [key, member ?? '']
    }),
  )
}

function isListType(type: FieldType): type is readonly ['list', FieldType] {
  return Array.isArray(type)
}

/** What a null item stands for. */
function emptyOf(type: FieldType): Json {
  return type === 'text' ? '' : type === 'boolean' ? false : type === 'integer' ? 0 : isListType(type) ? [] : {}
}

function unknown({ file, path }: Place, name: string, names: readonly string[]): Error {
  const meant = nearest(name, names)
  const hint = meant === undefined ? '' : `. Did you mean "${meant}"?`
  return failure('KustomizationInvalid', file, `unknown field "${name}" at ${path}${hint}`)
}

function invalid({ file, path }: Place, problem: string): Error {
  return failure('KustomizationInvalid', file, `${path === '' ? 'the file' : path} ${problem}`)
}
