/** Splits a template into tokens. Trim markers and comments are resolved here: the parser never sees them. */
import { quoteGo } from '../../kube/go/go-text.ts'

export type TokenKind =
  | 'error'
  | 'bool'
  | 'char'
  | 'character constant'
  | 'complex'
  | '='
  | ':='
  | 'EOF'
  | 'field'
  | 'identifier'
  | '{{'
  | '('
  | 'number'
  | '|'
  | 'raw string'
  | '}}'
  | ')'
  | 'space'
  | 'string'
  | 'text'
  | 'variable'
  | Keyword

type Keyword =
  | '.'
  | 'block'
  | 'break'
  | 'continue'
  | 'define'
  | 'else'
  | 'end'
  | 'if'
  | 'nil'
  | 'range'
  | 'template'
  | 'with'

const keywords: ReadonlyMap<string, Keyword> = new Map(
  (['.', 'block', 'break', 'continue', 'define', 'else', 'end', 'if', 'nil', 'range', 'template', 'with'] as const).map(
    (keyword) => [keyword, keyword],
  ),
)

export interface TemplateToken {
  readonly kind: TokenKind
  /** Where it begins in the text. */
  readonly at: number
  /** For an error: the message. */
  readonly text: string
}

/** A token as messages show it. */
export function tokenText({ kind, text }: TemplateToken): string {
  if (kind === 'EOF') return 'EOF'
  if (kind === 'error') return text
  if (keywords.has(kind)) return `<${text}>`
  const characters = Array.from(text)
  // Go limits by characters, but measures by bytes.
  return Buffer.byteLength(text) > 10 ? `${quoteGo(characters.slice(0, 10).join(''))}...` : quoteGo(text)
}

const wordCharacter = /[\p{L}\p{Nd}_]/u
const asciiWord = /\w*/y

/** All tokens, the last one an `EOF` or an `error`. */
export function tokenize(input: string): readonly TemplateToken[] {
  const tokens: TemplateToken[] = []
  let at = 0
  while (at < input.length) {
    const open = input.indexOf('{{', at)
    if (open < 0) {
      tokens.push({ kind: 'text', at, text: input.slice(at) })
      break
    }
    const trims = isTrimLeft(input, open + 2)
    const end = trims ? trimmedEnd(input, at, open) : open
    if (end > at) tokens.push({ kind: 'text', at, text: input.slice(at, end) })
    const next = trims ? open + 4 : open + 2
    if (input.startsWith('/*', next)) {
      const after = comment(input, next, tokens)
      if (after === undefined) return tokens
      at = after
      continue
    }
    tokens.push({ kind: '{{', at: open, text: '{{' })
    const after = action(input, next, tokens)
    if (after === undefined) return tokens
    at = after
  }
  tokens.push({ kind: 'EOF', at: input.length, text: 'EOF' })
  return tokens
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x09 || unit === 0x0d
}

function isTrimLeft(input: string, at: number): boolean {
  return input.charCodeAt(at) === minus && isSpace(input.charCodeAt(at + 1))
}

function isTrimRight(input: string, at: number): boolean {
  return input.charCodeAt(at + 1) === minus && isSpace(input.charCodeAt(at)) && input.startsWith('}}', at + 2)
}

const minus = 0x2d
const closingBrace = 0x7d

function trimmedEnd(input: string, start: number, end: number): number {
  let last = end
  while (last > start && isSpace(input.charCodeAt(last - 1))) last--
  return last
}

function skipSpace(input: string, start: number): number {
  let at = start
  while (isSpace(input.charCodeAt(at))) at++
  return at
}

function comment(input: string, start: number, tokens: TemplateToken[]): number | undefined {
  const close = input.indexOf('*/', start + 2)
  if (close < 0) return fail(tokens, start, 'unclosed comment')
  const end = close + 2
  if (isTrimRight(input, end)) return skipSpace(input, end + 4)
  if (input.startsWith('}}', end)) return end + 2
  return fail(tokens, start, 'comment ends before closing delimiter')
}

function fail(tokens: TemplateToken[], at: number, text: string): undefined {
  tokens.push({ kind: 'error', at, text })
  return undefined
}

/** `U+0041 'A'`. */
function unicodeName(character: string | undefined): string {
  if (character === undefined) return 'U+FFFFFFFFFFFFFFFF'
  const code = character.codePointAt(0)!
  const hex = code.toString(16).toUpperCase().padStart(4, '0')
  return /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character) ? `U+${hex} '${character}'` : `U+${hex}`
}

function characterAt(input: string, at: number): string | undefined {
  const code = input.codePointAt(at)
  return code === undefined ? undefined : String.fromCodePoint(code)
}

/** The tokens up to and including `}}`; returns the position of the text after it. */
function action(input: string, start: number, tokens: TemplateToken[]): number | undefined {
  let at = start
  let depth = 0
  for (;;) {
    const unit = input.charCodeAt(at)
    const isBlank = isSpace(unit)
    const trims = isBlank && isTrimRight(input, at)
    if (trims || (unit === closingBrace && input.startsWith('}}', at))) {
      if (depth > 0) return fail(tokens, at, 'unclosed left paren')
      tokens.push({ kind: '}}', at: trims ? at + 2 : at, text: '}}' })
      return trims ? skipSpace(input, at + 4) : at + 2
    }
    if (Number.isNaN(unit)) return fail(tokens, at, 'unclosed action')
    const character = input[at]!
    const one = single(character)
    if (isBlank) {
      let end = skipSpace(input, at)
      if (isTrimRight(input, end - 1)) end--
      if (end > at) tokens.push({ kind: 'space', at, text: input.slice(at, end) })
      at = end
    } else if (one) {
      if (character === '(') depth++
      if (character === ')' && --depth < 0) return fail(tokens, at, 'unexpected right paren')
      tokens.push({ kind: one, at, text: character })
      at++
    } else if (character === ':') {
      if (input[at + 1] !== '=') return fail(tokens, at, 'expected :=')
      tokens.push({ kind: ':=', at, text: ':=' })
      at += 2
    } else {
      const end = operand(input, at, tokens)
      if (end === undefined) return undefined
      at = end
    }
  }
}

