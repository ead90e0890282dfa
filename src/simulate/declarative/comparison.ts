/**
 * Compares two outputs by content: YAML style, order and what the rules exclude do not matter. Differences are shown as
 * a diff.
 */
import { equalJson, type Json } from '../../kube/json.ts'
import { unified } from '../../manager/plan/unified.ts'
import type { ControllerResult } from '../../contract/directory/controller-results.ts'
import { writeGoYaml } from '../../contract/text/go-yaml.ts'
import { actionOf, unspecifiedFolder } from '../../contract/declaration/mutation.ts'
import type { ReadMutation, ReadOutput } from '../../contract/directory/output-reader.ts'
import { isIgnored, reduced, type Rules } from './rules.ts'

/** One difference. */
export interface Discrepancy {
  readonly title: string
  /** A unified diff, or empty if the title says it all. */
  readonly lines: readonly string[]
}

export function compareOutputs(expected: ReadOutput, actual: ReadOutput, rules: Rules): readonly Discrepancy[] {
  return [
    ...compareResults(expected.results ?? [], actual.results),
    ...compareMutations(expected.mutations, actual.mutations, rules),
    ...actual.unknown.map((name) => ({ title: `${name} is no part of an output directory`, lines: [] })),
  ]
}

function compareResults(
  expected: readonly ControllerResult[],
  actual: readonly ControllerResult[] | undefined,
): readonly Discrepancy[] {
  if (!actual) return [{ title: 'there is no controller-results.yaml', lines: [] }]
  const sorted = (results: readonly ControllerResult[]): Json =>
    results
      .toSorted((a, b) => (a.controller < b.controller ? -1 : 1))
      .map(({ controller, status, errors }) => ({ controller, status, errors }))
  return differing('controller-results.yaml', sorted(expected), sorted(actual))
}

function compareMutations(
  expected: readonly ReadMutation[],
  actual: readonly ReadMutation[],
  rules: Rules,
): readonly Discrepancy[] {
  const left = grouped(expected, rules)
  const right = grouped(actual, rules)
  return [...new Set([...left.keys(), ...right.keys()])].toSorted().flatMap((key) => {
    const [missing, extra] = withoutTwins(left.get(key) ?? [], right.get(key) ?? [])
    // Requests with the same key are paired; the rest has no counterpart.
    return Array.from({ length: Math.max(missing.length, extra.length) }, (_, at): Discrepancy => {
      const [is, should] = [extra[at], missing[at]]
      const isUndeclared = key.startsWith(unspecifiedFolder)
      const what = is === undefined ? 'missing' : should !== undefined ? 'different' : 'not expected'
      const title = `${isUndeclared && is !== undefined ? 'not declared' : what}: ${key}`
      return { title, lines: lines(should, is, key) }
    })
  })
}

/** Mutations by the key of their request; a key may occur twice. */
function grouped(mutations: readonly ReadMutation[], rules: Rules): ReadonlyMap<string, readonly Json[]> {
  const counted = mutations.filter((read) => !isIgnored(read, rules))
  return new Map(
    [...Map.groupBy(counted, keyOf)].map(([key, reads]) => [
      key,
      reads.map((read): Json => {
        const body = reduced(read, rules)
        const { options } = read.mutation
        return { ...(body !== undefined && { body }), ...(Object.keys(options).length > 0 && { options }) }
      }),
    ]),
  )
}

function keyOf({ folder, mutation }: ReadMutation): string {
  const { type, namespace, name, generateName, controller, fieldManager, patchType } = mutation
  const group = type.group === '' ? '' : `.${type.group}`
  const place = namespace === undefined ? '' : `${namespace}/`
  const by = [controller, ...(fieldManager === undefined || fieldManager === controller ? [] : [`as ${fieldManager}`])]
  const patch = patchType === undefined ? '' : ` (${patchType})`
  const who = by.filter((word) => word !== '').join(' ')
  const what = `${type.resource}${group}/${type.version} ${place}${name || generateName}`
  return `${folder} ${actionOf(mutation)}${patch} ${what}${who === '' ? '' : ` by ${who}`}`
}

function withoutTwins(left: readonly Json[], right: readonly Json[]): readonly [readonly Json[], readonly Json[]] {
  const extra = [...right]
  const missing = left.filter((one) => {
    const at = extra.findIndex((other) => equalJson(one, other))
    if (at >= 0) extra.splice(at, 1)
    return at < 0
  })
  return [missing, extra]
}

export function differing(name: string, expected: Json, actual: Json): readonly Discrepancy[] {
  if (equalJson(expected, actual)) return []
  return [{ title: `different: ${name}`, lines: lines(expected, actual, name) }]
}

function lines(expected: Json | undefined, actual: Json | undefined, name: string): readonly string[] {
  const text = (value: Json | undefined): string | undefined => (value === undefined ? undefined : writeGoYaml(value))
  return unified(text(expected), text(actual), name).map((line) => line.text)
}
