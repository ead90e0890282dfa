/**
 * JSONPath as Kubernetes has it: `.spec.replicas`, `.status.conditions[?(@.type=="Ready")].status`, `.items[*].name`,
 * `.metadata.annotations.example\.com/a`, `['a']`, `[0]`, `[-1:]`, `..name`. What is not there is no value.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'

/** From each value to those that it leads to. */
type Step = (value: Json, root: Json) => readonly Json[]

export interface ColumnPath {
  /** All values that the path leads to, in order. */
  find(object: Json): readonly Json[]
}

/** The path, or undefined where the text is none. */
export function parseJsonPath(text: string): ColumnPath | undefined {
  const steps = parseSteps(text)
  if (!steps) return undefined
  return { find: (object) => walk(steps, object, object) }
}

/** Descents multiply: `..` after `..` finds each value once for each of its ancestors. More values than this are none. */
const mostValues = 100_000

function walk(steps: readonly Step[], from: Json, root: Json): readonly Json[] {
  let values: readonly Json[] = [from]
  for (const step of steps) {
    const found: Json[] = []
    for (const value of values) {
      for (const one of step(value, root)) found.push(one)
      if (found.length > mostValues) return []
    }
    values = found
  }
  return values
}

const fieldPattern = /^\.?((?:\\.|[^.[\]\\\s])+)/

function parseSteps(text: string): readonly Step[] | undefined {
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
      const step = inside === undefined ? undefined : bracketStep(inside.text)
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

/** What stands between a bracket and the one that closes it; brackets in quotes do not count. */
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

function bracketStep(text: string): Step | undefined {
  const inside = text.trim()
  if (inside === '*') return everyMember
  const [, condition] = /^\?\((.*)\)$/s.exec(inside) ?? []
  if (condition !== undefined) return filter(condition)
  const choices = splitOutsideQuotes(inside).map((choice) => singleStep(choice.trim()))
  if (choices.includes(undefined)) return undefined
  return (value, root) => choices.flatMap((step) => step!(value, root))
}

/** At commas that are not in quotes. */
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

function singleStep(text: string): Step | undefined {
  const [, quoted] = /^'([^']*)'$/.exec(text) ?? []
  if (quoted !== undefined) {
    // Dots mean the same in quotes as elsewhere.
    const steps = parseSteps(`.${quoted}`)
    return steps && ((value, root) => walk(steps, value, root))
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
  return (value) => {
    if (!isJsonArray(value) || stride < 1) return []
    const chosen = value.slice(start === '' ? 0 : Number(start), end === '' ? undefined : Number(end))
    return chosen.filter((_, index) => index % stride === 0)
  }
}

function everyMember(value: Json): readonly Json[] {
  if (isJsonArray(value)) return value
  return isJsonObject(value) ? Object.values(value).filter((one) => one !== undefined) : []
}

function everyDescendant(value: Json): readonly Json[] {
  return [value, ...everyMember(value).flatMap(everyDescendant)]
}

function filter(condition: string): Step | undefined {
  const sides = /==|!=|<=|>=|<|>/.exec(condition)
  const operator = sides?.[0]
  const subject = operand(condition.slice(0, sides?.index))
  const object = sides ? operand(condition.slice(sides.index + sides[0].length)) : undefined
  if (!subject || (operator !== undefined && !object)) return undefined
  return (value, root) =>
    everyElement(value).filter((one) => {
      const [found] = subject(one, root)
      if (!object) return found !== undefined
      const [wanted] = object(one, root)
      return found !== undefined && wanted !== undefined && holds(operator!, found, wanted)
    })
}

function everyElement(value: Json): readonly Json[] {
  return isJsonArray(value) ? value : []
}

/** `@.type`, `$.spec.name`, `"text"`, `5`, `true`. */
function operand(text: string): Step | undefined {
  const trimmed = text.trim()
  const [, quoted] = /^"(.*)"$/s.exec(trimmed) ?? /^'(.*)'$/s.exec(trimmed) ?? []
  if (quoted !== undefined) return () => [quoted]
  if (/^-?\d+(?:\.\d+)?$/.test(trimmed)) return () => [Number(trimmed)]
  if (trimmed === 'true' || trimmed === 'false') return () => [trimmed === 'true']
  const steps = /^[@$.[]/.test(trimmed) ? parseSteps(trimmed) : undefined
  return steps && ((value, root) => walk(steps, trimmed.startsWith('$') ? root : value, root))
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
