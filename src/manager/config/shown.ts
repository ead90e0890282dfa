/** A configuration for display: every value in the order of the schema, with its source; secrets are masked. */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { Configuration } from './configuration.ts'
import { configurationSchema, type Declared, isSecretAt, memberOf } from './schema.ts'
import { quoted, scalar } from './yaml-scalar.ts'

export interface ShownSetting {
  readonly path: readonly string[]
  /** `(secret)` for a masked value. */
  readonly value: Json
  /** `muster.yaml:7`, `flag --set paused`, `default`. */
  readonly source: string
}

export function shownSettings(
  { settings, sources }: Configuration,
  operators: readonly Declared[],
): readonly ShownSetting[] {
  const { schema } = configurationSchema(operators)
  const walk = (value: Json, below: JSONSchemaProps | undefined, path: readonly string[]): readonly ShownSetting[] => {
    if (isJsonObject(value) && Object.keys(value).length > 0) {
      return ordered(value, below).flatMap((name) =>
        walk(ownMember(value, name)!, below && memberOf(below, name), [...path, name]),
      )
    }
    return [{ path, value: masked(value, path, schema), source: sources.get(path.join('.')) ?? 'default' }]
  }
  return walk(settings as unknown as Json, schema, [])
}

function masked(value: Json, path: readonly string[], schema: JSONSchemaProps): Json {
  if (isSecretAt(schema, path)) return '(secret)'
  if (isJsonArray(value)) return value.map((item, at) => masked(item, [...path, String(at)], schema))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, masked(member!, [...path, name], schema)]),
  )
}

/** In the order of the schema; names chosen by users are sorted. */
function ordered(value: Json, schema: JSONSchemaProps | undefined): readonly string[] {
  const names = Object.keys(value as object)
  if (!schema || isJsonObject(schema.additionalProperties)) return names.toSorted()
  const known = Object.keys(schema.properties ?? {})
  return names.toSorted((one, other) => known.indexOf(one) - known.indexOf(other))
}

/**
 * The same as YAML that is a valid configuration except for its secrets; values that are no defaults have their source
 * as a comment.
 */
export function shownYaml(shown: readonly ShownSetting[]): string {
  const lines: string[] = []
  let open: readonly string[] = []
  for (const { path, value, source } of shown) {
    const above = path.slice(0, -1)
    const same = above.findIndex((name, at) => open[at] !== name)
    for (let at = same < 0 ? above.length : same; at < above.length; at++) {
      lines.push(`${'  '.repeat(at)}${quoted(above[at]!)}:`)
    }
    open = above
    const said = source === 'default' ? '' : `  # ${source}`
    lines.push(`${'  '.repeat(above.length)}${quoted(path.at(-1) ?? '')}: ${scalar(value)}${said}`)
  }
  return lines.join('\n')
}
