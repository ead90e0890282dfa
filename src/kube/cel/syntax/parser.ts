/**
 * The parser, by the grammar of CEL. Binary operators are parsed by precedence; `&&` and `||` are balanced, so that a long
 * chain makes no deep tree. Errors have the messages of the server's generated parser, at least for common mistakes; parsing
 * ends after the first one.
 */
import {
  type CelExpression,
  type ListExpression,
  type MapExpression,
  type StructExpression,
  call,
  ident,
  literal,
} from './expression.ts'
import { parseUint64 } from '../../go/int64.ts'
import { parseCelInt } from '../value/integer.ts'
import { type Token, readTokens } from './lexer.ts'
import { MacroError, expandMacro } from './macro.ts'
import type { Issue } from './source.ts'
import { mostIssues, nowhere } from './source.ts'
import { unquote } from './text-literal.ts'
import { CelDouble, CelUint } from '../value/value.ts'

class SyntaxProblem extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)

const relations = new Set(['<', '<=', '>=', '>', '==', '!=', 'in'])
const operandStart = [
  "'['",
  "'{'",
  "'('",
  "'.'",
  "'-'",
  "'!'",
  "'true'",
  "'false'",
  "'null'",
  'NUM_FLOAT',
  'NUM_INT',
  'NUM_UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
]

const closers = new Set([')', ']', '}', ',', ':'])

/** Recursion limit of grammar rules. */
const deepest = 250
const longestSource = 100_000

/** The tree; undefined if there are issues. */
export function parseExpression(text: string, issues: Issue[]): CelExpression | undefined {
  const length = Array.from(text).length
  if (length > longestSource) {
    issues.push({
      at: nowhere,
      message: `expression code point size exceeds limit: size: ${length}, limit ${longestSource}`,
    })
    return undefined
  }
  const tokens = readTokens(text, issues)
  if (issues.length > mostIssues) return undefined
  try {
    const tree = new Parser(tokens, issues).parse()
    return issues.length === 0 ? tree : undefined
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    issues.push({ at: error.at, message: error.message })
    return undefined
  }
}

class Parser {
  readonly #tokens: readonly Token[]
  readonly #issues: Issue[]
  #position = 0
  #depth = 0

  constructor(tokens: readonly Token[], issues: Issue[]) {
    this.#tokens = tokens
    this.#issues = issues
  }

  parse(): CelExpression {
    const tree = this.#expression()
    const rest = this.#peek()
    if (rest.kind !== 'end') {
      // One extra token is reported as such; several are a mismatch.
      const isLast = this.#tokens[this.#position + 1]?.kind === 'end'
      throw this.#problem(isLast ? 'extraneous' : 'mismatched', rest, ['<EOF>'])
    }
    return tree
  }

