/**
 * Regular expressions in CEL: RE2, whose time is linear in the text for any pattern, and whose syntax is not JavaScript's. The
 * engine is loaded with the first pattern.
 */
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, functionNamed } from './function.ts'
import { boolType, intType, listOf, stringType } from '../value/type.ts'
import { CelArray, type CelInt, type CelValue, codePoints } from '../value/value.ts'

let engine: typeof RE2JS | undefined

function loadEngine(): typeof RE2JS {
  engine ??= (createRequire(import.meta.url)('re2js') as { readonly RE2JS: typeof RE2JS }).RE2JS
  return engine
}

/** Patterns from rules are few, patterns from data are not: the oldest is dropped. */
const compiled = new Map<string, RE2JS>()
const mostCompiled = 200

/** Throws a CelRuntimeError with the message of Go's parser. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern)
  if (known) return known
  let made: RE2JS
  try {
    made = loadEngine().compile(pattern)
  } catch (error) {
    // The engine is a port of Go's and has its messages.
    throw new CelRuntimeError(error instanceof Error ? error.message : String(error))
  }
  if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value!)
  compiled.set(pattern, made)
  return made
}

function find(text: string, pattern: string): string {
  const matcher = compilePattern(pattern).matcher(text)
  return matcher.find() ? (matcher.group() ?? '') : ''
}

/** As in Go: an empty match right after a match does not count. */
function findAll(text: string, pattern: string, limit: CelInt): CelValue {
  const matcher = compilePattern(pattern).matcher(text)
  const found: string[] = []
  let end = -1
  const most = limit < 0 ? Infinity : Number(limit)
  while (found.length < most && matcher.find()) {
    if (matcher.end() > matcher.start() || matcher.start() !== end) found.push(matcher.group() ?? '')
    end = matcher.end()
  }
  return new CelArray(found)
}

/** Each character of the text may meet each part of the pattern; there is one part per four characters. */
const patternCost = ([text, pattern]: readonly CelValue[]): number =>
  Math.ceil((1 + codePoints(text as string)) * 0.1) * Math.ceil(codePoints(pattern as string) * 0.25)

const illegal = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    if (error instanceof CelRuntimeError) throw new CelRuntimeError(`Illegal regex: ${error.message}`)
    throw error
  }
}

const matches = ([text, pattern]: readonly CelValue[]): boolean =>
  compilePattern(pattern as string)
    .matcher(text as string)
    .find()

export const regexFunctions: readonly CelFunction[] = [
  functionNamed('matches', [
    { id: 'matches', params: [stringType, stringType], result: boolType, call: matches, cost: patternCost },
    {
      id: 'matches_string',
      member: true,
      params: [stringType, stringType],
      result: boolType,
      call: matches,
      cost: patternCost,
    },
  ]),
  functionNamed('find', [
    {
      id: 'string_find_string',
      member: true,
      params: [stringType, stringType],
      result: stringType,
      call: ([text, pattern]) => illegal(() => find(text as string, pattern as string)),
      cost: patternCost,
    },
  ]),
  functionNamed('findAll', [
    {
      id: 'string_find_all_string',
      member: true,
      params: [stringType, stringType],
      result: listOf(stringType),
      call: ([text, pattern]) => illegal(() => findAll(text as string, pattern as string, -1)),
      cost: patternCost,
    },
    {
      id: 'string_find_all_string_int',
      member: true,
      params: [stringType, stringType, intType],
      result: listOf(stringType),
      call: ([text, pattern, limit]) => illegal(() => findAll(text as string, pattern as string, limit as CelInt)),
      cost: patternCost,
    },
  ]),
]
