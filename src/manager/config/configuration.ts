/**
 * A configuration, merged from layers: defaults, a file or ConfigMap, the environment, flags. Later layers win, value
 * by value, and the source of each value is recorded. It is strict: an unknown key or invalid value is an error with
 * its position, and the whole configuration is rejected.
 */
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { patternOf } from '../../kube/structural/pattern.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { contradictions } from './contradiction.ts'
import { type Layer, mergeOver, placeIn, withoutNullSettings } from './layer.ts'
import {
  asSentence,
  formatProblem,
  listsForTexts,
  noneOf,
  pathOf,
  type Problem,
  unknownKeys,
  valueAt,
} from './problem.ts'
import { type ConfigurationSchema, configurationSchema, type Declared, mayHoldSecrets, schemaAt } from './schema.ts'
import { asSettings, type Settings } from './settings.ts'
import { sharingProblems, withSharedConfigs } from './shared-config.ts'

export interface Configuration {
  readonly settings: Settings
  /** The source of each value (`muster.yaml:7`), by its path; a path that is missing is a default. */
  readonly sources: ReadonlyMap<string, string>
}

/** @throws InvalidConfiguration with all problems */
export function readConfiguration(layers: readonly Layer[], operators: readonly Declared[] = []): Configuration {
  const schema = configurationSchema(operators)
  const problems: string[] = []
  const sources = new Map<string, string>()
  let merged: JsonObject = {}
  for (const layer of layers) {
    const value = withoutNullSettings(layer.value)
    const found = problemsOf(layer.value, value, schema)
    problems.push(...(layer.problems ?? []).map((problem) => formatProblem(problem, problem.place)))
    problems.push(...found.map((problem) => formatProblem(problem, placeIn(layer, problem.path))))
    if (found.length > 0 || !isJsonObject(value)) continue
    merged = mergeOver(merged, value)
    note(value, [], layer, sources)
  }
  if (problems.length > 0) throw notInOrder(problems)
  const unshared = sharingProblems(merged)
  if (unshared.length > 0) throw notInOrder(unshared.map((one) => formatProblem(one, sourceOf(one.path, sources))))
  const whole = withDefaults(withSharedConfigs(merged, operators, sources), operators, schema)
  const wrong = schemaProblems(whole, schema.whole, schema.schema).filter(({ path }) => !isOfDisabled(path, whole))
  // Contradictions are checked only between valid values.
  const together = wrong.length > 0 ? wrong : contradictions(asSettings(whole))
  if (together.length > 0) throw notInOrder(together.map((one) => formatProblem(one, sourceOf(one.path, sources))))
  return { settings: asSettings(whole), sources }
}

function notInOrder(problems: readonly string[]): MusterError {
  // One value may violate several rules with the same message.
  const reported = [...new Set(problems)]
  const list = reported.length === 1 ? ` ${reported[0]}` : `\n- ${reported.join('\n- ')}`
  return new MusterError(managerErrors.InvalidConfiguration, asSentence(`The configuration is invalid:${list}`))
}

/** The problems of one layer. An unknown key is a problem even without a value. */
function problemsOf(given: Json, value: Json, { schema, part }: ConfigurationSchema): readonly Problem[] {
  if (value === null) return []
  if (!isJsonObject(value)) return [{ path: [], message: 'it must be a map of settings' }]
  const unknown = unknownKeys(given, schema)
  return unknown.length > 0 ? unknown : [...schemaProblems(value, part, schema), ...listsForTexts(value, schema)]
}

function schemaProblems(
  value: JsonObject,
  checks: ConfigurationSchema['part'],
  schema: JSONSchemaProps,
): readonly Problem[] {
  return checks.validate(value).map(({ field = '', message = '' }) => {
    const path = pathOf(field)
    return { path, message: inWords(message, path, value, schema) }
  })
}

function inWords(message: string, path: readonly string[], value: JsonObject, schema: JSONSchemaProps): string {
  if (mayHoldSecrets(schema, path)) return 'the value is invalid, and not shown since it may be secret'
  const { title, pattern, enum: words } = schemaAt(schema, path) ?? {}
  const given = valueAt(value, path)
  if (words && given !== undefined) return noneOf(given, words)
  const isMisshapen = title !== undefined && typeof given === 'string' && !patternOf(pattern ?? '')(given)
  return isMisshapen ? `"${given.slice(0, 100)}" is not ${title}` : message
}

/** Missing settings of a disabled operator are no problem. */
function isOfDisabled([first, name = '', ...rest]: readonly string[], whole: JsonObject): boolean {
  return first === 'operators' && rest[0] === 'config' && valueAt(whole, [first, name, 'enabled']) === false
}

function withDefaults(merged: JsonObject, operators: readonly Declared[], { whole }: ConfigurationSchema): JsonObject {
  const named = operators.map(({ name }) => [name, valueAt(merged, ['operators', name]) ?? {}])
  const given = (ownMember(merged, 'operators') ?? {}) as JsonObject
  return whole.applyDefaults({ ...merged, operators: { ...given, ...Object.fromEntries(named) } as JsonObject })
}

function note(value: Json, path: readonly string[], layer: Layer, sources: Map<string, string>): void {
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    for (const [name, member] of Object.entries(value)) note(member!, [...path, name], layer, sources)
  } else sources.set(path.join('.'), placeIn(layer, path))
}

/** The source of a value, or of the first value below it, or of its parent. */
function sourceOf(path: readonly string[], sources: ReadonlyMap<string, string>): string {
  const name = path.join('.')
  const below = [...sources].find(([other]) => other === name || other.startsWith(`${name}.`))
  if (below) return below[1]
  for (let length = path.length - 1; length > 0; length--) {
    const place = sources.get(path.slice(0, length).join('.'))
    if (place !== undefined) return place
  }
  return 'default'
}
