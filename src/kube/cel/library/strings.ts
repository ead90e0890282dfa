/** Functions on strings. Positions count characters (code points), as everywhere in CEL. */
import { CelRuntimeError } from '../value/error.ts'
import { type CelCost, type CelFunction, byLength, functionNamed } from './function.ts'
import { showValue } from '../value/show.ts'
import { spendSteps } from '../value/steps.ts'
import { formatText } from './string-format.ts'
import { boolType, dynType, intType, listOf, stringType } from '../value/type.ts'
import { CelArray, type CelInt, type CelList, type CelValue, codePoints, celSizeOf } from '../value/value.ts'

const outOfRange = (index: CelInt): CelRuntimeError => new CelRuntimeError(`index out of range: ${index}`)
const runes = (text: string): readonly string[] => Array.from(text)

function charAt(text: string, index: CelInt): string {
  const characters = runes(text)
  if (index < 0 || index > characters.length) throw outOfRange(index)
  return characters[Number(index)] ?? ''
}

function substring(text: string, start: CelInt, end?: CelInt): string {
  const characters = runes(text)
  if (end !== undefined && start > end) {
    throw new CelRuntimeError(`invalid substring range. start: ${start}, end: ${end}`)
  }
  if (start < 0 || start > characters.length) throw outOfRange(start)
  if (end !== undefined && (end < 0 || end > characters.length)) throw outOfRange(end)
  return characters.slice(Number(start), end === undefined ? undefined : Number(end)).join('')
}

function indexOf(text: string, part: string, offset: CelInt): CelInt {
  if (offset < 0) throw outOfRange(offset)
  const length = codePoints(text)
  if (part === '') return offset > length ? length : offset
  if (offset >= length) return -1
  const found = text.indexOf(part, unitsOf(text, Number(offset)))
  return found < 0 ? -1 : codePoints(text.slice(0, found))
}

function lastIndexOf(text: string, part: string, offset: CelInt): CelInt {
  if (offset < 0) throw outOfRange(offset)
  const length = codePoints(text)
  if (part === '') return offset > length ? length : offset
  if (offset >= length) return -1
  const found = text.lastIndexOf(part, unitsOf(text, Number(offset)))
  return found < 0 ? -1 : codePoints(text.slice(0, found))
}

/** The UTF-16 position of the character at `index`. */
function unitsOf(text: string, index: number): number {
  return runes(text).slice(0, index).join('').length
}

/** At most `limit` pieces; negative means all. An empty separator splits into characters. */
function split(text: string, separator: string, limit: CelInt): CelValue {
  if (limit === 0) return new CelArray([])
  const pieces = separator === '' ? runes(text) : text.split(separator)
  if (limit < 0 || pieces.length <= limit) return new CelArray(pieces)
  const most = Number(limit)
  return new CelArray([...pieces.slice(0, most - 1), pieces.slice(most - 1).join(separator)])
}

function replace(text: string, old: string, fresh: string, limit: CelInt): string {
  if (limit === 0) return text
  spendSteps(occurrences(text, old) * fresh.length)
  if (limit < 0)
    return old === '' ? [...runes(text).map((rune) => fresh + rune), fresh].join('') : text.replaceAll(old, () => fresh)
  let left = Number(limit)
  if (old === '') {
    const characters = runes(text)
    return (
      characters.map((rune, index) => (index < left ? fresh + rune : rune)).join('') +
      (left > characters.length ? fresh : '')
    )
  }
  return text.replaceAll(old, (found) => (left-- > 0 ? fresh : found))
}

/** An upper limit: the replacement may be much longer than the text. */
function occurrences(text: string, part: string): number {
  if (part === '') return text.length + 1
  let count = 0
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++
  return count
}

function join(list: CelList, separator: string): string {
  const parts: string[] = []
  for (const element of list) {
    if (typeof element !== 'string') throw new CelRuntimeError(`join: invalid input: ${showValue(element)}`)
    spendSteps(1 + element.length + separator.length)
    parts.push(element)
  }
  return parts.join(separator)
}

const quoteEscapes: Readonly<Record<string, string>> = {
  '\u{7}': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

function quote(text: string): string {
  // eslint-disable-next-line no-control-regex -- the characters to find
  return `"${text.toWellFormed().replaceAll(/[\u0007\b\f\n\r\t\v\\"]/g, (character) => quoteEscapes[character]!)}"`
}

/** White space by Go's unicode.IsSpace. */
const space = /[\t-\r \u{85}\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}]/u

function trim(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && space.test(text[start]!)) start++
  while (end > start && space.test(text[end - 1]!)) end--
  return text.slice(start, end)
}

const [str, int] = [stringType, intType]
const text = (value: CelValue | undefined): string => value as string
const number = (value: CelValue | undefined): CelInt => value as CelInt
const traversal = byLength(0, 0.1)
const twice = byLength(0, 0.2)
const ofResult: CelCost = (_args, result) => Math.ceil(celSizeOf(result) * 0.2)

