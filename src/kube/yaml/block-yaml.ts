/**
 * Reads the YAML that manifests mostly consist of, in a third of the parser's time: block mappings and sequences, scalars and
 * flow collections of one line, literal blocks, comments. Everything else, errors included, is left to the parser.
 */
import type { Json } from '../json.ts'

/** What a scalar without quotes stands for; undefined if the parser must decide. */
type ResolvePlain = (text: string) => Json | undefined

/** Deeper documents are left to the parser, which has a limit of its own. */
const deepest = 100

/** Control characters, tabs, line breaks other than `\n`, and marks of byte order. */
const unusual = /[^\n\x20-\x7e\u00a1-\u1fff\u2030-\ud7ff]/
const marker = /^(?:---|\.\.\.|%)/m

/** One document without markers; undefined if it is not of the usual form. */
export function readBlockYaml(text: string, resolvePlain: ResolvePlain): Json | undefined {
  if (unusual.test(text) || marker.test(text)) return undefined
  const reader = new BlockReader(text, resolvePlain)
  try {
    return reader.document()
  } catch (error) {
    if (error === notUsual) return undefined
    throw error
  }
}

const notUsual = Symbol('not the usual form')

function giveUp(): never {
  // oxlint-disable-next-line only-throw-error -- control flow: it never leaves this file, and needs no stack.
  throw notUsual
}

