/** JSON as Go's decoder reads it: every number a float64, and errors in its words. */
import { quoteGo } from '../../../kube/go/go-text.ts'
import { GoError } from '../../template/go-error.ts'
import { type GoMap, setMapMember } from '../../template/values.ts'

/** Deeper nesting is an error. */
const deepest = 10_000

/** Deep enough for documents, and not too deep for the stack. */
const deepestHere = 2000

/** @throws GoError */
export function readGoJson(text: string): unknown {
  const fast = tryParse(text)
  return fast === undefined ? new Reader(text).document() : fast
}

/** JavaScript agrees with Go about valid documents. */
function tryParse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): unknown {
    const value = this.#value(0)
    this.#space()
    if (this.#at < this.#text.length) this.#invalid('after top-level value')
    return value
  }

  #space(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at++
  }

  #invalid(where: string): never {
    const code = this.#text.codePointAt(this.#at)
    if (code === undefined) throw new GoError('unexpected end of JSON input')
    // The first byte, taken for a character.
    const byte = Buffer.from(String.fromCodePoint(code))[0]!
    throw new GoError(`invalid character ${quoteCharacter(String.fromCharCode(byte))} ${where}`)
  }

  #value(depth: number): unknown {
    if (depth > Math.min(deepest, deepestHere)) throw new GoError('exceeded max depth')
    this.#space()
    const character = this.#text[this.#at]
    if (character === '{') return this.#object(depth)
    if (character === '[') return this.#array(depth)
    if (character === '"') return this.#string()
    if (character === 't') return this.#word('true', true)
    if (character === 'f') return this.#word('false', false)
    if (character === 'n') return this.#word('null', null)
    if (character !== undefined && /[-0-9]/.test(character)) return this.#number()
    return this.#invalid('looking for beginning of value')
  }

  #word(word: string, value: unknown): unknown {
    for (const [index, letter] of Array.from(word).entries()) {
      if (this.#text[this.#at] !== letter) {
        this.#invalid(index === 0 ? 'looking for beginning of value' : `in literal ${word} (expecting '${letter}')`)
      }
      this.#at++
    }
    return value
  }

  #number(): number {
    const start = this.#at
    const isDigit = (): boolean => /[0-9]/.test(this.#text[this.#at] ?? '')
    const digits = (where: string): void => {
      if (!isDigit()) this.#invalid(where)
      while (isDigit()) this.#at++
    }
    if (this.#text[this.#at] === '-') this.#at++
    if (this.#text[this.#at] === '0') this.#at++
    else digits('in numeric literal')
    if (this.#text[this.#at] === '.') {
      this.#at++
      digits('after decimal point in numeric literal')
    }
    if (/[eE]/.test(this.#text[this.#at] ?? '')) {
      this.#at++
      if (/[+-]/.test(this.#text[this.#at] ?? '')) this.#at++
      digits('in exponent of numeric literal')
    }
    return Number(this.#text.slice(start, this.#at))
  }

  #string(): string {
    const start = this.#at++
    for (;;) {
      const character = this.#text[this.#at]
      if (character === undefined) throw new GoError('unexpected end of JSON input')
      if (character < ' ') this.#invalid('in string literal')
      this.#at++
      if (character === '"') return JSON.parse(this.#text.slice(start, this.#at)) as string
      if (character !== '\\') continue
      const escape = this.#text[this.#at]
      if (escape === 'u') {
        this.#at++
        for (let count = 0; count < 4; count++, this.#at++) {
          if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? ''))
            this.#invalid(String.raw`in \u hexadecimal character escape`)
        }
      } else if (escape !== undefined && 'bfnrt\\/"'.includes(escape)) this.#at++
      else this.#invalid('in string escape code')
    }
  }

  #array(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at++
    this.#space()
    if (this.#text[this.#at] === ']') {
      this.#at++
      return items
    }
    for (;;) {
      items.push(this.#value(depth + 1))
      this.#space()
      const next = this.#text[this.#at]
      if (next !== ',' && next !== ']') this.#invalid('after array element')
      this.#at++
      if (next === ']') return items
    }
  }

  #object(depth: number): GoMap {
    const map: GoMap = {}
    this.#at++
    this.#space()
    if (this.#text[this.#at] === '}') {
      this.#at++
      return map
    }
    for (;;) {
      this.#space()
      if (this.#text[this.#at] !== '"') this.#invalid('looking for beginning of object key string')
      const key = this.#string()
      this.#space()
      if (this.#text[this.#at] !== ':') this.#invalid('after object key')
      this.#at++
      setMapMember(map, key, this.#value(depth + 1))
      this.#space()
      const next = this.#text[this.#at]
      if (next !== ',' && next !== '}') this.#invalid('after object key:value pair')
      this.#at++
      if (next === '}') return map
    }
  }
}

function quoteCharacter(character: string): string {
  if (character === "'") return String.raw`'\''`
  if (character === '"') return `'"'`
  return `'${quoteGo(character).slice(1, -1)}'`
}
