/**
 * A cursor in JSON text, with the steps of a reader.
 *
 * The text is held twice: as a string, because comparing and slicing strings is native and fast, and with one byte per
 * character, because reading single characters is many times faster in an array of bytes. Characters beyond Latin-1 are
 * 0xff there: JSON syntax has no character above 0x7f, so none is mistaken for it.
 *
 * Everything that is read is validated as strictly as by `JSON.parse`. In values that {@link Cursor.skipValue} skips, only
 * closed strings and brackets are checked.
 */
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Json, parseJson } from '../../kube/json.ts'

export const quote = 0x22
const comma = 0x2c
export const colon = 0x3a
export const openArray = 0x5b
export const closeArray = 0x5d
export const openObject = 0x7b
export const closeObject = 0x7d
export const backslash = 0x5c
const plus = 0x2b
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const upperE = 0x45
const lowerE = 0x65

/** Codes that are special inside a string: the quote, the backslash and the characters that JSON forbids there. */
const endsRun = new Uint8Array(256)
endsRun.fill(1, 0, 0x20)
endsRun[quote] = 1
endsRun[backslash] = 1

/** Codes that are special while a value is skipped. */
const isBracket = new Uint8Array(256)
for (const code of [0, quote, openArray, closeArray, openObject, closeObject]) isBracket[code] = 1

/** A larger buffer is released after its text. */
const keptBytes = 1 << 18

const none: readonly string[] = []
const encoder = new TextEncoder()

export class Cursor {
  /** The range to read; positions count from its beginning. */
  text = ''
  /** One code per character, then a 0. */
  codes: Buffer = Buffer.alloc(keptBytes >> 3)
  /** The position of the next character. */
  at = 0
  isAscii = true
  /** Whether the last skipped string contains an escape. */
  hasEscape = false
  #source = ''
  #start = 0

  /** Moves to the beginning of a range. Moving back within the loaded range costs nothing. */
  load(source: string, start: number, end: number): void {
    this.at = 0
    if (start === this.#start && end - start === this.text.length && source === this.#source) return
    const text = end - start === source.length ? source : source.slice(start, end)
    const { length } = text
    if (this.codes.length < length + 4) this.codes = Buffer.alloc(Math.max(length + 4, 2 * this.codes.length))
    // Four bytes more than characters: if the text fits at one byte per character, it is ASCII.
    this.isAscii = encoder.encodeInto(text, this.codes).written === length
    if (!this.isAscii) {
      for (let index = 0; index < length; index++) this.codes[index] = Math.min(text.charCodeAt(index), 0xff)
    }
    this.codes[length] = 0
    this.text = text
    this.#source = source
    this.#start = start
  }

  /** Releases the text, so that the whole response is not kept alive. */
  unload(): void {
    this.text = ''
    this.#source = ''
    if (this.codes.length > keptBytes) this.codes = Buffer.alloc(keptBytes >> 3)
  }

  /** The code of the next token. */
  token(): number {
    let code = this.codes[this.at]!
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = this.codes[++this.at]!
    return code
  }

  expect(code: number): void {
    if (this.token() !== code) this.fail()
    this.at++
  }

  /** Checks that the text ends here. */
  end(): void {
    if (this.token() !== 0 || this.at !== this.text.length) this.fail()
  }

  /** From the end of a member or item to the next one, or to the closing bracket. */
  next(close: number): number {
    const code = this.token()
    if (code === close) return close
    if (code !== comma) this.fail()
    this.at++
    const after = this.token()
    if (after === close) this.fail()
    return after
  }

  /**
   * Enters an object: returns its first key, with the cursor before the value; undefined, with the cursor after the object,
   * if it is empty. A key in `expected` is returned as that very string; any other is a slice of the text.
   */
  firstKey(expected: readonly string[] = none): string | undefined {
    this.expect(openObject)
    return this.#key(this.token(), expected)
  }

  /** The key of the next member; undefined, with the cursor after the object, if there is none. */
  nextKey(expected: readonly string[] = none): string | undefined {
    return this.#key(this.next(closeObject), expected)
  }

  #key(code: number, expected: readonly string[]): string | undefined {
    if (code === closeObject) {
      this.at++
      return undefined
    }
    if (code !== quote) this.fail()
    for (const key of expected) {
      if (!this.skipKey(key)) continue
      this.expect(colon)
      return key
    }
    const start = this.at
    const end = this.skipString()
    const key = this.hasEscape ? this.parseString(start, end) : this.text.slice(start + 1, end)
    this.expect(colon)
    return key
  }

