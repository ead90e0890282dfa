/**
 * JSON Schema, drafts 4 to 2020-12, for values.schema.json. It interprets a schema and compiles nothing: schemas come from charts,
 * and charts from anywhere. Patterns are matched in linear time, and problems never quote a value, which may be secret.
 *
 * References stay within the schema: nothing is fetched while a chart is rendered.
 */
import { isJsonObject, type Json, parseJson } from '../../kube/json.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { applyKeywords } from './keywords.ts'
import { type SchemaEvaluation, type SchemaProblem, printProblems } from './problem.ts'

/** 4, 6, 7, 2019 or 2020. */
type SchemaDraft = 4 | 6 | 7 | 2019 | 2020

/** Checks a value, or a part of it, against a schema or a part of it. */
export interface Checker {
  readonly draft: SchemaDraft
  check(this: void, schema: Json, value: Json, at: readonly string[]): SchemaEvaluation
  /** The schema that a reference names. @throws InvalidChart */
  resolve(this: void, reference: string): Json
  /** @throws InvalidChart */
  invalid(this: void, problem: string): MusterError
}

const deepest = 500
/** Alternatives within alternatives multiply: a check that takes longer has no end. */
const mostChecks = 2_000_000

/**
 * The problems of a value, one a line, in the words of Helm; none if it fits.
 * @throws InvalidChart if the schema cannot be used
 */
export function schemaProblems(text: string, value: Json, source: string): readonly string[] {
  const invalid = (problem: string): MusterError => new MusterError(renderErrors.InvalidChart, `${source}: ${problem}.`)
  let root: Json
  try {
    root = parseJson(text)
  } catch {
    throw invalid('it is not valid JSON')
  }
  const anchors = anchorsOf(root, invalid)
  let depth = 0
  let checks = 0
  const checker: Checker = {
    draft: draftOf(root),
    invalid,
    resolve: (reference) => resolve(root, anchors, reference, invalid),
    check(schema, part, at) {
      if (++checks > mostChecks) throw invalid('checking it takes too long')
      if (++depth > deepest) throw invalid('its references go round in circles')
      try {
        return checkOne(checker, schema, part, at)
      } finally {
        depth--
      }
    },
  }
  return printProblems(checker.check(root, value, []).problems)
}

function checkOne(checker: Checker, schema: Json, value: Json, at: readonly string[]): SchemaEvaluation {
  if (schema === true) return { problems: [], properties: new Set(), items: new Set() }
  if (isJsonObject(schema)) return applyKeywords(checker, schema, value, at)
  if (schema !== false) throw checker.invalid('a schema must be an object, true or false')
  const problem: SchemaProblem = { at, text: 'false schema', causes: [] }
  return { problems: [problem], properties: new Set(), items: new Set() }
}

function draftOf(root: Json): SchemaDraft {
  const named = isJsonObject(root) ? root['$schema'] : undefined
  const [, draft = '2020'] = /(?:draft-0|draft\/)([467]|2019|2020)/.exec(typeof named === 'string' ? named : '') ?? []
  return Number(draft) as SchemaDraft
}

/** Schemas by `$id`, `id` and `$anchor`. */
function anchorsOf(root: Json, invalid: (problem: string) => MusterError): ReadonlyMap<string, Json> {
  const anchors = new Map<string, Json>()
  const visit = (value: Json | undefined, depth: number): void => {
    if (depth > deepest) throw invalid('it is nested too deeply')
    if (Array.isArray(value)) for (const item of value as readonly Json[]) visit(item, depth + 1)
    else if (isJsonObject(value)) {
      for (const key of ['$id', 'id'] as const) {
        const id = value[key]
        if (typeof id === 'string') anchors.set(id.replace(/#$/, ''), value)
      }
      for (const key of ['$anchor', '$dynamicAnchor'] as const) {
        const anchor = value[key]
        if (typeof anchor === 'string') anchors.set(`#${anchor}`, value)
      }
      for (const member of Object.values(value)) visit(member, depth + 1)
    }
  }
  visit(root, 0)
  return anchors
}

function resolve(
  root: Json,
  anchors: ReadonlyMap<string, Json>,
  reference: string,
  invalid: (problem: string) => MusterError,
): Json {
  const known = anchors.get(reference)
  if (known !== undefined) return known
  const hash = reference.indexOf('#')
  const [base, pointer] = hash < 0 ? [reference, ''] : [reference.slice(0, hash), reference.slice(hash + 1)]
  const start = base === '' ? root : anchors.get(base)
  if (start === undefined) throw invalid(`the reference "${reference}" leads out of the schema, and nothing is fetched`)
  const found = pointer === '' ? start : atPointer(start, pointer)
  if (found === undefined) throw invalid(`the reference "${reference}" leads nowhere`)
  return found
}

function atPointer(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root
  for (const part of decoded(pointer).split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) value = value[Number(key)]
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  return pointer.startsWith('/') ? value : undefined
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