const keyName = /[A-Za-z_][\w./-]*/y
const flowPlain = /(?:[A-Za-z0-9_/.$(+~^=;\\]|-(?=[\w/.$(]))(?:[^,[\]{}:#\n]|:(?=[\w/.-]))*/y
const flowQuoted = /"([^"\\\n]*)"|'([^'\n]*)'/y
const simpleQuoted = /^(?:"([^"\\]*)"|'([^']*)') *(?: #.*)?$/
const plainStart = /^(?:[A-Za-z0-9_/.$(+~^=;\\]|-[^ ])/

class BlockReader {
  readonly #text: string
  readonly #resolvePlain: ResolvePlain
  /** Where the content of the current line begins, and its column. */
  #start = 0
  #indent = -1
  #end = -1
  #depth = 0

  constructor(text: string, resolvePlain: ResolvePlain) {
    this.#text = text
    this.#resolvePlain = resolvePlain
  }

  document(): Json | undefined {
    this.#advance()
    if (this.#indent < 0) return undefined
    const value = this.#block(this.#indent)
    return this.#indent < 0 ? value : giveUp()
  }

  /** To the next line that is neither blank nor a comment; the indentation is -1 at the end. */
  #advance(): void {
    for (;;) {
      const lineStart = this.#end + 1
      if (lineStart >= this.#text.length) {
        this.#indent = -1
        return
      }
      let at = lineStart
      while (this.#text.charCodeAt(at) === space) at++
      const unit = this.#text.charCodeAt(at)
      const end = this.#text.indexOf('\n', at)
      this.#end = end < 0 ? this.#text.length : end
      if (unit === lineBreak || unit === hash || at >= this.#text.length) continue
      this.#start = at
      this.#indent = at - lineStart
      return
    }
  }

  #isItem(): boolean {
    if (this.#text.charCodeAt(this.#start) !== dash) return false
    const next = this.#start + 1
    return next === this.#end || this.#text.charCodeAt(next) === space
  }

  #block(indent: number): Json {
    if (++this.#depth > deepest) giveUp()
    const value = this.#isItem() ? this.#sequence(indent) : this.#mapping(indent)
    this.#depth--
    return value
  }

  /** The position after the name of a key and before its colon; 0 if there is no key. */
  #keyEnd(): number {
    keyName.lastIndex = this.#start
    if (!keyName.test(this.#text) || this.#text.charCodeAt(keyName.lastIndex) !== colon) return 0
    const next = keyName.lastIndex + 1
    return next === this.#end || this.#text.charCodeAt(next) === space ? keyName.lastIndex : 0
  }

  /** A key that the map does not have; the position moves to its value. */
  #key(map: Readonly<Record<string, Json>>): string {
    const end = this.#keyEnd()
    if (end === 0) giveUp()
    const name = this.#text.slice(this.#start, end)
    if (name === '__proto__' || Object.hasOwn(map, name) || this.#resolvePlain(name) !== name) giveUp()
    this.#start = end + 1
    this.#skipSpaces()
    return name
  }

  #mapping(indent: number): Json {
    const map: Record<string, Json> = {}
    while (this.#indent === indent) {
      const name = this.#key(map)
      map[name] = this.#value(indent, true)
    }
    return this.#indent < indent ? map : giveUp()
  }

  #sequence(indent: number): Json {
    const list: Json[] = []
    while (this.#indent === indent && this.#isItem()) {
      let at = this.#start + 1
      while (this.#text.charCodeAt(at) === space) at++
      const column = indent + at - this.#start
      this.#start = at
      if (at < this.#end && (this.#isItem() || this.#keyEnd() > 0)) {
        this.#indent = column
        list.push(this.#block(column))
      } else list.push(this.#value(indent, false))
    }
    return this.#indent <= indent ? list : giveUp()
  }

  /** The rest of the line, or the lines below it. */
  #value(indent: number, isMember: boolean): Json {
    const text = this.#text.slice(this.#start, this.#end)
    if (text === '' || text.charCodeAt(0) === hash) {
      this.#advance()
      if (this.#indent > indent) return this.#block(this.#indent)
      return isMember && this.#indent === indent && this.#isItem() ? this.#block(indent) : null
    }
    if (text.charCodeAt(0) === bar) return this.#literal(text, indent)
    const value = this.#scalar(text)
    this.#advance()
    return this.#indent > indent ? giveUp() : value
  }

  #scalar(text: string): Json {
    if (plainStart.test(text)) {
      const comment = text.indexOf(' #')
      const plain = (comment < 0 ? text : text.slice(0, comment)).trimEnd()
      if (plain.includes(': ') || plain.endsWith(':')) giveUp()
      const value = this.#resolvePlain(plain)
      return value === undefined ? giveUp() : value
    }
    const quoted = simpleQuoted.exec(text)
    if (quoted) return quoted[1] ?? quoted[2]!
    const value = text.startsWith('{') || text.startsWith('[') ? this.#flow() : giveUp()
    const end = this.#start
    this.#skipSpaces()
    const isComment = this.#start > end && this.#text.charCodeAt(this.#start) === hash
    return isComment || this.#start === this.#end ? value : giveUp()
  }

  /** A flow collection, or a scalar in one, from the current position on, which it moves. */
  #flow(): Json {
    const unit = this.#text.charCodeAt(this.#start)
    if (unit === openBrace) return this.#flowMapping()
    if (unit === openBracket) return this.#flowSequence()
    flowPlain.lastIndex = this.#start
    const plain = flowPlain.exec(this.#text)?.[0]
    if (plain !== undefined) {
      this.#start = flowPlain.lastIndex
      const value = this.#resolvePlain(plain.trimEnd())
      return value === undefined ? giveUp() : value
    }
    flowQuoted.lastIndex = this.#start
    const quoted = flowQuoted.exec(this.#text)
    if (!quoted) return giveUp()
    this.#start = flowQuoted.lastIndex
    return quoted[1] ?? quoted[2]!
  }

  #flowMapping(): Json {
    if (++this.#depth > deepest) giveUp()
    const map: Record<string, Json> = {}
    for (let isFirst = true; !this.#closes(closeBrace, isFirst); isFirst = false) {
      const name = this.#key(map)
      map[name] = this.#flow()
    }
    this.#depth--
    return map
  }

  #flowSequence(): Json {
    if (++this.#depth > deepest) giveUp()
    const list: Json[] = []
    for (let isFirst = true; !this.#closes(closeBracket, isFirst); isFirst = false) list.push(this.#flow())
    this.#depth--
    return list
  }

  /** Whether a flow collection ends here; if not, the position moves to its next element. */
  #closes(end: number, isFirst: boolean): boolean {
    if (isFirst) this.#start++
    this.#skipSpaces()
    if (this.#text.charCodeAt(this.#start) === end) {
      this.#start++
      return true
    }
    if (isFirst) return false
    if (this.#text.charCodeAt(this.#start) !== comma) giveUp()
    this.#start++
    this.#skipSpaces()
    return false
  }

  #skipSpaces(): void {
    while (this.#text.charCodeAt(this.#start) === space) this.#start++
  }

  /** `|` and `|-`. */
  #literal(header: string, indent: number): string {
    if (header !== '|' && header !== '|-') giveUp()
    const lines: string[] = []
    let depth = -1
    let next = this.#end + 1
    while (next < this.#text.length) {
      let at = next
      while (this.#text.charCodeAt(at) === space) at++
      const found = this.#text.indexOf('\n', at)
      const end = found < 0 ? this.#text.length : found
      if (at === end) {
        if (depth < 0 && at > next) giveUp()
        lines.push(this.#text.slice(Math.min(next + Math.max(depth, 0), end), end))
      } else {
        const column = at - next
        if (depth < 0) depth = column
        if (column < depth || depth <= indent) break
        lines.push(this.#text.slice(next + depth, end))
      }
      this.#end = end
      next = end + 1
    }
    if (depth <= indent) giveUp()
    // Trailing blank lines do not count; one of spaces beyond the indentation is text.
    while (lines.at(-1) === '') lines.pop()
    this.#advance()
    if (this.#indent > indent) giveUp()
    return lines.join('\n') + (header === '|' ? '\n' : '')
  }
}

const lineBreak = 0x0a
const space = 0x20
const hash = 0x23
const dash = 0x2d
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const bar = 0x7c
const closeBrace = 0x7d
