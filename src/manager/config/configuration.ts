/**
 * A configuration, put together from layers: defaults, a file or ConfigMap, the environment, flags; the later wins, value
 * by value, and each value remembers where it came from. It is strict: what is not known or makes no sense is an error
 * that names the place, and nothing of it comes into force.
 */
import { embeddedChecks } from '../../apiserver/crd/embedded-checks.ts'
import { durationToMs, parseDuration } from '../../kube/duration.ts'
import { MusterError } from '../../kube/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { type StructuralSchema, structuralSchema } from '../../kube/structural/structural.ts'
import type { Operator } from '../../operator/operator.ts'
import type { GateOptions } from '../scheduler.ts'
import { formatProblem, pathOf, type Problem, unknownKeys, valueAt } from './problem.ts'
import { asSettings, type GateSettings, type Settings, settingsSchema } from './settings.ts'

export interface Layer {
  /** Where it comes from: `muster.yaml`, `ConfigMap muster/config`, `environment`, `flags`. */
  readonly source: string
  readonly value: Json
  /** The text it was read from, so that lines can be told. */
  readonly text?: string
}

export interface Configuration {
  readonly settings: Settings
  /** Where each value came from, by its path; what is not there is a default. */
  readonly sources: ReadonlyMap<string, string>
}

/** @throws InvalidConfiguration naming every problem */
export function readConfiguration(layers: readonly Layer[], operators: readonly Operator[] = []): Configuration {
  const problems: string[] = []
  const sources = new Map<string, string>()
  let merged: JsonObject = {}
  for (const layer of layers) {
    const { value, source, text } = layer
    const found = problemsOf(value, operators)
    problems.push(...found.map((problem) => formatProblem(problem, text, source)))
    if (found.length > 0 || !isJsonObject(value)) continue
    merged = mergeOver(merged, value)
    note(value, [], source, sources)
  }
  if (problems.length === 0)
    problems.push(
      ...crossProblems(withDefaults(merged, operators)).map((problem) =>
        formatProblem(problem, undefined, sourceOf(problem, sources)),
      ),
    )
  if (problems.length > 0) {
    const list = problems.length === 1 ? ` ${problems[0]}` : `\n- ${problems.join('\n- ')}`
    throw new MusterError('InvalidConfiguration', `The configuration is not in order:${list}.`)
  }
  return { settings: withDefaults(merged, operators), sources }
}

let compiled: StructuralSchema | undefined

function schema(): StructuralSchema {
  return (compiled ??= structuralSchema(settingsSchema, { embedded: embeddedChecks }))
}

/** What one layer says that nobody understands. */
function problemsOf(value: Json, operators: readonly Operator[]): readonly Problem[] {
  if (value === null) return []
  if (!isJsonObject(value)) return [{ path: [], message: 'it must be a map of settings' }]
  const unknown = unknownKeys(value, settingsSchema)
  if (unknown.length > 0) return unknown
  const wrong = schema()
    .validate(value)
    .map(({ field = '', message = '' }) => ({ path: pathOf(field), message }))
  return wrong.length > 0 ? wrong : operators.flatMap((operator) => operatorProblems(value, operator))
}

function operatorProblems(value: JsonObject, { name, config }: Operator): readonly Problem[] {
  const path = ['operators', name, 'config']
  const given = valueAt(value, path)
  if (given === undefined) return []
  try {
    if (config) config.read(given as JsonObject)
    else if (!isJsonObject(given) || Object.keys(given).length > 0)
      return [{ path, message: `operator ${name} has no settings of its own` }]
    return []
  } catch (error) {
    return [{ path, message: (error as Error).message.replace(/^Configuration: /, '').replace(/\.$/, '') }]
  }
}

/** What is wrong only together. */
function crossProblems({ leaderElection, operators }: Settings): readonly Problem[] {
  const { leaseDuration, renewDeadline, retryPeriod } = leaderElection
  const problems: Problem[] = []
  if (ms(leaseDuration) <= ms(renewDeadline)) {
    problems.push({
      path: ['leaderElection', 'renewDeadline'],
      message: `${renewDeadline} must be less than leaseDuration, which is ${leaseDuration}`,
    })
  }
  if (ms(renewDeadline) <= 1.2 * ms(retryPeriod)) {
    problems.push({
      path: ['leaderElection', 'retryPeriod'],
      message: `${retryPeriod} must be well below renewDeadline, which is ${renewDeadline}`,
    })
  }
  for (const [name, { gates }] of Object.entries(operators)) {
    if (ms(gates.debounce) > ms(gates.debounceMax)) {
      problems.push({
        path: ['operators', name, 'gates', 'debounce'],
        message: `${gates.debounce} must not be more than debounceMax, which is ${gates.debounceMax}`,
      })
    }
  }
  return problems
}

function withDefaults(merged: JsonObject, operators: readonly Operator[]): Settings {
  const named = Object.fromEntries(operators.map(({ name }) => [name, valueAt(merged, ['operators', name]) ?? {}]))
  const given = (ownMember(merged, 'operators') ?? {}) as JsonObject
  return asSettings(schema().applyDefaults({ ...merged, operators: { ...given, ...named } }))
}

/** The gates of an operator as the scheduler takes them. */
export function gatesOf({
  debounce,
  debounceMax,
  coolDown,
  changesPerMinute,
  burst,
  concurrency,
}: GateSettings): GateOptions {
  return {
    debounce: { quietMs: ms(debounce), maxMs: ms(debounceMax) },
    coolDown: { leastMs: ms(coolDown) },
    allowance: { perMinute: changesPerMinute, burst },
    priority: { ageMs: 10_000 },
    concurrency,
  }
}

/** Maps are merged; anything else is replaced as a whole. */
function mergeOver(below: JsonObject, above: JsonObject): JsonObject {
  const merged = new Map(Object.entries(below))
  for (const [name, value] of Object.entries(above)) {
    const was = merged.get(name)
    merged.set(name, isJsonObject(was) && isJsonObject(value) ? mergeOver(was, value) : value)
  }
  return Object.fromEntries(merged)
}

function note(value: Json, path: readonly string[], source: string, sources: Map<string, string>): void {
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    for (const [name, member] of Object.entries(value)) note(member!, [...path, name], source, sources)
  } else sources.set(path.join('.'), source)
}

function sourceOf({ path }: Problem, sources: ReadonlyMap<string, string>): string {
  return sources.get(path.join('.')) ?? 'default'
}

function ms(text: string): number {
  return durationToMs(parseDuration(text))
}
