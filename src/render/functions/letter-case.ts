/** Text in camel, snake and kebab case, by the words that sprig sees. */
import { isSpace, toLower, toTitle, toUpper } from './go-strings.ts'

function isConnector(character: string): boolean {
  return character === '-' || character === '_' || isSpace(character)
}

function isUpper(character: string): boolean {
  return /\p{Lu}/u.test(character)
}

function isLower(character: string): boolean {
  return /\p{Ll}/u.test(character)
}

/** `some_words` becomes `SomeWords`; connectors at the beginning stay. */
export function camelCase(text: string): string {
  const characters = Array.from(text)
  let result = ''
  let at = 0
  while (at < characters.length && isConnector(characters[at]!)) result += characters[at++]!
  if (at === characters.length) return result + (characters.at(-1) ?? '')
  let current = characters[at++]!
  let isRunOfUpper = isUpper(current)
  current = toUpper(current)
  for (; at < characters.length; at++) {
    const previous = current
    current = characters[at]!
    if (isConnector(current) && isConnector(previous)) {
      result += previous
      continue
    }
    if (isConnector(previous)) {
      isRunOfUpper = isUpper(current)
      current = toUpper(current)
      continue
    }
    if (isRunOfUpper) {
      if (isUpper(current)) current = toLower(current)
      else isRunOfUpper = false
    }
    result += previous
  }
  return result + current
}

type WordKind = 'none' | 'number' | 'upper' | 'alphabet' | 'connector' | 'punctuation' | 'other'

interface Word {
  readonly kind: WordKind
  readonly text: string
}

/** A letter, but not an ideograph. */
function isAlphabet(character: string): boolean {
  return /\p{L}/u.test(character) && !/[\u{4e00}-\u{9fcc}\u{3400}-\u{4d85}\u{20000}-\u{2b81d}]/u.test(character)
}

function isNumber(character: string): boolean {
  return /\p{N}/u.test(character)
}

function isPunctuation(character: string): boolean {
  return /\p{P}/u.test(character)
}

class Words {
  readonly #characters: readonly string[]
  #at = 0

  constructor(text: string) {
    this.#characters = Array.from(text)
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#characters.length
  }

  next(): Word {
    const start = this.#at
    const first = this.#characters[this.#at]
    if (first === undefined) return { kind: 'none', text: '' }
    const kind = this.#take(first)
    return { kind, text: this.#characters.slice(start, this.#at).join('') }
  }

  #take(first: string): WordKind {
    this.#at++
    if (isConnector(first)) return this.#while('connector', isConnector)
    if (isPunctuation(first)) return this.#while('punctuation', isPunctuation)
    if (isUpper(first)) return this.#upper()
    const isLowerLetter = (character: string): boolean => isAlphabet(character) && !isUpper(character)
    if (isAlphabet(first)) return this.#while('alphabet', isLowerLetter)
    if (isNumber(first)) return this.#while('number', isNumber)
    return this.#while(
      'other',
      (character) =>
        !isConnector(character) && !isAlphabet(character) && !isNumber(character) && !isPunctuation(character),
    )
  }

  /** `HTTPStatus` is `HTTP` and `Status`. */
  #upper(): WordKind {
    const second = this.#characters[this.#at]
    if (second === undefined) return 'upper'
    if (isUpper(second)) {
      this.#while('upper', isUpper)
      const next = this.#characters[this.#at]
      if (next !== undefined && isAlphabet(next)) this.#at--
    } else if (isAlphabet(second)) {
      this.#while('upper', (character) => isAlphabet(character) && !isUpper(character))
    }
    return 'upper'
  }

  #while(kind: WordKind, fits: (character: string) => boolean): WordKind {
    while (this.#at < this.#characters.length && fits(this.#characters[this.#at]!)) this.#at++
    return kind
  }
}

/** The words in lower case, joined: `HTTPServer2xx` becomes `http_server_2xx`. */
export function joinWords(text: string, connector: string): string {
  const words = new Words(text)
  let result = ''
  const write = ({ kind, text: word }: Word): void => {
    if (kind === 'connector') result += connector.repeat(Array.from(word).length)
    else result += kind === 'upper' ? toLower(word) : word
  }
  const joins = ({ kind }: Word): boolean => kind !== 'connector' && kind !== 'punctuation'
  const takeAll = (first: Word): Word => {
    let word = first
    while (word.kind === 'alphabet' || word.kind === 'number') {
      write(word)
      word = words.next()
    }
    return word
  }
  let word = words.next()
  while (!words.isAtEnd) {
    if (word.kind !== 'connector') write(word)
    const previous = word
    word = words.next()
    if (previous.kind === 'number') {
      word = takeAll(word)
      if (word.kind !== 'none' && joins(word)) result += connector
    } else if (previous.kind === 'connector') write(previous)
    else if (previous.kind === 'punctuation') continue
    else if (word.kind !== 'number') {
      if (joins(word)) result += connector
    } else if (!words.isAtEnd) {
      const number = word
      word = words.next()
      if (word.kind === 'alphabet') {
        result += connector
        write(number)
        word = takeAll(word)
        if (word.kind !== 'none' && joins(word)) result += connector
      } else {
        write(number)
        if (joins(word)) result += connector
      }
    }
  }
  write(word)
  return result
}

/** The first letter of each word in lower case. */
export function uncapitalize(text: string): string {
  let isStart = true
  return Array.from(text, (character) => {
    if (isSpace(character)) {
      isStart = true
      return character
    }
    const shown = isStart ? toLower(character) : character
    isStart = false
    return shown
  }).join('')
}

export function swapCase(text: string): string {
  let isStart = true
  return Array.from(text, (character) => {
    if (isUpper(character) || /\p{Lt}/u.test(character)) {
      isStart = false
      return toLower(character)
    }
    if (isLower(character)) {
      const shown = isStart ? toTitle(character) : toUpper(character)
      isStart = false
      return shown
    }
    isStart = isSpace(character)
    return character
  }).join('')
}
