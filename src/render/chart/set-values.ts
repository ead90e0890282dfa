/**
 * The syntax of `--set` and its relatives: `a.b=1,c[0].d=x,e={x,y}`. A path of keys and list indexes, then a value; several
 * assignments are joined by commas. A backslash escapes the next character. What counts is what Helm does, also where it is
 * lenient: an assignment that ends too early is often ignored rather than refused.
 */
import { parseJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { isTable, type ChartValue, type ValueMap, chartValueOf } from './values.ts'

/** Which flag it is: `file` reads the file that the value names. */
export type SetMode = 'typed' | 'string' | 'file' | 'json' | 'literal'

const largestIndex = 65_536
const deepestName = 30

/**
 * Adds the assignments of one flag to the values, in place.
 * @param readFile for mode `file`: the text of a file
 * @throws InvalidValues
 */
export function setValues(text: string, mode: SetMode, values: ValueMap, readFile?: (file: string) => string): void {
  const reader = new AssignmentReader(text, mode, readFile ?? ((file) => file))
  while (reader.readKey(values, 0) === 'more');
}

/** Whether there may be another assignment; Helm gives up silently at an early end. */
type Progress = 'more' | 'end'

class AssignmentReader {
  readonly #characters: readonly string[]
  readonly #mode: SetMode
  readonly #readFile: (file: string) => string
  #at = 0

  constructor(text: string, mode: SetMode, readFile: (file: string) => string) {
    this.#characters = Array.from(text)
    this.#mode = mode
    this.#readFile = readFile
  }

  readKey(into: ValueMap, depth: number): Progress {
    const { text: key, stop } = this.#until(this.#mode === 'literal' ? '=[.' : '=[,.')
    switch (stop) {
      case undefined:
        if (key !== '') throw invalid(`key "${key}" has no value`)
        return 'end'
      case ',':
        throw invalid(`key "${key}" has no value (cannot end with ,)`)
      case '=': {
        const { value, progress } = this.#readValue()
        put(into, key, value)
        return progress
      }
      case '[':
        return this.#readListAt(into, key, depth)
      default:
        return this.#readTableAt(into, key, depth)
    }
  }

  #readListAt(into: ValueMap, key: string, depth: number): Progress {
    const index = this.#readIndex()
    if (index === undefined) return 'end'
    const before = into.get(key)
    if (into.has(key) && !Array.isArray(before)) throw invalid(`key "${key}" is no list`)
    const list = Array.isArray(before) ? [...before] : []
    const progress = this.#readItem(list, index, depth)
    put(into, key, list)
    return progress
  }

  #readTableAt(into: ValueMap, key: string, depth: number): Progress {
    if (depth + 1 > deepestName) throw invalid(`names may have at most ${deepestName} levels`)
    const before = into.get(key)
    if (into.has(key) && !isTable(before)) throw invalid(`key "${key}" is no mapping`)
    const inner: ValueMap = isTable(before) ? before : new Map()
    const progress = this.readKey(inner, depth + 1)
    if (progress === 'more' && inner.size === 0) throw invalid(`key map "${key}" has no value`)
    if (inner.size > 0) put(into, key, inner)
    return progress
  }

  /** Behind `]`: a value, a further index, or keys of a table in the list. */
  #readItem(list: ChartValue[], index: number, depth: number): Progress {
    if (index < 0) throw invalid(`negative ${index} index not allowed`)
    const { text, stop } = this.#until('[.=')
    if (text !== '') throw invalid(`unexpected data at end of array index: "${text}"`)
    if (stop === undefined) return 'end'
    if (stop === '=') {
      putAt(list, index, this.#readValue().value)
      return 'more'
    }
    const before = list[index]
    if (stop === '[') {
      const next = this.#readIndex()
      if (next === undefined) return 'end'
      if (before !== undefined && before !== null && !Array.isArray(before)) throw invalid(`item ${index} is no list`)
      const inner = Array.isArray(before) ? [...before] : []
      if (this.#readItem(inner, next, depth) === 'end') return 'end'
      putAt(list, index, inner)
      return 'more'
    }
    const inner: ValueMap = isTable(before) ? before : new Map()
    if (index < list.length) list[index] = inner
    if (this.readKey(inner, depth) === 'end') return 'end'
    putAt(list, index, inner)
    return 'more'
  }

  #readIndex(): number | undefined {
    const { text, stop } = this.#until(']')
    if (stop === undefined) return undefined
    if (!/^[+-]?\d{1,18}$/.test(text)) throw invalid(`error parsing index: "${text}" is no number`)
    return Number(text)
  }

  #readValue(): { readonly value: ChartValue; readonly progress: Progress } {
    if (this.#mode === 'literal') return { value: this.#until('').text, progress: 'more' }
    if (this.#mode === 'json') return { value: this.#readJson(), progress: 'more' }
    if (this.#at >= this.#characters.length) return { value: '', progress: 'end' }
    if (this.#characters[this.#at] === '{') return { value: this.#readList(), progress: 'more' }
    return { value: this.#convert(this.#until(',').text), progress: 'more' }
  }

  /** `{a,b}`. */
  #readList(): ChartValue[] {
    this.#at++
    const list: ChartValue[] = []
    for (;;) {
      const { text, stop } = this.#until(',}')
      if (stop === undefined) throw invalid("list must terminate with '}'")
      list.push(this.#convert(text))
      if (stop === ',') continue
      if (this.#characters[this.#at] === ',') this.#at++
      return list
    }
  }

  #readJson(): ChartValue {
    if (this.#skipBlank()) return null
    const rest = this.#characters.slice(this.#at).join('')
    const length = jsonLength(rest)
    const json = length === undefined ? undefined : tryJson(rest.slice(0, length))
    if (json === undefined) throw invalid('a value is not valid JSON')
    this.#at += Array.from(rest.slice(0, length)).length
    this.#skipBlank()
    return json
  }

  /** Skips blanks and one comma; whether the value was empty. */
  #skipBlank(): boolean {
    for (; this.#at < this.#characters.length; this.#at++) {
      const character = this.#characters[this.#at]!
      if (character === ',') {
        this.#at++
        return true
      }
      if (!/\s/u.test(character)) return false
    }
    return true
  }

  #convert(text: string): ChartValue {
    if (this.#mode === 'string') return text
    return this.#mode === 'file' ? this.#readFile(text) : typedValue(text)
  }

  /** The text up to one of these characters, which is consumed; `stop` is undefined at the end. */
  #until(stops: string): { readonly text: string; readonly stop: string | undefined } {
    const isLiteral = this.#mode === 'literal'
    const parts: string[] = []
    while (this.#at < this.#characters.length) {
      const character = this.#characters[this.#at++]!
      if (stops.includes(character)) return { text: parts.join(''), stop: character }
      if (character !== '\\' || isLiteral) parts.push(character)
      else if (this.#at < this.#characters.length) parts.push(this.#characters[this.#at++]!)
    }
    return { text: parts.join(''), stop: undefined }
  }
}

/** An empty key is ignored. */
function put(table: ValueMap, key: string, value: ChartValue): void {
  if (key !== '') table.set(key, value)
}

function putAt(list: ChartValue[], index: number, value: ChartValue): void {
  if (index > largestIndex) throw invalid(`index of ${index} is greater than the largest allowed, ${largestIndex}`)
  while (list.length < index) list.push(null)
  list[index] = value
}

function typedValue(text: string): ChartValue {
  const word = text.toLowerCase()
  if (word === 'true' || word === 'false') return word === 'true'
  if (word === 'null') return null
  if (text === '0') return 0n
  if (!/^[+-]?\d{1,19}$/.test(text) || text.startsWith('0')) return text
  const integer = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, integer) === integer ? integer : text
}

/** The length of the JSON value at the start of a text; undefined if there is none. */
function jsonLength(text: string): number | undefined {
  const scalar = /^(?:true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/.exec(text)
  if (scalar) return scalar[0].length
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (character === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    } else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (depth === 0) return undefined
    if (depth <= 0) return at + 1
  }
  return undefined
}

function tryJson(text: string): ChartValue | undefined {
  try {
    return chartValueOf(parseJson(text))
  } catch {
    return undefined
  }
}

function invalid(problem: string): MusterError {
  return new MusterError(renderErrors.InvalidValues, `${problem}.`)
}
