/**
 * Whether a value conforms to its shape: types match, no field is undeclared, every list item has a unique key. Everything
 * else (field sets, merging) relies on it.
 */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'
import type { Json } from '../json.ts'
import { identifyItem } from './list-item.ts'
import { encodeElement, formatElement } from './path-element.ts'
import type { ListShape, MapShape, ScalarShape, ApplyShape } from './shape.ts'
import { asList, asMap, kindIn } from './value.ts'

interface ConformanceOptions {
  /**
   * Allows several items of one key. A stored object may have them (validation is less strict than apply); an applied one may
   * not.
   * @default false
   */
  readonly allowDuplicates?: boolean
}

/** Throws `SchemaMismatch` with every problem and its path. */
export function checkConforms(value: Json, shape: ApplyShape, options: ConformanceOptions = {}): void {
  const problems = problemsOf(value, shape, options)
  if (problems.length === 0) return
  const lines = problems.map(({ path, why }) => (path === '' ? why : `${path}: ${why}`))
  throw new MusterError(
    kubeErrors.SchemaMismatch,
    lines.length === 1 ? `${lines[0]}` : ['errors:', ...lines].join('\n  '),
  )
}

export interface ConformanceProblem {
  /** `.spec.replica`; empty for the value itself. */
  readonly path: string
  readonly why: string
  /** The declared field names beside the unknown one. */
  readonly declared?: readonly string[]
}

/** Every problem with its path. */
export function conformanceProblems(
  value: Json,
  shape: ApplyShape,
  options: ConformanceOptions = {},
): readonly ConformanceProblem[] {
  return problemsOf(value, shape, options)
}

const none: readonly ConformanceProblem[] = []

function problem(why: string): readonly ConformanceProblem[] {
  return [{ path: '', why }]
}

function undeclared(shape: MapShape): readonly ConformanceProblem[] {
  return [{ path: '', why: 'field not declared in schema', declared: shape.names() }]
}

/** Paths are built only for problems: a conforming value costs nothing. */
function below(step: string, problems: readonly ConformanceProblem[]): readonly ConformanceProblem[] {
  return problems.map((one) => ({ ...one, path: step + one.path }))
}

function problemsOf(value: Json, shape: ApplyShape, options: ConformanceOptions): readonly ConformanceProblem[] {
  const kind = kindIn(shape, value)
  if (kind === 'scalar') return scalarProblems(value, shape.scalar as ScalarShape)
  return kind === 'map'
    ? mapProblems(value, shape.map as MapShape, options)
    : listProblems(value, shape.list as ListShape, options)
}

function mapProblems(value: Json, shape: MapShape, options: ConformanceOptions): readonly ConformanceProblem[] {
  const map = asMap(value)
  if (!map) return value === null ? none : problem(`expected map, got ${describe(value)}`)
  let problems: ConformanceProblem[] | undefined
  for (const name of Object.keys(map)) {
    const content = map[name]
    if (content === undefined) continue
    const member = shape.field(name)
    const found = member ? problemsOf(content, member, options) : undeclared(shape)
    if (found.length > 0) for (const one of below(`.${name}`, found)) (problems ??= []).push(one)
  }
  return problems ?? none
}

function listProblems(value: Json, shape: ListShape, options: ConformanceOptions): readonly ConformanceProblem[] {
  const list = asList(value)
  if (!list) return value === null ? none : problem(`expected list, got ${describe(value)}`)
  const problems: ConformanceProblem[] = []
  const seen = new Set<string>()
  for (const [index, item] of list.entries()) {
    const element = shape.atomic ? ({ kind: 'index', index } as const) : identifyItem(shape, item)
    // Without a key there is no path for details.
    if (typeof element === 'string') return [...problems, ...problem(`element ${index}: ${element}`)]
    const key = shape.atomic ? undefined : encodeElement(element)
    if (key !== undefined && seen.has(key) && !options.allowDuplicates) {
      problems.push(...problem(`duplicate entries for key ${formatElement(element)}`))
    }
    if (key !== undefined) seen.add(key)
    const found = problemsOf(item, shape.item(), options)
    if (found.length > 0) for (const one of below(formatElement(element), found)) problems.push(one)
  }
  return problems
}

function scalarProblems(value: Json, shape: ScalarShape): readonly ConformanceProblem[] {
  return isScalar(value, shape) ? none : problem(`expected ${wanted[shape]}, got ${describe(value)}`)
}

const wanted = { number: 'numeric (int or float)', string: 'string', boolean: 'boolean', any: 'any scalar' } as const

/** `null` is valid for any scalar. */
function isScalar(value: Json, shape: ScalarShape): boolean {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return shape === 'number' || shape === 'any'
    case 'string':
      return shape === 'string' || shape === 'any'
    case 'boolean':
      return shape === 'boolean' || shape === 'any'
    default:
      return value === null
  }
}

/** The type of a value, never the value: it may be a secret. */
function describe(value: Json): string {
  if (Array.isArray(value)) return 'list'
  return typeof value === 'object' ? 'map' : typeof value
}
