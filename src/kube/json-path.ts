/**
 * JSONPath: paths to values in an object, as references use them.
 *
 *     $.spec.routes[?(@.name == "web" && @.namespace != "x")].certificate.name
 *
 * Supported: members (`.a`, `['a']`, `.*`), items (`[0]`, `[-1]`, `[1:3]`, `[*]`), unions (`['a','b']`), any depth (`..a`), and
 * filters over `@` and `$` with `== != < <= > >= && || !` and existence. There are no functions and no regular expressions: a
 * path is often written by one person and evaluated on another's objects.
 *
 * Paths are compiled once. A path without a match is not an error. Only own members count, and the work is bounded: see
 * {@link mostVisits}.
 */
import { kubeErrors } from './errors.ts'
import { MusterError } from './muster-error.ts'
import { equalJson, isJsonObject, type Json } from './json.ts'
import { isJsonArray, ownMember } from './json-member.ts'

interface JsonPath {
  readonly text: string
  readonly steps: readonly Step[]
}

/** From each value to some of its members or items. Equal steps have the same `text`. */
interface Step {
  readonly text: string
  readonly isDeep: boolean
  readonly selectors: readonly Selector[]
}

type Selector =
  | { readonly by: 'name'; readonly name: string }
  | { readonly by: 'index'; readonly index: number }
  | { readonly by: 'slice'; readonly from: number | undefined; readonly to: number | undefined; readonly every: number }
  | { readonly by: 'all' }
  | { readonly by: 'filter'; readonly test: Test }

/** A compiled filter. */
type Test = (current: Json, at: Walk) => boolean

interface Walk {
  readonly root: Json
  /** The remaining number of values to visit. */
  left: number
}

/** Limit of visited values per evaluation; `$..*..*` of a large object would exceed it. */
export const mostVisits = 100_000
const longestText = 2000
/** Depth limit of nested filters and parentheses. */
const deepestFilter = 20

/** @throws InvalidJsonPath with the position in the text */
export function compileJsonPath(text: string): JsonPath {
  if (text.length > longestText) {
    throw new MusterError(
      kubeErrors.InvalidJsonPath,
      `The path is ${text.length} characters long; at most ${longestText} are read.`,
    )
  }
  const parser = new Parser(text)
  return { text, steps: parser.path() }
}

/**
 * The members that every match lies in: of `$.spec.users[*].name` those are `spec` and `users`. Undefined for a path with a
 * filter, which may read any member.
 */
export function leadingMembers({ steps }: JsonPath): readonly string[] | undefined {
  if (steps.some(({ selectors }) => selectors.some(({ by }) => by === 'filter'))) return undefined
  const members: string[] = []
  for (const { isDeep, selectors } of steps) {
    const [first] = selectors
    if (isDeep || selectors.length !== 1 || first?.by !== 'name') break
    members.push(first.name)
  }
  return members
}

/**
 * The matches of the path, in the order of the object.
 * @throws InvalidJsonPath if that takes more than {@link mostVisits}
 */
export function selectJson(path: JsonPath, value: Json): readonly Json[] {
  return walk(path.steps, [value], { root: value, left: mostVisits })
}

/**
 * Matches of two paths in pairs: for `$.refs[*].namespace` and `$.refs[*].name` those of the same item. The common beginning of
 * the paths leads to the same place; from there on, every match of the one is combined with every match of the other.
 */
export function selectJsonPairs(a: JsonPath, b: JsonPath, value: Json): readonly (readonly [Json, Json])[] {
  const at: Walk = { root: value, left: mostVisits }
  const differing = a.steps.findIndex((step, index) => step.text !== b.steps[index]?.text)
  const shared = differing < 0 ? a.steps.length : differing
  return walk(a.steps.slice(0, shared), [value], at).flatMap((place) => {
    const right = walk(b.steps.slice(shared), [place], at)
    return walk(a.steps.slice(shared), [place], at).flatMap((left) =>
      right.map((other) => {
        spend(at)
        return [left, other] as const
      }),
    )
  })
}

function walk(steps: readonly Step[], start: readonly Json[], at: Walk): readonly Json[] {
  let found = start
  for (const { isDeep, selectors } of steps) {
    const next: Json[] = []
    for (const value of isDeep ? found.flatMap((each) => descendants(each, at)) : found) {
      for (const selector of selectors) select(selector, value, at, next)
    }
    found = next
  }
  return found
}

function spend(at: Walk): void {
  if (at.left-- > 0) return
  throw new MusterError(kubeErrors.InvalidJsonPath, `The path visits more than ${mostVisits} values.`)
}

function select(selector: Selector, value: Json, at: Walk, into: Json[]): void {
  const add = (found: Json | undefined): void => {
    spend(at)
    if (found !== undefined) into.push(found)
  }
  switch (selector.by) {
    case 'name':
      if (isJsonObject(value)) add(ownMember(value, selector.name))
      break
    case 'index':
      if (isJsonArray(value)) add(value.at(selector.index))
      break
    case 'slice':
      if (isJsonArray(value)) for (const index of sliced(selector, value.length)) add(value[index])
      break
    case 'all':
      for (const child of children(value)) add(child)
      break
    default:
      for (const child of children(value)) {
        spend(at)
        if (selector.test(child, at)) into.push(child)
      }
  }
}

