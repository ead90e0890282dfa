/**
 * Single settings from the environment (`MUSTER__leaderElection__leaderElect=true`) and from flags (`--set
 * leaderElection.leaderElect=true`). Each names a path, and its text is parsed by the schema of that path.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { Layer, PlacedProblem } from './layer.ts'
import { guess } from './problem.ts'
import { configurationSchema, type Declared, memberOf } from './schema.ts'

const prefix = 'MUSTER__'

/** One value, its position, and its path. */
export interface Override {
  readonly path: readonly string[]
  readonly text: string
  /** `environment variable MUSTER__paused`, `flag --set paused`. */
  readonly place: string
}

export function environmentLayer(
  environment: Readonly<Record<string, string | undefined>>,
  operators: readonly Declared[] = [],
): Layer {
  const overrides = Object.entries(environment).flatMap(([name, text]): readonly Override[] =>
    name.startsWith(prefix) && text !== undefined
      ? [{ path: pathIn(name), text, place: `environment variable ${name}` }]
      : [],
  )
  return overrideLayer('environment', overrides, operators)
}

/**
 * Environment variables cannot contain `-`, and names of operators and clusters cannot contain `_`: so `_` stands for
 * `-`.
 */
function pathIn(variable: string): readonly string[] {
  const path = variable.slice(prefix.length).split('__')
  const isNamed = path[0] === 'operators' || path[0] === 'clusters'
  return path.map((step, at) => (isNamed && at === 1 ? step.replaceAll('_', '-') : step))
}

/** Each is `path=value`. */
export function flagLayer(settings: readonly string[], operators: readonly Declared[] = []): Layer {
  const overrides = settings.map((setting): Override | PlacedProblem => {
    const at = setting.indexOf('=')
    // The value may be secret: messages contain only the part before `=`.
    if (at <= 0) return { path: [], message: 'write path=value', place: 'flag --set' }
    const name = setting.slice(0, at)
    return { path: name.split('.'), text: setting.slice(at + 1), place: `flag --set ${name}` }
  })
  return overrideLayer('flags', overrides, operators)
}

/** Later ones win. */
export function overrideLayer(
  source: string,
  overrides: readonly (Override | PlacedProblem)[],
  operators: readonly Declared[],
): Layer {
  const { schema } = configurationSchema(operators)
  const problems: PlacedProblem[] = []
  const places = new Map<string, string>()
  let value: JsonObject = {}
  for (const override of overrides) {
    if (!('text' in override)) {
      problems.push(override)
      continue
    }
    const { path, text, place } = override
    const found = lookUp(schema, path)
    if ('message' in found) {
      problems.push({ path, message: found.message, place })
      continue
    }
    value = withValue(value, path, read(text, found.schema))
    places.set(path.join('.'), place)
  }
  return { source, value, places, problems }
}

function withValue(value: JsonObject, [name = '', ...rest]: readonly string[], leaf: Json): JsonObject {
  const below = Object.hasOwn(value, name) ? value[name] : undefined
  const next = rest.length === 0 ? leaf : withValue(isJsonObject(below) ? below : {}, rest, leaf)
  return Object.fromEntries([...Object.entries(value).filter(([other]) => other !== name), [name, next]])
}

type Found = { readonly schema: JSONSchemaProps | undefined } | { readonly message: string }

/** The schema of a path; undefined where any value is allowed. */
function lookUp(whole: JSONSchemaProps, path: readonly string[]): Found {
  let schema = whole
  for (const step of path) {
    if (schema['x-kubernetes-preserve-unknown-fields']) return { schema: undefined }
    const below = step === '' ? undefined : memberOf(schema, step)
    if (!below) return { message: `there is no key "${step}" there${guess(step, schema)}` }
    schema = below
  }
  return { schema }
}

/** Text stays text where the schema has a string; elsewhere it is parsed as JSON if possible. */
function read(text: string, schema: JSONSchemaProps | undefined): Json {
  if (schema?.type === 'string') return text
  if (schema?.type === 'array' && !text.trimStart().startsWith('[')) {
    return text.trim() === '' ? [] : text.split(',').map((item) => item.trim())
  }
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
