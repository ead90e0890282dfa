/**
 * The JSONPath of Kubernetes: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.items[*].name`,
 * `.metadata.annotations.example\.com/a`, `['a']`, `[0]`, `[-1:]`, `..name`. Missing fields yield no value.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'

/** From each value to those that it leads to. */
type Step = (value: Json, at: Walk) => Iterable<Json>

interface Walk {
  readonly root: Json
  readonly budget: VisitBudget
}

/** How many more values the paths of one row may visit; texts that are shown count, too. */
interface VisitBudget {
  left: number
}

/**
 * Descents multiply: `..` after `..` finds each value once for each of its ancestors, and a filter may search the whole object
 * once for each item. A path that visits more values finds none.
 */
const mostVisits = 100_000
/** A longer path, or one with more filters within filters, is none. */
const longestPath = 10_000
const deepestFilter = 50

export function visitBudget(): VisitBudget {
  return { left: mostVisits }
}

interface ColumnPath {
  /** All values that the path leads to, in order. */
  find(object: Json, budget?: VisitBudget): readonly Json[]
}

/** Undefined if the text is not a valid path. */
export function parseJsonPath(text: string): ColumnPath | undefined {
  const steps = text.length > longestPath ? undefined : parseSteps(text, 0)
  if (!steps) return undefined
  return {
    find: (object, budget = visitBudget()) => {
      const found = walk(steps, object, { root: object, budget })
      return budget.left < 0 ? [] : found
    },
  }
}

/** The outcome counts only while there is budget left. */
function walk(steps: readonly Step[], from: Json, at: Walk): readonly Json[] {
  const { budget } = at
  let values: readonly Json[] = [from]
  for (const step of steps) {
    const found: Json[] = []
    for (const value of values) {
      // Counted though it may lead to nothing.
      if (--budget.left < 0) return []
      for (const one of step(value, at)) {
        if (--budget.left < 0) return []
        found.push(one)
      }
    }
    values = found
  }
  return values
}

const fieldPattern = /^\.?((?:\\.|[^.[\]\\\s])+)/

function parseSteps(text: string, depth: number): readonly Step[] | undefined {
  if (depth > deepestFilter) return undefined
  const steps: Step[] = []
  let rest = text.trim().replace(/^[$@]/, '')
  while (rest !== '' && rest !== '.') {
    if (rest.startsWith('..')) {
      steps.push(everyDescendant)
      rest = rest.slice(rest[2] === '[' ? 2 : 1)
      continue
    }
    if (rest.startsWith('[') || rest.startsWith('.[')) {
      const inside = bracketed(rest.slice(rest.indexOf('[')))
      const step = inside === undefined ? undefined : bracketStep(inside.text, depth)
      if (!step || !inside) return undefined
      steps.push(step)
      rest = inside.rest
      continue
    }
    const [whole, field] = fieldPattern.exec(rest) ?? []
    if (whole === undefined || field === undefined) return undefined
    steps.push(field === '*' ? everyMember : member(field.replaceAll(/\\(.)/g, '$1')))
    rest = rest.slice(whole.length)
  }
  return steps
}

/** The text up to the closing bracket, ignoring brackets in quotes. */
function bracketed(text: string): { readonly text: string; readonly rest: string } | undefined {
  let depth = 0
  let quote: string | undefined
  for (let index = 0; index < text.length; index++) {
    const letter = text[index]!
    if (quote !== undefined) quote = letter === quote ? undefined : quote
    else if (letter === '"' || letter === "'") quote = letter
    else if (letter === '[') depth++
    else if (letter === ']' && --depth === 0) return { text: text.slice(1, index), rest: text.slice(index + 1) }
  }
  return undefined
}

function bracketStep(text: string, depth: number): Step | undefined {
  const inside = text.trim()
  if (inside === '*') return everyMember
  const [, condition] = /^\?\((.*)\)$/s.exec(inside) ?? []
  if (condition !== undefined) return filter(condition, depth)
  const choices = splitOutsideQuotes(inside).map((choice) => singleStep(choice.trim(), depth))
  if (choices.includes(undefined)) return undefined
  return function* (value, at) {
    for (const step of choices) {
      if (--at.budget.left < 0) return
      yield* step!(value, at)
    }
  }
}