function children(value: Json): readonly Json[] {
  if (isJsonArray(value)) return value
  return isJsonObject(value) ? (Object.values(value) as readonly Json[]) : []
}

/** The value itself and all descendants, outer ones first. Iterative: objects can be deeper than the stack. */
function descendants(value: Json, at: Walk): readonly Json[] {
  const found: Json[] = []
  const open: Json[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    spend(at)
    found.push(next)
    for (const child of children(next).toReversed()) open.push(child)
  }
  return found
}

/** As defined by RFC 9535. */
function* sliced({ from, to, every }: Extract<Selector, { by: 'slice' }>, length: number): Generator<number> {
  const clamp = (index: number, least: number, most: number): number =>
    Math.min(Math.max(index < 0 ? index + length : index, least), most)
  if (every > 0) {
    const end = clamp(to ?? length, 0, length)
    for (let index = clamp(from ?? 0, 0, length); index < end; index += every) yield index
  } else if (every < 0) {
    const end = clamp(to ?? -length - 1, -1, length - 1)
    for (let index = clamp(from ?? length - 1, -1, length - 1); index > end; index += every) yield index
  }
}

/** One operand of a comparison: undefined if a path has no match. */
type Operand = (current: Json, at: Walk) => Json | undefined

type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='

const comparisons: readonly Comparison[] = ['==', '!=', '<=', '>=', '<', '>']

function compare(operator: Comparison, left: Json | undefined, right: Json | undefined): boolean {
  switch (operator) {
    case '==':
      return isSame(left, right)
    case '!=':
      return !isSame(left, right)
    case '<':
      return isLess(left, right)
    case '>':
      return isLess(right, left)
    case '<=':
      return isLess(left, right) || (isOrdered(left) && isSame(left, right))
    default:
      return isLess(right, left) || (isOrdered(left) && isSame(left, right))
  }
}

/** Of scalars. Objects and lists never match: comparing them could be very expensive. */
function isSame(a: Json | undefined, b: Json | undefined): boolean {
  return !(typeof a === 'object' && a !== null) && equalJson(a, b)
}

function isOrdered(value: Json | undefined): value is string | number | bigint {
  return ['string', 'number', 'bigint'].includes(typeof value)
}