const tests = (
  name: 'contains' | 'startsWith' | 'endsWith',
  id: string,
  test: (a: string, b: string) => boolean,
  cost: CelCost,
): CelFunction =>
  functionNamed(name, [
    { id, member: true, params: [str, str], result: boolType, call: ([a, b]) => test(text(a), text(b)), cost },
  ])

export const stringFunctions: readonly CelFunction[] = [
  tests(
    'contains',
    'contains_string',
    (a, b) => a.includes(b),
    ([a, b]) => Math.ceil(celSizeOf(a!) * 0.1) * Math.ceil(celSizeOf(b!) * 0.1),
  ),
  tests('startsWith', 'starts_with_string', (a, b) => a.startsWith(b), byLength(1, 0.1)),
  tests('endsWith', 'ends_with_string', (a, b) => a.endsWith(b), byLength(1, 0.1)),
  functionNamed('charAt', [
    {
      id: 'string_char_at_int',
      member: true,
      params: [str, int],
      result: str,
      call: ([a, b]) => charAt(text(a), number(b)),
    },
  ]),
  functionNamed('indexOf', [
    {
      id: 'string_index_of_string',
      member: true,
      params: [str, str],
      result: int,
      call: ([a, b]) => indexOf(text(a), text(b), 0),
      cost: traversal,
    },
    {
      id: 'string_index_of_string_int',
      member: true,
      params: [str, str, int],
      result: int,
      call: ([a, b, c]) => indexOf(text(a), text(b), number(c)),
      cost: traversal,
    },
  ]),
  functionNamed('lastIndexOf', [
    {
      id: 'string_last_index_of_string',
      member: true,
      params: [str, str],
      result: int,
      call: ([a, b]) => {
        const length = codePoints(text(a))
        if (text(b) === '') return length
        return length === 0 ? -1 : lastIndexOf(text(a), text(b), length - 1)
      },
      cost: traversal,
    },
    {
      id: 'string_last_index_of_string_int',
      member: true,
      params: [str, str, int],
      result: int,
      call: ([a, b, c]) => lastIndexOf(text(a), text(b), number(c)),
      cost: traversal,
    },
  ]),
  functionNamed('lowerAscii', [
    {
      id: 'string_lower_ascii',
      member: true,
      params: [str],
      result: str,
      call: ([a]) => text(a).replaceAll(/[A-Z]+/g, (part) => part.toLowerCase()),
      cost: traversal,
    },
  ]),
  functionNamed('upperAscii', [
    {
      id: 'string_upper_ascii',
      member: true,
      params: [str],
      result: str,
      call: ([a]) => text(a).replaceAll(/[a-z]+/g, (part) => part.toUpperCase()),
      cost: traversal,
    },
  ]),
  functionNamed('replace', [
    {
      id: 'string_replace_string_string',
      member: true,
      params: [str, str, str],
      result: str,
      call: ([a, b, c]) => replace(text(a), text(b), text(c), -1),
      cost: twice,
    },
    {
      id: 'string_replace_string_string_int',
      member: true,
      params: [str, str, str, int],
      result: str,
      call: ([a, b, c, d]) => replace(text(a), text(b), text(c), number(d)),
      cost: twice,
    },
  ]),
  functionNamed('split', [
    {
      id: 'string_split_string',
      member: true,
      params: [str, str],
      result: listOf(str),
      call: ([a, b]) => split(text(a), text(b), -1),
      cost: twice,
    },
    {
      id: 'string_split_string_int',
      member: true,
      params: [str, str, int],
      result: listOf(str),
      call: ([a, b, c]) => split(text(a), text(b), number(c)),
      cost: twice,
    },
  ]),
  functionNamed('substring', [
    {
      id: 'string_substring_int',
      member: true,
      params: [str, int],
      result: str,
      call: ([a, b]) => substring(text(a), number(b)),
      cost: traversal,
    },
    {
      id: 'string_substring_int_int',
      member: true,
      params: [str, int, int],
      result: str,
      call: ([a, b, c]) => substring(text(a), number(b), number(c)),
      cost: traversal,
    },
  ]),
  functionNamed('trim', [
    { id: 'string_trim', member: true, params: [str], result: str, call: ([a]) => trim(text(a)), cost: traversal },
  ]),
  functionNamed('format', [
    {
      id: 'string_format',
      member: true,
      params: [str, listOf(dynType)],
      result: str,
      call: ([a, b]) => formatText(text(a), b as CelList),
      cost: traversal,
    },
  ]),
  functionNamed('strings.quote', [
    { id: 'strings_quote', params: [str], result: str, call: ([a]) => quote(text(a)), cost: traversal },
  ]),
  functionNamed('join', [
    {
      id: 'list_join',
      member: true,
      params: [listOf(str)],
      result: str,
      call: ([a]) => join(a as CelList, ''),
      cost: ofResult,
    },
    {
      id: 'list_join_string',
      member: true,
      params: [listOf(str), str],
      result: str,
      call: ([a, b]) => join(a as CelList, text(b)),
      cost: ofResult,
    },
  ]),
]
