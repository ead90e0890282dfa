/** Regular expressions of schemas: RE2, as in Helm, so that matching takes linear time. */
import { RE2JS } from 're2js'
import type { Checker } from './json-schema.ts'

const compiled = new WeakMap<Checker, Map<string, RE2JS>>()

/** @throws InvalidChart if the pattern is malformed */
export function matchesPattern(pattern: string, text: string, checker: Checker): boolean {
  const known = compiled.get(checker) ?? new Map<string, RE2JS>()
  compiled.set(checker, known)
  let expression = known.get(pattern)
  if (!expression) {
    try {
      expression = RE2JS.compile(pattern)
    } catch {
      throw checker.invalid(`the pattern '${pattern}' is not valid`)
    }
    known.set(pattern, expression)
  }
  return expression.matcher(text).find()
}