  #peek(): Token {
    return this.#tokens[this.#position]!
  }

  #next(): Token {
    const token = this.#peek()
    if (token.kind !== 'end') this.#position++
    return token
  }

  #is(symbol: string): boolean {
    const token = this.#peek()
    return token.kind === 'symbol' && token.text === symbol
  }

  #take(symbol: string): Token | undefined {
    return this.#is(symbol) ? this.#next() : undefined
  }

  #expect(symbol: string, expected: readonly string[] = [`'${symbol}'`]): Token {
    const token = this.#take(symbol)
    if (token) return token
    const found = this.#peek()
    // One token too many, or one too few: the server's parser distinguishes these by the next token.
    const next = this.#tokens[this.#position + 1]
    if (next?.kind === 'symbol' && next.text === symbol) throw this.#problem('extraneous', found, expected)
    const isMissing = symbol === ')' ? !startsOperand(found) : symbol === ':' && startsOperand(found)
    if (isMissing) throw new SyntaxProblem(found.at, `Syntax error: missing '${symbol}' at '${found.text}'`)
    throw this.#problem('mismatched', found, expected)
  }

  #problem(kind: 'mismatched' | 'extraneous', token: Token, expected: readonly string[]): SyntaxProblem {
    const wanted = expected.length === 1 ? expected[0]! : `{${expected.join(', ')}}`
    return new SyntaxProblem(token.at, `Syntax error: ${kind} input '${token.text}' expecting ${wanted}`)
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > deepest) {
      throw new SyntaxProblem(nowhere, `expression recursion limit exceeded: ${deepest}`)
    }
    const result = read()
    this.#depth--
    return result
  }

  #expression(): CelExpression {
    return this.#nested(() => {
      const condition = this.#logic('||')
      const mark = this.#take('?')
      if (!mark) return condition
      const whenTrue = this.#logic('||')
      this.#expect(':')
      const whenFalse = this.#expression()
      return call(mark.at, '_?_:_', [condition, whenTrue, whenFalse])
    })
  }

  #logic(operator: '||' | '&&'): CelExpression {
    const read = (): CelExpression => (operator === '||' ? this.#logic('&&') : this.#relation())
    const terms = [read()]
    const places: number[] = []
    for (let mark = this.#take(operator); mark; mark = this.#take(operator)) {
      places.push(mark.at)
      terms.push(read())
    }
    return balanced(operator === '||' ? '_||_' : '_&&_', terms, places)
  }

  #relation(): CelExpression {
    let left = this.#sum()
    for (;;) {
      const token = this.#peek()
      if (token.kind !== 'symbol' || !relations.has(token.text)) return left
      this.#next()
      const right = this.#sum()
      left = call(token.at, token.text === 'in' ? '@in' : `_${token.text}_`, [left, right])
    }
  }

  #sum(): CelExpression {
    let left = this.#product()
    for (let mark = this.#take('+') ?? this.#take('-'); mark; mark = this.#take('+') ?? this.#take('-')) {
      left = call(mark.at, `_${mark.text}_`, [left, this.#product()])
    }
    return left
  }

  #product(): CelExpression {
    let left = this.#unary()
    const operator = (): Token | undefined => this.#take('*') ?? this.#take('/') ?? this.#take('%')
    for (let mark = operator(); mark; mark = operator()) left = call(mark.at, `_${mark.text}_`, [left, this.#unary()])
    return left
  }

  #unary(): CelExpression {
    const first = this.#peek()
    for (const [symbol, name] of [
      ['!', '!_'],
      ['-', '-_'],
    ] as const) {
      if (!this.#is(symbol)) continue
      // A minus before digits belongs to the number: so the smallest integer can be written.
      const digits = this.#tokens[this.#position + 1]
      if (symbol === '-' && (digits?.kind === 'int' || digits?.kind === 'float')) return this.#member()
      let count = 0
      while (this.#take(symbol)) count++
      const end = this.#peek()
      if (end.kind === 'end') {
        if (symbol === '!') throw this.#problem('extraneous', end, operandStart)
        this.#issues.push({ at: end.at, message: "Syntax error: no viable alternative at input '-'" })
      }
      const operand = this.#member()
      return count % 2 === 0 ? operand : call(first.at, name, [operand])
    }
    return this.#member()
  }

  #member(): CelExpression {
    let operand = this.#primary()
    for (;;) {
      const token = this.#peek()
      if (token.kind !== 'symbol') return operand
      if (token.text === '.') operand = this.#selection(operand)
      else if (token.text === '[') operand = this.#index(operand)
      else return operand
    }
  }

  #selection(operand: CelExpression): CelExpression {
    const dot = this.#next()
    const isOptional = this.#take('?') !== undefined
    const name = this.#peek()
    if (name.kind === 'escaped') {
      this.#next()
      const field = name.text.slice(1, -1)
      if (isOptional) return call(dot.at, '_?._', [operand, literal(name.at, field)])
      return { kind: 'select', at: dot.at, operand, field, isTest: false }
    }
    if (name.kind !== 'identifier') {
      const isWord = name.kind === 'symbol' && /^(?:true|false|null)$/.test(name.text)
      if (isWord) throw this.#problem('mismatched', name, ['IDENTIFIER'])
      throw new SyntaxProblem(
        name.at,
        `Syntax error: no viable alternative at input '.${name.kind === 'end' ? '' : name.text}'`,
      )
    }
    this.#next()
    if (isOptional) return call(dot.at, '_?._', [operand, literal(name.at, name.text)])
    const open = this.#take('(')
    if (!open) return { kind: 'select', at: dot.at, operand, field: name.text, isTest: false }
    return this.#callOrMacro(open.at, name.text, this.#arguments(), operand)
  }

  #index(operand: CelExpression): CelExpression {
    const open = this.#next()
    const isOptional = this.#take('?') !== undefined
    const index = isOptional ? this.#expression() : this.#expressionOr("'?'")
    this.#expect(']')
    return call(open.at, isOptional ? '_[?_]' : '_[_]', [operand, index])
  }

  #arguments(): readonly CelExpression[] {
    if (this.#take(')')) return []
    const args = [this.#expressionOr("')'")]
    while (this.#take(',')) args.push(this.#expression())
    this.#expect(')', ["')'", "','"].toSorted())
    return args
  }

  /** If other tokens are allowed as well, the message lists them. */
  #expressionOr(...others: readonly string[]): CelExpression {
    if (!startsOperand(this.#peek())) {
      throw this.#problem('mismatched', this.#peek(), inGrammarOrder([...operandStart, ...others]))
    }
    return this.#expression()
  }

  #callOrMacro(at: number, name: string, args: readonly CelExpression[], target?: CelExpression): CelExpression {
    try {
      return expandMacro(at, name, args, target) ?? call(at, name, args, target)
    } catch (error) {
      if (!(error instanceof MacroError)) throw error
      this.#issues.push({ at: error.at, message: error.message })
      return literal(at, null)
    }
  }

  #primary(): CelExpression {
    const token = this.#peek()
    switch (token.kind) {
      case 'identifier':
        return this.#name()
      case 'int':
      case 'float':
      case 'uint':
      case 'string':
      case 'bytes':
        this.#next()
        return this.#literal(token, '')
      case 'symbol':
        break
      default:
        throw this.#problem('mismatched', token, operandStart)
    }
    switch (token.text) {
      case '.':
        return this.#name()
      case '(': {
        this.#next()
        const inner = this.#expression()
        this.#expect(')')
        return inner
      }
      case '[':
        return this.#list()
      case '{':
        return this.#map()
      case '-': {
        this.#next()
        const number = this.#next()
        return this.#literal({ ...number, at: token.at }, '-')
      }
      case 'true':
      case 'false':
        this.#next()
        return literal(token.at, token.text === 'true')
      case 'null':
        this.#next()
        return literal(token.at, null)
      default: {
        const next = this.#tokens[this.#position + 1]!
        if (startsOperand(next)) throw this.#problem('extraneous', token, operandStart)
        const problem = this.#problem('mismatched', token, operandStart)
        if (next.kind !== 'end' || closers.has(token.text)) throw problem
        // A single one at the end is skipped, and then the input ends.
        this.#issues.push({ at: problem.at, message: problem.message })
        throw this.#problem('mismatched', next, operandStart)
      }
    }
  }

  #literal({ kind, text, at }: Token, sign: '' | '-'): CelExpression {
    if (kind === 'string' || kind === 'bytes') {
      const value = unquote(kind === 'bytes' ? text.slice(1) : text, kind === 'bytes')
      if (!(value instanceof Error)) return literal(at, value)
      this.#issues.push({ at, message: value.message })
      return literal(at, text)
    }
    if (kind === 'float') {
      const value = Number(sign + text)
      if (Number.isFinite(value)) return literal(at, new CelDouble(value))
      this.#issues.push({ at, message: 'invalid double literal' })
      return literal(at, new CelDouble(0))
    }
    if (kind === 'uint') {
      const value = parseUint64(decimal(text.slice(0, -1)))
      if (value !== undefined) return literal(at, new CelUint(value))
      this.#issues.push({ at, message: 'invalid uint literal' })
      return literal(at, new CelUint(0n))
    }
    const value = parseCelInt(sign + decimal(text))
    if (value === undefined) this.#issues.push({ at, message: 'invalid int literal' })
    return literal(at, value ?? 0)
  }

  /** A variable, a function or the name of a type before `{`. */
  #name(): CelExpression {
    const start = this.#peek()
    const dot = this.#take('.') ? '.' : ''
    const token = this.#peek()
    if (token.kind !== 'identifier') throw this.#problem('mismatched', token, ['IDENTIFIER'])
    const struct = this.#struct(dot)
    if (struct) return struct
    this.#next()
    const isReserved = reserved.has(token.text)
    if (isReserved) this.#issues.push({ at: start.at, message: `reserved identifier: ${token.text}` })
    const open = this.#take('(')
    if (!open) return ident(token.at, dot + token.text)
    const args = this.#arguments()
    return isReserved ? literal(start.at, null) : this.#callOrMacro(open.at, dot + token.text, args)
  }

  /** `a.b.C{...}`: looks ahead, and consumes only if there is a brace. */
  #struct(dot: string): StructExpression | undefined {
    let end = this.#position + 1
    const names = [this.#peek().text]
    while (this.#tokens[end]?.text === '.' && this.#tokens[end + 1]?.kind === 'identifier') {
      names.push(this.#tokens[end + 1]!.text)
      end += 2
    }
    const brace = this.#tokens[end]
    if (brace?.kind !== 'symbol' || brace.text !== '{') return undefined
    this.#position = end + 1
    const fields: StructExpression['fields'][number][] = []
    while (!this.#is('}')) {
      const isOptional = this.#take('?') !== undefined
      const name = this.#peek()
      if (name.kind !== 'identifier')
        throw this.#problem('mismatched', name, ["'}'", "','", "'?'", 'IDENTIFIER', 'ESC_IDENTIFIER'])
      this.#next()
      const colon = this.#expect(':')
      fields.push({ at: colon.at, name: name.text, value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#expect('}', ["'}'", "','"])
    return { kind: 'struct', at: brace.at, typeName: dot + names.join('.'), fields }
  }

  /** `[,]` is an empty list. */
  #takeLoneComma(close: string): void {
    if (this.#is(',') && this.#tokens[this.#position + 1]?.text === close) this.#next()
  }

  #list(): ListExpression {
    const open = this.#next()
    this.#takeLoneComma(']')
    const elements: ListExpression['elements'][number][] = []
    while (!this.#is(']')) {
      const isOptional = this.#take('?') !== undefined
      const value = elements.length === 0 && !isOptional ? this.#expressionOr("']'", "','", "'?'") : this.#expression()
      elements.push({ value, isOptional })
      if (!this.#take(',')) break
    }
    this.#expect(']', ["']'", "','"])
    return { kind: 'list', at: open.at, elements }
  }

  #map(): MapExpression {
    const open = this.#next()
    this.#takeLoneComma('}')
    const entries: MapExpression['entries'][number][] = []
    while (!this.#is('}')) {
      const isOptional = this.#take('?') !== undefined
      const key = entries.length === 0 && !isOptional ? this.#expressionOr("'}'", "','", "'?'") : this.#expression()
      this.#expect(':')
      entries.push({ key, value: this.#expression(), isOptional })
      if (!this.#take(',')) break
    }
    this.#expect('}', ["'}'", "','"])
    return { kind: 'map', at: open.at, entries }
  }
}

/** Sixteen digits are 64 bits. One digit more stands for all that are out of range. */
const decimal = (text: string): string => {
  if (!text.startsWith('0x')) return text
  const digits = text.slice(2).replace(/^0+(?=[0-9a-fA-F])/, '')
  return BigInt(`0x${digits.slice(0, 17)}`).toString()
}

/** The order in which the generated parser lists expected tokens. */
const grammarOrder = ['in', "'=='", "'['", "']'", "'{'", "'}'", "'('", "')'", "'.'", "','", "'-'", "'!'", "'?'", "':'"]

function inGrammarOrder(expected: readonly string[]): readonly string[] {
  const place = (word: string): number => {
    const index = grammarOrder.indexOf(word)
    return index < 0 ? grammarOrder.length + operandStart.indexOf(word) : index
  }
  return expected.toSorted((a, b) => place(a) - place(b))
}

function startsOperand({ kind, text }: Token): boolean {
  if (kind === 'end' || kind === 'escaped') return false
  return kind !== 'symbol' || ['[', '{', '(', '.', '-', '!', 'true', 'false', 'null'].includes(text)
}

/** A tree of logarithmic depth. Each operator keeps its position. */
function balanced(name: string, terms: readonly CelExpression[], places: readonly number[]): CelExpression {
  const build = (from: number, to: number): CelExpression => {
    const middle = Math.floor((from + to + 1) / 2)
    const left = middle === from ? terms[middle]! : build(from, middle - 1)
    const right = middle === to ? terms[middle + 1]! : build(middle + 1, to)
    return call(places[middle]!, name, [left, right])
  }
  return terms.length === 1 ? terms[0]! : build(0, places.length - 1)
}
