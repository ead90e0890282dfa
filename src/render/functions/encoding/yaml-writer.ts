/**
 * YAML exactly as Go's encoder writes it, because rendered manifests are compared byte by byte. Two dialects: that of `toYaml`
 * (numbers by way of JSON, lists not indented) and that of `toYamlPretty` (floats as Go prints them, lists indented).
 */
import { compareKeys } from '../../../kube/yaml/key-order.ts'
import { formatGoFloat } from '../../../kube/go/go-text.ts'
import { parseGoInteger, fitsInt64, fitsUint64 } from '../../template/literals.ts'
import { GoError } from '../../template/go-error.ts'
import { byteLength, isAscii, validText } from '../../template/text-bytes.ts'
import { GoInteger, GoObject, isNilList, isNilMap, type GoMap } from '../../template/values.ts'
import { jsonNumber } from './json-writer.ts'

interface YamlStyle {
  /** Whether lists in maps are indented, and floats keep their exponent. */
  readonly isPretty: boolean
}

/** Deeper values contain themselves. */
const deepest = 1000

/** @throws GoError for values that have no YAML */
export function writeHelmYaml(value: unknown, { isPretty }: YamlStyle): string {
  return new Writer(isPretty).document(value)
}

class Writer {
  readonly #isPretty: boolean
  #parts: string[] = []
  #depth = 0

  constructor(isPretty: boolean) {
    this.#isPretty = isPretty
  }

  document(value: unknown): string {
    const node = this.#plain(value)
    if (isBlockMap(node)) this.#map(node, 0, '')
    else if (isBlockList(node)) this.#list(node, 0, '')
    else this.#parts.push(this.#scalar(node, 0, 0), '\n')
    return this.#parts.join('')
  }

  /** A value by its kind. Pretty dates stand without quotes. */
  #plain(value: unknown): unknown {
    return this.#isPretty && value instanceof GoObject && value.type === 'time.Time' ? value : plain(value)
  }

  #deeper(): void {
    if (++this.#depth > deepest) throw new GoError('json: unsupported value: encountered a cycle')
  }

  /** @param first what precedes the first key on its line, if it is not the indentation */
  #map(map: GoMap, indent: number, first: string | undefined): void {
    this.#deeper()
    const padding = ' '.repeat(indent)
    let lead = first ?? padding
    for (const key of Object.keys(map).toSorted(compareKeys)) {
      const text = validText(key)
      const isSimple = byteLength(text) <= 128 && !hasBreak(text)
      const shown = isSimple
        ? this.#text(text, indent, undefined)
        : `? ${this.#text(text, indent, indent + 2)}\n${padding}`
      this.#parts.push(lead, shown, ':')
      this.#value(this.#plain(map[key]), indent, isSimple ? indent + lengthOf(shown) + 2 : indent + 2)
      lead = padding
    }
    this.#depth--
  }

  #value(node: unknown, indent: number, column: number): void {
    if (isBlockMap(node)) {
      this.#parts.push('\n')
      this.#map(node, indent + 2, undefined)
    } else if (isBlockList(node)) {
      this.#parts.push('\n')
      this.#list(node, this.#isPretty ? indent + 2 : indent, undefined)
    } else this.#parts.push(' ', this.#scalar(node, indent, column), '\n')
  }

  #list(list: readonly unknown[], indent: number, first: string | undefined): void {
    this.#deeper()
    const padding = ' '.repeat(indent)
    let lead = first ?? padding
    for (const item of list) {
      const node = this.#plain(item)
      this.#parts.push(lead, '- ')
      if (isBlockMap(node)) this.#map(node, indent + 2, '')
      else if (isBlockList(node)) this.#list(node, indent + 2, '')
      else this.#parts.push(this.#scalar(node, indent, indent + 2), '\n')
      lead = padding
    }
    this.#depth--
  }

  #scalar(node: unknown, indent: number, column: number): string {
    switch (typeof node) {
      case 'string':
        return this.#text(validText(node), indent, column)
      case 'number':
        return this.#number(node)
      case 'bigint':
      case 'boolean':
        return String(node)
      default:
        if (node === null || node === undefined) return 'null'
        if (node instanceof GoObject) return String(node.json)
        return Array.isArray(node) ? '[]' : '{}'
    }
  }

  #number(value: number): string {
    if (!Number.isFinite(value) && this.#isPretty) {
      return Number.isNaN(value) ? '.nan' : value > 0 ? '.inf' : '-.inf'
    }
    if (this.#isPretty) return formatGoFloat(value)
    const text = jsonNumber(value)
    if (!/^-?\d+$/.test(text)) return formatGoFloat(value)
    if (text === '-0') return '0'
    const whole = BigInt(text)
    return fitsInt64(whole) || fitsUint64(whole) ? text : formatGoFloat(value)
  }

  /** @param column where it begins on its line; a key has none, because it is never folded */
  #text(text: string, indent: number, column: number | undefined): string {
    const style = styleOf(text, column === undefined)
    if (style === 'literal') return literal(text, indent + 2)
    const isFolded = !this.#isPretty && column !== undefined && column + text.length > widest
    if (isFolded) return folded(text, style, column, indent + 2)
    if (style === 'plain') return text
    return style === 'single' ? `'${text.replaceAll("'", "''")}'` : doubleQuoted(text)
  }
}

