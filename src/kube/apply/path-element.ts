/**
 * One step of a path into an object: a field name in a struct or map, the key of an item in a map list, the item itself in a
 * set list and, only in messages, an index in an atomic list.
 *
 * An element has two text forms: `f:name`, `k:{"name":"a"}`, `v:"x"`, `i:0` in managedFields, and `.name`, `[name="a"]`,
 * `[="x"]`, `[0]` in messages.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../json.ts'
import { canonicalJson, compareJson, compareText } from './canonical.ts'

export interface KeyField {
  readonly name: string
  readonly value: Json
}

export type PathElement =
  | { readonly kind: 'field'; readonly name: string }
  /** The key fields of a map list item, sorted by name. */
  | { readonly kind: 'key'; readonly fields: readonly KeyField[] }
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'index'; readonly index: number }

export type Path = readonly PathElement[]

export function fieldElement(name: string): PathElement {
  return { kind: 'field', name }
}

export function keyElement(fields: readonly KeyField[]): PathElement {
  return { kind: 'key', fields: fields.length < 2 ? fields : fields.toSorted((a, b) => compareText(a.name, b.name)) }
}

const kindOrder = { field: 0, key: 1, value: 2, index: 3 } as const

/** The order of elements in the server: fields, keys, values, indexes. */
export function compareElements(a: PathElement, b: PathElement): number {
  if (a.kind === 'field' && b.kind === 'field') return compareText(a.name, b.name)
  if (a.kind === 'key' && b.kind === 'key') return compareKeys(a.fields, b.fields)
  if (a.kind === 'value' && b.kind === 'value') return compareJson(a.value, b.value)
  if (a.kind === 'index' && b.kind === 'index') return a.index - b.index
  return kindOrder[a.kind] - kindOrder[b.kind]
}

function compareKeys(a: readonly KeyField[], b: readonly KeyField[]): number {
  const shared = Math.min(a.length, b.length)
  for (let at = 0; at < shared; at++) {
    const left = a[at] as KeyField
    const right = b[at] as KeyField
    const order = compareText(left.name, right.name) || compareJson(left.value, right.value)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** The element as in managedFields. Two elements are equal exactly if this text is. */
export function encodeElement(element: PathElement): string {
  if (element.kind === 'field') return `f:${element.name}`
  if (element.kind === 'value') return `v:${encodeValue(element.value)}`
  if (element.kind === 'index') return `i:${element.index}`
  const fields = element.fields.map(({ name, value }) => `${JSON.stringify(name)}:${encodeValue(value)}`)
  return `k:{${fields.join(',')}}`
}

function encodeValue(value: Json): string {
  return typeof value === 'number' ? padExponent(String(value)) : canonicalJson(value)
}

/** The server writes exponents with at least two digits: 1e-07. */
function padExponent(number: string): string {
  return number.replace(/e([+-])(\d)$/, 'e$10$2')
}

/** Decodes an element of managedFields; `undefined` for a type of a newer server. */
export function decodeElement(text: string): PathElement | undefined {
  if (text[1] !== ':') throw invalid(text, 'an element starts with f:, k:, v: or i:')
  const content = text.slice(2)
  switch (text[0]) {
    case 'f':
      return { kind: 'field', name: content }
    case 'k': {
      const fields = decodeValue(text, content)
      if (!isJsonObject(fields)) throw invalid(text, 'a key is a JSON object')
      return keyElement(Object.entries(fields).map(([name, value]) => ({ name, value: value as Json })))
    }
    case 'v':
      return { kind: 'value', value: decodeValue(text, content) }
    case 'i':
      if (!/^[+-]?\d+$/.test(content)) throw invalid(text, 'an index is an integer')
      return { kind: 'index', index: Number(content) }
    default:
      return undefined
  }
}

function decodeValue(text: string, content: string): Json {
  try {
    return parseJson(content)
  } catch (cause) {
    throw invalid(text, 'not JSON', cause)
  }
}

function invalid(text: string, why: string, cause?: unknown): MusterError {
  return new MusterError(kubeErrors.InvalidFieldSet, `${JSON.stringify(text)}: ${why}.`, { cause })
}

/** The path as the server prints it: `.spec.containers[name="a"].image`. */
export function formatPath(path: Path): string {
  return path.map(formatElement).join('')
}

export function formatElement(element: PathElement): string {
  if (element.kind === 'field') return `.${element.name}`
  if (element.kind === 'value') return `[=${formatValue(element.value)}]`
  if (element.kind === 'index') return `[${element.index}]`
  return `[${element.fields.map(({ name, value }) => `${name}=${formatValue(value)}`).join(',')}]`
}

function formatValue(value: Json): string {
  if (typeof value === 'string') return quoteText(value)
  if (typeof value === 'number') return formatNumber(value)
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(formatValue).join(',')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value as JsonObject)
    .map(([name, member]) => `${name}=${formatValue(member as Json)}`)
    .join('')
}

function formatNumber(value: number): string {
  return padExponent(value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value))
}

/** Characters that Go's %q escapes. */
const unprintable = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu

const namedEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** Text in quotes as messages of the server show it. */
export function quoteText(text: string): string {
  const escape = (character: string): string => {
    const code = character.codePointAt(0) as number
    if (code < 0x80) return namedEscapes[character] ?? `\\x${code.toString(16).padStart(2, '0')}`
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  }
  return `"${text.replace(unprintable, escape)}"`
}