function single(character: string): '=' | '|' | '(' | ')' | undefined {
  return character === '=' || character === '|' || character === '(' || character === ')' ? character : undefined
}

function operand(input: string, at: number, tokens: TemplateToken[]): number | undefined {
  const character = input[at]!
  if (character === '"') return quoted(input, at, tokens, 'string', 'unterminated quoted string')
  if (character === "'") {
    return quoted(input, at, tokens, 'character constant', 'unterminated character constant')
  }
  if (character === '`') {
    const close = input.indexOf('`', at + 1)
    if (close < 0) return fail(tokens, at, 'unterminated raw quoted string')
    tokens.push({ kind: 'raw string', at, text: input.slice(at, close + 1) })
    return close + 1
  }
  if (character === '$') return word(input, at, at + 1, tokens, 'variable')
  const next = input[at + 1]
  if (character === '.' && next !== undefined && (next < '0' || next > '9')) {
    return word(input, at, at + 1, tokens, 'field')
  }
  if (character === '.' || character === '+' || character === '-' || (character >= '0' && character <= '9')) {
    return number(input, at, tokens)
  }
  if (/[A-Za-z_]/.test(character)) return word(input, at, at, tokens, 'identifier')
  const whole = characterAt(input, at)!
  if (wordCharacter.test(whole)) return word(input, at, at, tokens, 'identifier')
  if (character >= ' ' && character <= '~') {
    tokens.push({ kind: 'char', at, text: character })
    return at + 1
  }
  return fail(tokens, at, `unrecognized character in action: ${unicodeName(whole)}`)
}

function quoted(
  input: string,
  start: number,
  tokens: TemplateToken[],
  kind: 'string' | 'character constant',
  problem: string,
): number | undefined {
  const quote = input[start]
  for (let at = start + 1; at < input.length; at++) {
    const character = input[at]
    if (character === '\\' && at + 1 < input.length && input[at + 1] !== '\n') at++
    else if (character === '\n' || character === '\\') break
    else if (character === quote) {
      tokens.push({ kind, at: start, text: input.slice(start, at + 1) })
      return at + 1
    }
  }
  return fail(tokens, start, problem)
}

function wordEnd(input: string, start: number): number {
  let at = start
  for (;;) {
    asciiWord.lastIndex = at
    asciiWord.test(input)
    at = asciiWord.lastIndex
    if (!(input.charCodeAt(at) > 127)) return at
    const character = characterAt(input, at)!
    if (!wordCharacter.test(character)) return at
    at += character.length
  }
}

/** A field, a variable or an identifier: must be followed by something that can end it. */
function word(
  input: string,
  start: number,
  nameStart: number,
  tokens: TemplateToken[],
  kind: 'variable' | 'field' | 'identifier',
): number | undefined {
  const end = wordEnd(input, nameStart)
  if (!isTerminator(input, end)) {
    return fail(tokens, start, `bad character ${unicodeName(characterAt(input, end))}`)
  }
  const text = input.slice(start, end)
  if (kind === 'field') tokens.push({ kind: text === '.' ? '.' : 'field', at: start, text })
  else if (kind === 'variable') tokens.push({ kind, at: start, text })
  else {
    const keyword = keywords.get(text)
    tokens.push({ kind: keyword ?? (text === 'true' || text === 'false' ? 'bool' : 'identifier'), at: start, text })
  }
  return end
}

function isTerminator(input: string, at: number): boolean {
  const character = input[at]
  if (character === undefined || ' \n.,|:)(\t\r'.includes(character)) return true
  return input.startsWith('}}', at)
}

function number(input: string, start: number, tokens: TemplateToken[]): number | undefined {
  let end = numberEnd(input, start)
  const isComplex = !end.isBad && (input[end.at] === '+' || input[end.at] === '-')
  if (isComplex) {
    end = numberEnd(input, end.at)
    if (input[end.at - 1] !== 'i') end = { at: end.at, isBad: true }
  }
  const text = input.slice(start, end.at)
  if (end.isBad) return fail(tokens, start, `bad number syntax: ${quoteGo(text)}`)
  tokens.push({ kind: isComplex ? 'complex' : 'number', at: start, text })
  return end.at
}

function numberEnd(input: string, start: number): { readonly at: number; readonly isBad: boolean } {
  let at = start
  const accept = (characters: string): boolean => {
    const isFound = at < input.length && characters.includes(input[at]!)
    if (isFound) at++
    return isFound
  }
  const acceptRun = (characters: string): void => {
    while (accept(characters));
  }
  const decimal = '0123456789_'
  let digits = decimal
  accept('+-')
  if (accept('0')) {
    if (accept('xX')) digits = '0123456789abcdefABCDEF_'
    else if (accept('oO')) digits = '01234567_'
    else if (accept('bB')) digits = '01_'
  }
  acceptRun(digits)
  if (accept('.')) acceptRun(digits)
  const exponent = digits === decimal ? 'eE' : digits.length > decimal.length ? 'pP' : ''
  if (exponent !== '' && accept(exponent)) {
    accept('+-')
    acceptRun(decimal)
  }
  accept('i')
  const next = characterAt(input, at)
  if (next === undefined || !wordCharacter.test(next)) return { at, isBad: false }
  return { at: at + next.length, isBad: true }
}