  /** Skips the next string if it is this key, written without escapes. */
  skipKey(key: string): boolean {
    const codes = this.codes
    const start = this.at + 1
    const { length } = key
    if (codes[start + length] !== quote || codes[this.at] !== quote) return false
    for (let index = 0; index < length; index++) {
      const code = codes[start + index]!
      if (code !== key.charCodeAt(index) || endsRun[code] !== 0 || code === 0xff) return false
    }
    this.at = start + length + 1
    return true
  }

  /** Skips exactly this text. */
  skipText(text: string): boolean {
    const end = this.at + text.length
    if (this.text.slice(this.at, end) !== text) return false
    this.at = end
    return true
  }

  /** From the opening quote to after the closing one. Returns the position of the latter. */
  skipString(): number {
    const codes = this.codes
    let at = this.at + 1
    this.hasEscape = false
    for (;;) {
      while (endsRun[codes[at]!] === 0) at++
      const code = codes[at]!
      if (code === quote) break
      if (code !== backslash) return this.#failAt(at)
      this.hasEscape = true
      at += 2
    }
    this.at = at + 1
    return at
  }

  /** Skips the next value. */
  skipValue(): void {
    const code = this.token()
    if (code === quote) this.skipString()
    else if (code === openObject || code === openArray) this.#skipBrackets()
    else this.readScalar()
  }

  #skipBrackets(): void {
    const codes = this.codes
    let depth = 0
    let at = this.at
    for (;;) {
      while (isBracket[codes[at]!] === 0) at++
      const code = codes[at++]!
      if (code === quote) {
        for (;;) {
          while (endsRun[codes[at]!] === 0) at++
          if (codes[at++] === quote) break
          if (codes[at - 1] !== backslash) return this.#failAt(at - 1)
          at++
        }
      } else if (code === openObject || code === openArray) depth++
      else if (code === 0) return this.#failAt(at - 1)
      else if (--depth === 0) break
    }
    this.at = at
  }

  /** A number, true, false or null. Integers too long for a number are bigints. */
  readScalar(): number | bigint | boolean | null {
    switch (this.codes[this.at]) {
      case 0x74:
        return this.#readWord('true', true)
      case 0x66:
        return this.#readWord('false', false)
      case 0x6e:
        return this.#readWord('null', null)
      default:
        return this.#readNumber()
    }
  }

  #readWord<T>(word: string, value: T): T {
    if (!this.skipText(word)) this.fail()
    return value
  }

  #readNumber(): number | bigint {
    const codes = this.codes
    const start = this.at
    let at = start
    if (codes[at] === minus) at++
    const first = at
    let value = 0
    for (let code = codes[at]!; code >= zero && code <= nine; code = codes[++at]!) value = value * 10 + (code - zero)
    this.at = at
    const digits = at - first
    if (digits === 0 || (digits > 1 && codes[first] === zero)) this.fail()
    const next = codes[at]!
    if (next === point || next === lowerE || next === upperE) return this.#readFraction(start)
    if (digits < 16) return first === start ? value : -value
    return this.parse(start, at) as number | bigint
  }

  /** After the integer: a fraction, an exponent or both. */
  #readFraction(start: number): number {
    if (this.codes[this.at] === point) {
      this.at++
      this.#skipDigits()
    }
    if (this.codes[this.at] === lowerE || this.codes[this.at] === upperE) {
      this.at++
      if (this.codes[this.at] === minus || this.codes[this.at] === plus) this.at++
      this.#skipDigits()
    }
    return Number(this.text.slice(start, this.at))
  }

  #skipDigits(): void {
    const start = this.at
    while (this.codes[this.at]! >= zero && this.codes[this.at]! <= nine) this.at++
    if (this.at === start) this.fail()
  }

  /** The parsed value between two positions. Its strings are copies: they do not keep the text alive. */
  parse(start: number, end: number): Json {
    try {
      return parseJson(this.text.slice(start, end))
    } catch {
      return this.#failAt(start)
    }
  }

  /** The string whose quotes are at these positions. */
  parseString(opening: number, closing: number): string {
    try {
      return JSON.parse(this.text.slice(opening, closing + 1)) as string
    } catch {
      return this.#failAt(opening)
    }
  }

  /** A copy of these characters, all of them ASCII. */
  copy(start: number, end: number): string {
    return this.codes.toString('latin1', start, end)
  }

  #failAt(at: number): never {
    this.at = at
    this.fail()
  }

  /** The text itself is not quoted: it may be a Secret. */
  fail(): never {
    const where = this.at >= this.text.length ? 'it ends too early' : `position ${this.at} of ${this.text.length}`
    this.unload()
    throw new MusterError(clientErrors.ProtocolError, `the server sent text that is no proper JSON object: ${where}.`)
  }
}

/** Decoding is synchronous, so all decoders share one cursor. */
export const cursor: Cursor = new Cursor()