/** Text with text and numbers with numbers; other types have no order. */
function isLess(a: Json | undefined, b: Json | undefined): boolean {
  if (!isOrdered(a) || !isOrdered(b)) return false
  return (typeof a === 'string') === (typeof b === 'string') && a < b
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

/** A parser from left to right, with one token of lookahead. */
class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  path(): readonly Step[] {
    this.#expect('$')
    const steps = this.#steps()
    if (this.#at < this.#text.length) this.#fail('a step: ".", ".." or "["')
    return steps
  }

  #steps(): readonly Step[] {
    const steps: Step[] = []
    for (;;) {
      const isDeep = this.#take('..')
      if (isDeep && this.#peek() !== '[') steps.push(stepOf(true, [this.#member()]))
      else if (isDeep || this.#peek() === '[') steps.push(stepOf(isDeep, ...this.#brackets()))
      else if (this.#take('.')) steps.push(stepOf(false, [this.#member()]))
      else return steps
    }
  }

  #member(): Selector {
    if (this.#take('*')) return { by: 'all' }
    const [name] = /^[\p{L}\p{N}_-]+/u.exec(this.#text.slice(this.#at)) ?? []
    if (name === undefined)
      this.#fail(`the name of a member; write ['…'] if it has other characters than letters and digits`)
    this.#at += name.length
    return { by: 'name', name }
  }

  #brackets(): readonly [readonly Selector[], string] {
    const from = this.#at
    this.#expect('[')
    this.#space()
    if (this.#take('?')) {
      const test = this.#nested(() => this.#or())
      this.#space()
      this.#expect(']')
      return [[{ by: 'filter', test }], this.#text.slice(from, this.#at)]
    }
    const selectors: Selector[] = []
    do {
      this.#space()
      selectors.push(this.#selector())
      this.#space()
    } while (this.#take(','))
    this.#expect(']')
    return [selectors, this.#text.slice(from, this.#at)]
  }

  #selector(): Selector {
    if (this.#take('*')) return { by: 'all' }
    if (this.#peek() === '"' || this.#peek() === "'") return { by: 'name', name: this.#string() }
    const from = this.#integer()
    this.#space()
    if (!this.#take(':')) {
      if (from === undefined) this.#fail('a name in quotes, a number, "*" or a filter')
      return { by: 'index', index: from }
    }
    this.#space()
    const to = this.#integer()
    this.#space()
    const every = this.#take(':') ? (this.#space(), this.#integer()) : undefined
    return { by: 'slice', from, to, every: every ?? 1 }
  }

  // ── filters ────────────────────────────────────────────────────────────────────────────────────────────────

  #or(): Test {
    const parts = [this.#and()]
    while ((this.#space(), this.#take('||'))) parts.push(this.#and())
    return parts.length === 1 ? parts[0]! : (current, at) => parts.some((part) => part(current, at))
  }

  #and(): Test {
    const parts = [this.#term()]
    while ((this.#space(), this.#take('&&'))) parts.push(this.#term())
    return parts.length === 1 ? parts[0]! : (current, at) => parts.every((part) => part(current, at))
  }

  #term(): Test {
    this.#space()
    if (this.#peek() === '!' && this.#text[this.#at + 1] !== '=') {
      this.#expect('!')
      const inner = this.#nested(() => this.#term())
      return (current, at) => !inner(current, at)
    }
    if (this.#take('(')) {
      const inner = this.#nested(() => this.#or())
      this.#space()
      this.#expect(')')
      return inner
    }
    return this.#comparison()
  }

  #comparison(): Test {
    const left = this.#operand()
    this.#space()
    const operator = comparisons.find((each) => this.#take(each))
    if (!operator) {
      if (!left.exists) this.#fail('a comparison')
      return left.exists
    }
    this.#space()
    const right = this.#operand()
    const a = left.value ?? this.#fail('a path to one value before the comparison, not to several')
    const b = right.value ?? this.#fail('a path to one value after the comparison, not to several')
    return (current, at) => compare(operator, a(current, at), b(current, at))
  }

  /** `value` if it has at most one match, `exists` for a path. */
  #operand(): { readonly value?: Operand; readonly exists?: Test } {
    const isRoot = this.#peek() === '$'
    if (!isRoot && this.#peek() !== '@') {
      const literal = this.#literal()
      return { value: () => literal }
    }
    this.#at++
    const steps = this.#nested(() => this.#steps())
    const found: (current: Json, at: Walk) => readonly Json[] = (current, at) =>
      walk(steps, [isRoot ? at.root : current], at)
    const isOne = steps.every(
      ({ isDeep, selectors }) =>
        !isDeep && selectors.length === 1 && (selectors[0]!.by === 'name' || selectors[0]!.by === 'index'),
    )
    return {
      exists: (...given) => found(...given).length > 0,
      ...(isOne && { value: (...given) => found(...given)[0] }),
    }
  }

  #literal(): Json {
    if (this.#peek() === '"' || this.#peek() === "'") return this.#string()
    for (const [word, value] of words) if (this.#take(word)) return value
    const [number] = /^-?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?/.exec(this.#text.slice(this.#at)) ?? []
    if (number === undefined) this.#fail('a value: "@…", "$…", a text in quotes, a number, true, false or null')
    this.#at += number.length
    return Number(number)
  }

  // ── tokens ─────────────────────────────────────────────────────────────────────────────────────────────────

  #integer(): number | undefined {
    const [digits] = /^-?\d{1,9}/.exec(this.#text.slice(this.#at)) ?? []
    if (digits === undefined) return undefined
    this.#at += digits.length
    return Number(digits)
  }

  #string(): string {
    const quote = this.#peek()
    const from = this.#at++
    let value = ''
    for (;;) {
      const character = this.#text[this.#at++]
      if (character === undefined) {
        this.#at = from
        this.#fail(`the other ${quote} of this text`)
      }
      if (character === quote) return value
      value += character === '\\' ? this.#escaped() : character
    }
  }

  #escaped(): string {
    const character = this.#text[this.#at++] ?? ''
    if (character !== 'u') return escapes.get(character) ?? character
    const [digits] = /^[\da-fA-F]{4}/.exec(this.#text.slice(this.#at)) ?? []
    if (digits === undefined) this.#fail('four hexadecimal digits')
    this.#at += 4
    return String.fromCharCode(Number.parseInt(digits, 16))
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > deepestFilter)
      this.#fail(`an end: there are more than ${deepestFilter} filters and parentheses in one another`)
    const result = read()
    this.#depth--
    return result
  }

  #peek(): string | undefined {
    return this.#text[this.#at]
  }

  #space(): void {
    while (this.#peek() === ' ' || this.#peek() === '\t') this.#at++
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false
    this.#at += token.length
    return true
  }

  #expect(token: string): void {
    if (!this.#take(token)) this.#fail(`"${token}"`)
  }

  #fail(expected: string): never {
    const found = this.#at < this.#text.length ? `"${this.#text.slice(this.#at, this.#at + 20)}"` : 'its end'
    throw new MusterError(
      kubeErrors.InvalidJsonPath,
      `"${this.#text}", character ${this.#at + 1}: found ${found}, expected ${expected}.`,
    )
  }
}

const words: readonly (readonly [string, Json])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

/** `source` is the quoted notation, if it was in brackets. */
function stepOf(isDeep: boolean, selectors: readonly Selector[], source = ''): Step {
  const [only] = selectors
  const plain = selectors.length === 1 && only?.by === 'name' ? JSON.stringify(only.name) : undefined
  const text = plain ?? (selectors.length === 1 && only?.by === 'all' ? '*' : source)
  return { text: `${isDeep ? '..' : ''}${text}`, isDeep, selectors }
}
