/** Checks beyond types: constants that always fail, lists of mixed types, invalid format strings. */
import type { CheckedExpression } from './check.ts'
import { CelRuntimeError } from '../value/error.ts'
import { type CelCall, type CelExpression, partsOf } from '../syntax/expression.ts'
import { compilePattern } from '../library/regex.ts'
import type { Issue } from '../syntax/source.ts'
import { clauseProblem, readFormat } from '../library/string-format.ts'
import { parseCelDuration, parseTimestamp, timestampOfSeconds } from '../value/time.ts'
import { type CelType, formatType, isDynamic, isOptionalType } from '../value/type.ts'
import { type CelValue, isInt } from '../value/value.ts'

export function validateExpression(root: CelExpression, checked: CheckedExpression, issues: Issue[]): void {
  const calls = (name: string): readonly CelCall[] =>
    allOf(root).flatMap((node) => (node.kind === 'call' && checkedName(node, checked) === name ? [node] : []))
  for (const [name, works] of literals) {
    for (const { args } of calls(name)) {
      const [arg] = args
      if (arg?.kind === 'literal' && !isFine(() => works(arg.value))) {
        issues.push({ at: arg.at, message: `invalid ${name} argument` })
      }
    }
  }
  validateAggregates(root, checked, issues)
  for (const call of calls('format')) validateFormat(call, checked, issues)
}

function checkedName(node: CelCall, { references }: CheckedExpression): string {
  const reference = references.get(node)
  return reference?.kind === 'call' ? reference.name : node.name
}

function allOf(root: CelExpression): readonly CelExpression[] {
  const found: CelExpression[] = []
  const visit = (node: CelExpression): void => {
    found.push(node)
    partsOf(node).forEach(visit)
  }
  visit(root)
  return found
}

const literals: readonly (readonly [string, (value: CelValue) => unknown])[] = [
  ['duration', (value) => typeof value !== 'string' || parseCelDuration(value) !== undefined],
  [
    'timestamp',
    (value) =>
      typeof value === 'string' ? parseTimestamp(value) !== undefined : !isInt(value) || timestampOfSeconds(value),
  ],
  ['matches', (value) => typeof value !== 'string' || compilePattern(value)],
]

function isFine(work: () => unknown): boolean {
  try {
    return work() !== false
  } catch (error) {
    if (error instanceof CelRuntimeError) return false
    throw error
  }
}

/** Lists first, then maps; arguments of `format` may be mixed. */
function validateAggregates(root: CelExpression, { types }: CheckedExpression, issues: Issue[]): void {
  const typeOf = (node: CelExpression, isOptional: boolean): CelType => {
    const type = types.get(node)!
    return isOptional && isOptionalType(type) ? type.parameters[0]! : type
  }
  const mixed = (node: CelExpression, expected: CelType, found: CelType): boolean => {
    if (isEquivalent(expected, found)) return false
    issues.push({ at: node.at, message: `expected type '${formatType(expected)}' but found '${formatType(found)}'` })
    return true
  }
  const nodes = outsideFormat(root)
  for (const node of nodes) {
    if (node.kind !== 'list') continue
    const [first, ...rest] = node.elements
    if (!first) continue
    const expected = typeOf(first.value, first.isOptional)
    for (const { value, isOptional } of rest) if (mixed(value, expected, typeOf(value, isOptional))) break
  }
  for (const node of nodes) {
    if (node.kind !== 'map') continue
    const [first, ...rest] = node.entries
    if (!first) continue
    const [keyType, valueType] = [typeOf(first.key, false), typeOf(first.value, first.isOptional)]
    for (const { key, value, isOptional } of rest) {
      mixed(key, keyType, typeOf(key, false))
      mixed(value, valueType, typeOf(value, isOptional))
    }
  }
}

function outsideFormat(node: CelExpression): readonly CelExpression[] {
  if (node.kind === 'call' && node.name === 'format') return []
  return [node, ...partsOf(node).flatMap(outsideFormat)]
}

/** The same except for unbound type variables. */
function isEquivalent(a: CelType, b: CelType): boolean {
  return (
    a.kind === b.kind &&
    a.name === b.name &&
    a.parameters.length === b.parameters.length &&
    a.parameters.every((parameter, index) => isEquivalent(parameter, b.parameters[index]!))
  )
}

const clauseKinds: Readonly<Record<string, readonly CelType['kind'][]>> = {
  s: ['list', 'map', 'int', 'uint', 'double', 'bool', 'string', 'timestamp', 'bytes', 'duration', 'type', 'null'],
  d: ['int', 'uint'],
  f: ['double', 'string'],
  e: ['double', 'string'],
  b: ['int', 'uint', 'bool'],
  o: ['int', 'uint'],
  x: ['int', 'uint', 'string', 'bytes'],
  X: ['int', 'uint', 'string', 'bytes'],
}

class ClauseProblem extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** A constant format with its arguments in a list literal is checked before it runs. */
function validateFormat(node: CelCall, { types }: CheckedExpression, issues: Issue[]): void {
  const [format, args] = [node.target, node.args[0]]
  if (format?.kind !== 'literal' || typeof format.value !== 'string' || args?.kind !== 'list') return
  const unfit = (letter: string, value: CelExpression): CelExpression | undefined => {
    const type = types.get(value)!
    if (!isDynamic(type) && !clauseKinds[letter]!.includes(type.kind)) return value
    if (letter !== 's') return undefined
    if (value.kind === 'list') return firstOf(value.elements.map((element) => unfit('s', element.value)))
    if (value.kind === 'map')
      return firstOf(value.entries.flatMap((entry) => [unfit('s', entry.key), unfit('s', entry.value)]))
    return undefined
  }
  try {
    const used = readFormat(
      format.value,
      args.elements.length,
      () => undefined,
      ({ letter }, index) => {
        const bad = unfit(letter, args.elements[index]!.value)
        if (bad)
          throw new ClauseProblem(bad.at, `error during formatting: ${clauseProblem(letter, types.get(bad)!.name)}`)
      },
    )
    if (args.elements.length > used) {
      const message = `too many arguments supplied to string.format (expected ${used}, got ${args.elements.length})`
      issues.push({ at: node.at, message })
    }
  } catch (error) {
    if (error instanceof ClauseProblem) issues.push({ at: error.at, message: error.message })
    else if (error instanceof CelRuntimeError) issues.push({ at: node.at, message: error.message })
    else throw error
  }
}

function firstOf<T>(values: readonly (T | undefined)[]): T | undefined {
  return values.find((value) => value !== undefined)
}