/** Splits at commas outside of quotes. */
function splitOutsideQuotes(text: string): readonly string[] {
  const parts: string[] = []
  let isQuoted = false
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "'") isQuoted = !isQuoted
    else if (text[at] === ',' && !isQuoted) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...parts, text.slice(start)]
}

function singleStep(text: string, depth: number): Step | undefined {
  const [, quoted] = /^'([^']*)'$/.exec(text) ?? []
  if (quoted !== undefined) {
    // Dots mean the same in quotes as elsewhere.
    const steps = parseSteps(`.${quoted}`, depth + 1)
    return steps && ((value, at) => walk(steps, value, at))
  }
  const slice = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/.exec(text)
  if (!slice || text === '') return undefined
  const [, start = '', end, step] = slice
  if (end === undefined) return element(Number(start))
  return elements(start, end, step ?? '')
}

function member(name: string): Step {
  return (value) => {
    const found = isJsonObject(value) ? ownMember(value, name) : undefined
    return found === undefined ? [] : [found]
  }
}

function element(index: number): Step {
  return (value) => {
    const found = isJsonArray(value) ? value.at(index) : undefined
    return found === undefined ? [] : [found]
  }
}

function elements(start: string, end: string, step: string): Step {
  const stride = step === '' ? 1 : Number(step)
  return function* (value) {
    if (!isJsonArray(value) || stride < 1) return
    const { length } = value
    const placeOf = (index: number): number => Math.min(index < 0 ? Math.max(index + length, 0) : index, length)
    const last = end === '' ? length : placeOf(Number(end))
    for (let index = start === '' ? 0 : placeOf(Number(start)); index < last; index += stride) yield value[index]!
  }
}

function everyMember(value: Json): readonly Json[] {
  if (isJsonArray(value)) return value
  return isJsonObject(value) ? Object.values(value).filter((one) => one !== undefined) : []
}

/** The value itself and all within, outer ones first. */
function* everyDescendant(value: Json): Generator<Json> {
  const open: Json[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    yield next
    for (const child of everyMember(next).toReversed()) open.push(child)
  }
}

function filter(condition: string, depth: number): Step | undefined {
  const sides = /==|!=|<=|>=|<|>/.exec(condition)
  const operator = sides?.[0]
  const subject = operand(condition.slice(0, sides?.index), depth)
  const object = sides ? operand(condition.slice(sides.index + sides[0].length), depth) : undefined
  if (!subject || (operator !== undefined && !object)) return undefined
  const accepts = (one: Json, at: Walk): boolean => {
    const [found] = subject(one, at)
    if (!object) return found !== undefined
    const [wanted] = object(one, at)
    return found !== undefined && wanted !== undefined && holds(operator!, found, wanted)
  }
  return function* (value, at) {
    for (const one of everyElement(value)) {
      if (--at.budget.left < 0) return
      if (accepts(one, at)) yield one
    }
  }
}

function everyElement(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : []
}

/** `@.type`, `$.spec.name`, `"text"`, `5`, `true`. */
function operand(text: string, depth: number): Step | undefined {
  const trimmed = text.trim()
  const [, quoted] = /^"(.*)"$/s.exec(trimmed) ?? /^'(.*)'$/s.exec(trimmed) ?? []
  if (quoted !== undefined) return () => [quoted]
  if (/^-?\d+(?:\.\d+)?$/.test(trimmed)) return () => [Number(trimmed)]
  if (trimmed === 'true' || trimmed === 'false') return () => [trimmed === 'true']
  const steps = /^[@$.[]/.test(trimmed) ? parseSteps(trimmed, depth + 1) : undefined
  return steps && ((value, at) => walk(steps, trimmed.startsWith('$') ? at.root : value, at))
}

function holds(operator: string, a: Json, b: Json): boolean {
  if (operator === '==') return a === b
  if (operator === '!=') return a !== b
  const isComparable =
    (typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string')
  if (!isComparable) return false
  switch (operator) {
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    default:
      return a >= b
  }
}