/** A space beyond this column becomes a line break. */
const widest = 80

function lengthOf(text: string): number {
  return isAscii(text) ? text.length : Array.from(text).length
}

/** Lines are folded at single spaces; in double quotes at the first of several, too. */
function folded(text: string, style: 'plain' | 'single' | 'double', start: number, indent: number): string {
  const quote = { plain: '', single: "'", double: '"' }[style]
  const characters = Array.from(text)
  const last = characters.length - 1
  const padding = `\n${' '.repeat(indent)}`
  let result = quote
  let column = start + quote.length
  let wasSpace = false
  for (const [index, character] of characters.entries()) {
    const isSpace = character === ' '
    const isBeforeSpace = characters[index + 1] === ' '
    const isInside = style === 'plain' || (index > 0 && index < last)
    if (isSpace && !wasSpace && column > widest && isInside && (style === 'double' || !isBeforeSpace)) {
      result += style === 'double' && isBeforeSpace ? `${padding}\\` : padding
      column = style === 'double' && isBeforeSpace ? indent + 1 : indent
    } else {
      const written =
        style === 'double' ? escapedCharacter(character) : style === 'single' && character === "'" ? "''" : character
      result += written
      column += character === written ? 1 : written.length
    }
    wasSpace = isSpace
  }
  return result + quote
}

/** Values by their kinds: what JSON makes of them. */
function plain(value: unknown): unknown {
  if (value instanceof GoInteger) return value.value
  if (value instanceof GoObject) return plain(value.json)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return isNilValue(value) ? null : value
}

function isBlockMap(node: unknown): node is GoMap {
  if (typeof node !== 'object' || node === null || Array.isArray(node) || node instanceof GoObject) return false
  for (const key in node) if (Object.hasOwn(node, key)) return true
  return false
}

function isBlockList(node: unknown): node is readonly unknown[] {
  return Array.isArray(node) && node.length > 0
}

function isNilValue(node: unknown): boolean {
  return isNilList(node) || (typeof node === 'object' && node !== null && isNilMap(node as GoMap))
}

function hasBreak(text: string): boolean {
  return /[\r\n\u{85}\u{2028}\u{2029}]/u.test(text)
}

/** Characters that are escaped in double quotes: also all beyond 16 bits. */
const special = /[^\n\x20-\x7e\u{a0}-\u{d7ff}\u{e000}-\u{fefe}\u{ff00}-\u{fffd}]/u

type Style = 'plain' | 'single' | 'double' | 'literal'

