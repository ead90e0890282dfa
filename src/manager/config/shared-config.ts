/**
 * One section of settings for several operators: an operator with `configFrom` has the settings of the operator that it names.
 */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import { mergeOver } from './layer.ts'
import { type Problem, valueAt } from './problem.ts'
import type { Declared } from './schema.ts'

/** An operator with settings of another one has none of its own: which of them count would be a guess. */
export function sharingProblems(merged: JsonObject): readonly Problem[] {
  return sharedConfigs(merged).flatMap(([name, from]) => {
    const message = sharingProblem(merged, name, from)
    return message === undefined ? [] : [{ path: ['operators', name, 'configFrom'], message }]
  })
}

function sharingProblem(merged: JsonObject, name: string, from: string): string | undefined {
  const own = valueAt(merged, ['operators', name, 'config'])
  const other = valueAt(merged, ['operators', from])
  if (from === name) return 'it must name another operator'
  if (isJsonObject(own) && Object.keys(own).length > 0) return 'set either config or configFrom, not both'
  if (!isJsonObject(other)) return `there is no section of an operator "${from}"`
  if (ownMember(other, 'configFrom') !== undefined) return `${from} has none of its own: name the operator that has`
  return undefined
}

/** Names of operators, each with the name of the one whose settings it shares. */
function sharedConfigs(merged: JsonObject): readonly (readonly [name: string, from: string])[] {
  const sections = ownMember(merged, 'operators')
  return Object.entries(isJsonObject(sections) ? sections : {}).flatMap(([name, section]) => {
    const from = isJsonObject(section) ? ownMember(section, 'configFrom') : undefined
    return typeof from === 'string' ? [[name, from] as const] : []
  })
}

/**
 * Copies settings, with their places in `sources`. Each operator has those that it declares: a change of others does not restart it, and
 * no secret of others becomes its own.
 */
export function withSharedConfigs(
  merged: JsonObject,
  operators: readonly Declared[],
  sources: Map<string, string>,
): JsonObject {
  let whole = merged
  for (const [name, from] of sharedConfigs(merged)) {
    const declared = operators.find((one) => one.name === name)
    const given = valueAt(merged, ['operators', from, 'config'])
    const isOwn = (field: string): boolean => !declared || Object.hasOwn(declared.config?.fields ?? {}, field)
    const shared = Object.entries(isJsonObject(given) ? given : {}).filter(([field]) => isOwn(field))
    whole = mergeOver(whole, { operators: { [name]: { config: Object.fromEntries(shared) } } })
    const start = `operators.${from}.config.`
    const places = [...sources].filter(([path]) =>
      shared.some(([field]) => path === `${start}${field}` || path.startsWith(`${start}${field}.`)),
    )
    for (const [path, place] of places) sources.set(`operators.${name}.config.${path.slice(start.length)}`, place)
  }
  return whole
}
