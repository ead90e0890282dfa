/** Regular expressions of kustomizations: Go's syntax, matched in linear time. */
import { patternOf, patternProblem } from '../../../kube/structural/pattern.ts'
import { failure } from '../failure.ts'

export type Pattern = (text: string) => boolean

/** Matches the whole text; the empty pattern matches everything. @throws KustomizationInvalid */
export function anchored(pattern: string, place: string): Pattern {
  return pattern === '' ? () => true : found(`^(?:${pattern})$`, place)
}

/** Matches a part of the text. @throws KustomizationInvalid */
export function found(pattern: string, place: string): Pattern {
  const problem = patternProblem(pattern)
  if (problem !== undefined) {
    throw failure('KustomizationInvalid', place, `not a regular expression: ${problem}`)
  }
  return patternOf(pattern)
}