function styleOf(text: string, isKey: boolean): Style {
  if (text === '') return 'double'
  // Most text by far: letters first, and nothing that could be anything else.
  if (/^[A-Za-z][\w./-]*$/.test(text)) return reserved.has(text) ? 'double' : 'plain'
  const isSpecial = special.test(text)
  const isMultiline = hasBreak(text)
  const isSpaceBreak = / [\r\n\u{85}\u{2028}\u{2029}]/u.test(text)
  if (text.includes('\n')) {
    const isBlock = !isKey && !isSpecial && !isSpaceBreak && !text.endsWith(' ')
    return isBlock ? 'literal' : 'double'
  }
  if (!isStringPlain(text) || (isKey && isMultiline)) return 'double'
  if (!isSpecial && !isMultiline && !text.startsWith(' ') && !text.endsWith(' ') && !hasIndicator(text)) return 'plain'
  const isBreakSpace = /[\r\n\u{85}\u{2028}\u{2029}] /u.test(text)
  return isSpecial || isSpaceBreak || isBreakSpace ? 'double' : 'single'
}

/** Whether plain text would be read as something else than this text. */
function hasIndicator(text: string): boolean {
  if (text.startsWith('---') || text.startsWith('...')) return true
  if (/^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[?:-](?:[ \t]|$)/.test(text)) return true
  return /:(?:[ \t]|$)/.test(text) || /[ \t\r\n\0\u{85}\u{2028}\u{2029}]#/u.test(text)
}

const reserved: ReadonlySet<string> = new Set(
  (
    'y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF ~ null Null NULL ' +
    '.nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF'
  ).split(' '),
)

const yamlFloat = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/
const date = /^\d{4}-\d{1,2}-\d{1,2}$/
const dateTime =
  /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)| \d{1,2}:\d{1,2}:\d{1,2}(?:[.,]\d+)?)$/

/** Whether a reader of YAML 1.1 takes the text for text. */
function isStringPlain(text: string): boolean {
  if (reserved.has(text)) return false
  const first = text[0]!
  if (first === '.') return !/^\.\d/.test(text) || !yamlFloat.test(text.replaceAll('_', '!'))
  if (!/[-+0-9]/.test(first)) return true
  if (isTimestamp(text)) return false
  const digits = text.replaceAll('_', '')
  const integer = parseGoInteger(digits)
  if (integer !== undefined && (fitsInt64(integer) || (fitsUint64(integer) && !/^[+-]/.test(digits)))) return false
  if (yamlFloat.test(digits) && Number.isFinite(Number(digits))) return false
  return !base60.test(text)
}

function isTimestamp(text: string): boolean {
  if (!date.test(text) && !dateTime.test(text)) return false
  const [year, month, day] = text.split(/[-Tt ]/, 3).map(Number) as [number, number, number]
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate()
  if (month < 1 || month > 12 || day < 1 || day > days) return false
  const time = /[Tt ](\d+):(\d+):(\d+)/.exec(text)
  return !time || (Number(time[1]) < 24 && Number(time[2]) < 60 && Number(time[3]) < 60)
}

const escapes: Readonly<Record<string, string>> = {
  '\0': '0',
  '\u{7}': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\u{1b}': 'e',
  '"': '"',
  '\\': '\\',
  '\u{85}': 'N',
  '\u{a0}': '_',
  '\u{2028}': 'L',
  '\u{2029}': 'P',
}

function doubleQuoted(text: string): string {
  return `"${Array.from(text, escapedCharacter).join('')}"`
}

function escapedCharacter(character: string): string {
  const isEscaped = character === '"' || character === '\\' || hasBreak(character) || special.test(character)
  if (!isEscaped) return character
  const escape = escapes[character]
  if (escape !== undefined) return `\\${escape}`
  const hex = character.codePointAt(0)!.toString(16).toUpperCase()
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

/** A literal block: ends without its last line break, which the caller writes. */
function literal(text: string, indent: number): string {
  const hint = text.startsWith(' ') || text.startsWith('\n') ? '2' : ''
  const chomp = !text.endsWith('\n') ? '-' : text === '\n' || text.endsWith('\n\n') ? '+' : ''
  const padding = ' '.repeat(indent)
  const lines = text.split('\n')
  if (text.endsWith('\n')) lines.pop()
  return `|${hint}${chomp}\n${lines.map((line) => (line === '' ? '' : padding + line)).join('\n')}`
}
