/**
 * Validates a desired object against the schema of its kind, before it is merged, compared or sent: a misspelt field is
 * reported to the author with its place and a suggestion.
 */
import { conformanceProblems, type ConformanceProblem } from '../../kube/apply/conformance.ts'
import { type ApplyShape, shapeOf } from '../../kube/apply/shape.ts'
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { formatApiVersion, type Resource } from '../../kube/kind.ts'
import { nearest } from '../../kube/text/nearest.ts'
import type { Input } from '../view/input.ts'
import type { Typing } from './difference.ts'
import { type FieldPath, parseFieldPath } from './field-path.ts'
import type { HashScope } from './scope.ts'

interface DesiredPart {
  /** `Dependent deployment`: whose part it is. */
  readonly of: string
  /** `initial`, `fromCR`: where the author wrote it. */
  readonly in: string
}

/** Further problems are only counted: the author corrects the first few. */
const mostShown = 5

/** @throws InvalidDependent */
export function checkConformity(value: Json, kind: Resource, typing: Typing, part: DesiredPart): void {
  const problem = conformityProblem(value, kind, typing)
  if (problem !== undefined)
    throw new MusterError(operatorErrors.InvalidDependent, `${part.of}, in ${part.in}: ${problem}`)
}

/** The problems, in sentences; undefined when there are none. */
export function conformityProblem(value: Json, kind: Resource, typing: Typing): string | undefined {
  const problems = conformanceProblems(value, shapeOf(typing.schema, typing.definitions))
  if (problems.length === 0) return undefined
  const texts = problems.slice(0, mostShown).map((problem) => textOf(problem, kind))
  const more = problems.length - texts.length
  return texts.join(' ') + (more > 0 ? ` And ${more} more.` : '')
}

/**
 * A scope with a field that its kind does not have would silently select nothing.
 * @throws InvalidDependent
 */
export function checkScopePaths(
  { paths = [], except = [] }: HashScope,
  kind: Resource,
  typing: Typing,
  of: string,
): void {
  for (const text of [...paths, ...except]) {
    const problem = pathProblem(parseFieldPath(text), shapeOf(typing.schema, typing.definitions))
    if (problem) throw new MusterError(operatorErrors.InvalidDependent, `${of}, in scope: ${textOf(problem, kind)}`)
  }
}

/**
 * An input with a field that its kind does not have would silently read nothing.
 * @throws InvalidController
 */
export function checkInputFields({ resource, fields = [] }: Input, typing: Typing, of: string): void {
  const shape = shapeOf(typing.schema, typing.definitions)
  if (!typing.schema) return
  for (const text of fields) {
    const problem = pathProblem(
      text.split('.').map((member) => ({ member })),
      shape,
      true,
    )
    if (problem)
      throw new MusterError(operatorErrors.InvalidController, `${of}, in fields(): ${textOf(problem, resource)}`)
  }
}

/** `isThroughLists`: a path through a list applies to each of its items. */
function pathProblem(path: FieldPath, root: ApplyShape, isThroughLists = false): ConformanceProblem | undefined {
  let shape = root
  let place = ''
  for (const part of path) {
    if (isThroughLists) shape = itemShape(shape)
    const isMember = 'member' in part
    const below = isMember ? shape.map?.field(part.member) : shape.list?.item()
    if (!below && !(isMember && shape.map))
      return { path: place, why: isMember ? 'it has no members' : 'it is no list' }
    place += isMember ? `.${part.member}` : `[${part.key}=${part.value}]`
    if (!below) return { path: place, why: '', declared: shape.map?.names() ?? [] }
    shape = below
  }
  return undefined
}

function itemShape(shape: ApplyShape): ApplyShape {
  return shape.map || !shape.list ? shape : itemShape(shape.list.item())
}

function textOf({ path, why, declared }: ConformanceProblem, kind: Resource): string {
  const place = path.replace(/^\./, '')
  if (!declared) return place === '' ? `${why}.` : `${place}: ${why}.`
  const name = path.slice(path.lastIndexOf('.') + 1)
  const meant = nearest(name, declared)
  const hint = meant === undefined ? hintOf(declared) : ` Did you mean "${meant}"?`
  return `${kind.kind} of ${formatApiVersion(kind)} has no field ${place}.${hint}`
}

function hintOf(declared: readonly string[]): string {
  return declared.length === 0 || declared.length > 12 ? '' : ` The fields there are ${declared.join(', ')}.`
}
