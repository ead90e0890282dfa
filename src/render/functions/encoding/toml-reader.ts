/** TOML 1.0. */
import { quoteGo } from '../../../kube/go/go-text.ts'
import { GoError } from '../../template/go-error.ts'
import { type GoMap, hasMember, int64, isMap, setMapMember, withType } from '../../template/values.ts'
import { instantFrom, timeObject } from '../time/go-time.ts'
import { parseLayout } from '../time/time-layout.ts'
import type { LocalZone } from './toml-writer.ts'

const tableListType = '[]map[string]interface {}'
const deepest = 500

/** @throws GoError */
export function readToml(text: string): GoMap {
  return new Reader(text.replaceAll('\r\n', '\n')).document()
}

class Reader {
  readonly #text: string
  readonly #root: GoMap = {}
  /** Tables that have a header of their own, and inline values: they are not extended. */
  readonly #closed = new Set<unknown>()
  #at = 0
  #lastKey = ''

  constructor(text: string) {
    this.#text = text
  }

  document(): GoMap {
    let table = this.#root
    for (;;) {
      this.#blank()
      const character = this.#text[this.#at]
      if (character === undefined) return this.#root
      if (character === '[') table = this.#header()
      else this.#pair(table)
      this.#lineEnd()
    }
  }

  #fail(problem: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length
    const key = this.#lastKey === '' ? '' : ` (last key ${quoteGo(this.#lastKey)})`
    throw new GoError(`toml: line ${line}${key}: ${problem}`)
  }

  #spaces(): void {
    while (this.#text[this.#at] === ' ' || this.#text[this.#at] === '\t') this.#at++
  }

  #comment(): void {
    if (this.#text[this.#at] !== '#') return
    const end = this.#text.indexOf('\n', this.#at)
    this.#at = end < 0 ? this.#text.length : end
  }

  /** Spaces, comments and line breaks. */
  #blank(): void {
    for (;;) {
      this.#spaces()
      this.#comment()
      if (this.#text[this.#at] !== '\n') return
      this.#at++
    }
  }

  #lineEnd(): void {
    this.#spaces()
    this.#comment()
    const character = this.#text[this.#at]
    if (character === undefined || character === '\n') return
    this.#fail(`expected a top-level item to end with a newline, comment, or EOF, but got '${character}' instead`)
  }

  #header(): GoMap {
    const isGoList = this.#text.startsWith('[[', this.#at)
    this.#at += isGoList ? 2 : 1
    const path = this.#path()
    const close = isGoList ? ']]' : ']'
    if (!this.#text.startsWith(close, this.#at)) this.#fail(`expected '.' or ']' to end table name`)
    this.#at += close.length
    this.#lastKey = path.join('.')
    const parent = this.#descend(this.#root, path.slice(0, -1))
    const name = path.at(-1)!
    const known = hasMember(parent, name) ? parent[name] : undefined
    if (isGoList) return this.#addToList(parent, name, known)
    if (known === undefined) return this.#newTable(parent, name)
    if (!isMap(known) || this.#closed.has(known)) this.#fail(`Key '${this.#lastKey}' has already been defined.`)
    this.#closed.add(known)
    return known
  }

  #newTable(parent: GoMap, name: string): GoMap {
    const table: GoMap = {}
    setMapMember(parent, name, table)
    this.#closed.add(table)
    return table
  }

  #addToList(parent: GoMap, name: string, known: unknown): GoMap {
    const table: GoMap = {}
    if (known === undefined) setMapMember(parent, name, withType([table], tableListType))
    else if (Array.isArray(known) && !this.#closed.has(known)) known.push(table)
    else this.#fail(`Key '${this.#lastKey}' has already been defined.`)
    return table
  }

  /** The table at the path; the last one of a list of tables. */
  #descend(start: GoMap, path: readonly string[]): GoMap {
    let table = start
    for (const name of path) {
      const known = hasMember(table, name) ? table[name] : undefined
      const next: unknown = Array.isArray(known) && !this.#closed.has(known) ? known.at(-1) : known
      if (next === undefined) {
        const created: GoMap = {}
        setMapMember(table, name, created)
        table = created
      } else if (isMap(next)) table = next
      else this.#fail(`Key '${path.join('.')}' has already been defined.`)
    }
    return table
  }

  #path(): string[] {
    const path: string[] = []
    for (;;) {
      this.#spaces()
      path.push(this.#key())
      this.#spaces()
      if (this.#text[this.#at] !== '.') return path
      this.#at++
      if (path.length > deepest) this.#fail('the key has too many parts')
    }
  }

  #key(): string {
    const character = this.#text[this.#at]
    if (character === '"' || character === "'") return this.#string()
    const found = /^[A-Za-z0-9_-]+/.exec(this.#text.slice(this.#at, this.#at + 1000))?.[0]
    if (found === undefined) {
      this.#fail(character === undefined ? 'unexpected EOF; expected key' : `unexpected '${character}' in key`)
    }
    this.#at += found.length
    return found
  }

  #pair(target: GoMap): void {
    const path = this.#path()
    this.#lastKey = path.join('.')
    if (this.#text[this.#at] !== '=') {
      this.#fail(`expected '.' or '=', but got ${this.#shown()} instead`)
    }
    this.#at++
    this.#spaces()
    const value = this.#value(0)
    const table = this.#descend(target, path.slice(0, -1))
    const name = path.at(-1)!
    if (hasMember(table, name)) this.#fail(`Key '${this.#lastKey}' has already been defined.`)
    setMapMember(table, name, value)
  }

  #shown(): string {
    const character = this.#text[this.#at]
    return character === undefined ? 'EOF' : `'${JSON.stringify(character).slice(1, -1)}'`
  }

  #value(depth: number): unknown {
    if (depth > deepest) this.#fail('the value is nested too deeply')
    const character = this.#text[this.#at]
    if (character === '"' || character === "'") return this.#string()
    if (character === '[') return this.#list(depth)
    if (character === '{') return this.#inlineTable(depth)
    const found = /^[^\s,\]}#]+(?: \d\d:\d\d[^\s,\]}#]*)?/.exec(this.#text.slice(this.#at, this.#at + 200))?.[0]
    if (found === undefined) return this.#fail(`expected value but found ${this.#shown()} instead`)
    const value = scalar(found)
    if (value === undefined) return this.#fail(`expected value but found ${quoteGo(found)} instead`)
    this.#at += found.length
    return value
  }

  #list(depth: number): unknown[] {
    const items: unknown[] = []
    this.#closed.add(items)
    this.#at++
    for (;;) {
      this.#blank()
      if (this.#text[this.#at] === ']') {
        this.#at++
        const isTables = items.length > 0 && items.every(isMap)
        return isTables ? withType(items, tableListType) : items
      }
      items.push(this.#value(depth + 1))
      this.#blank()
      if (this.#text[this.#at] === ',') this.#at++
      else if (this.#text[this.#at] !== ']') {
        this.#fail(`expected a comma (',') or array terminator (']'), but got ${this.#shown()}`)
      }
    }
  }

  #inlineTable(depth: number): GoMap {
    const table: GoMap = {}
    this.#closed.add(table)
    this.#at++
    this.#blank()
    while (this.#text[this.#at] !== '}') {
      const path = this.#path()
      if (this.#text[this.#at] !== '=') this.#fail(`expected '.' or '=', but got ${this.#shown()} instead`)
      this.#at++
      this.#spaces()
      const value = this.#value(depth + 1)
      const parent = this.#descend(table, path.slice(0, -1))
      if (hasMember(parent, path.at(-1)!)) this.#fail(`Key '${path.join('.')}' has already been defined.`)
      setMapMember(parent, path.at(-1)!, value)
      this.#blank()
      if (this.#text[this.#at] === ',') {
        this.#at++
        this.#blank()
      } else if (this.#text[this.#at] !== '}') {
        this.#fail(`expected a comma or an inline table terminator '}', but got ${this.#shown()} instead`)
      }
    }
    this.#at++
    return table
  }

  #string(): string {
    const quote = this.#text[this.#at]!
    const isLong = this.#text.startsWith(quote.repeat(3), this.#at)
    const mark = isLong ? quote.repeat(3) : quote
    this.#at += mark.length
    if (isLong && this.#text[this.#at] === '\n') this.#at++
    let value = ''
    for (;;) {
      if (this.#text.startsWith(mark, this.#at)) {
        this.#at += mark.length
        // Up to two quotes may precede the closing ones.
        return isLong ? value + this.#moreQuotes(quote) : value
      }
      const character = this.#text[this.#at]
      if (character === undefined) this.#fail(`unexpected EOF; expected '${quote}'`)
      if (character === '\n' && !isLong) this.#fail('strings cannot contain newlines')
      if (character === '\\' && quote === '"') value += this.#escape(isLong)
      else {
        value += character
        this.#at++
      }
    }
  }

  #moreQuotes(quote: string): string {
    let more = ''
    while (more.length < 2 && this.#text[this.#at] === quote) {
      more += quote
      this.#at++
    }
    return more
  }

  #escape(isLong: boolean): string {
    const letter = this.#text[this.#at + 1]
    const known = { b: '\b', t: '\t', n: '\n', f: '\f', r: '\r', e: '\u{1b}', '"': '"', '\\': '\\' }[letter ?? '']
    if (known !== undefined) {
      this.#at += 2
      return known
    }
    const length = { x: 2, u: 4, U: 8 }[letter ?? '']
    const hex = this.#text.slice(this.#at + 2, this.#at + 2 + (length ?? 0))
    if (length !== undefined && hex.length === length && /^[0-9a-fA-F]+$/.test(hex)) {
      const code = Number.parseInt(hex, 16)
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        this.#fail(`Escaped character '\\u${hex}' is not valid UTF-8.`)
      this.#at += 2 + length
      return String.fromCodePoint(code)
    }
    let end = this.#at + 1
    while (/[ \t]/.test(this.#text[end] ?? '')) end++
    if (isLong && this.#text[end] === '\n') {
      while (/[ \t\n]/.test(this.#text[end] ?? '')) end++
      this.#at = end
      return ''
    }
    return this.#fail(
      `invalid escape character '${letter ?? ''}'; only the following escape characters are allowed: \\b, \\t, \\n, \\f, \\r, \\", \\\\, \\uXXXX, and \\UXXXXXXXX`,
    )
  }
}

/** Dates and times without a zone are in a zone of this name, by which the writer knows them again. */
const layouts: readonly (readonly [layout: string, zone?: LocalZone])[] = [
  ['2006-01-02T15:04:05Z07:00'],
  ['2006-01-02T15:04:05', 'datetime-local'],
  ['2006-01-02', 'date-local'],
  ['15:04:05', 'time-local'],
  ['2006-01-02T15:04Z07:00'],
  ['2006-01-02T15:04', 'datetime-local'],
  ['15:04', 'time-local'],
]

function scalar(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[+-]?(?:inf|nan)$/.test(text))
    return text.endsWith('nan') ? Number.NaN : text.startsWith('-') ? -Infinity : Infinity
  if (/^\d{4}-\d\d-\d\d|^\d\d:\d\d/.test(text)) return date(text.replace(/[ t]/, 'T').replace('z', 'Z'))
  if (text.startsWith('_') || text.endsWith('_') || /__|_\.|\._|_[eE]|[eE]_/.test(text)) return undefined
  const plain = text.replaceAll('_', '')
  if (/^[+-]?(?:0|[1-9]\d{0,18})$/.test(plain)) return int64(BigInt(plain.replace('+', '')))
  if (/^0(?:x[0-9a-fA-F]{1,16}|o[0-7]{1,21}|b[01]{1,64})$/.test(plain)) return int64(BigInt(plain))
  return /^[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(plain) ? Number(plain) : undefined
}

function date(text: string): unknown {
  for (const [layout, zone] of layouts) {
    try {
      const instant = instantFrom(parseLayout(layout, text), 'UTC')
      return timeObject(zone === undefined ? instant : { ...instant, zone: { seconds: 0, name: zone } })
    } catch (error) {
      if (!(error instanceof GoError)) throw error
    }
  }
  return undefined
}
