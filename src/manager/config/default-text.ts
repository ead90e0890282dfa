/**
 * The defaults as a YAML file for people, each setting below its description. A new ConfigMap is created with it. A
 * setting without a default is a comment.
 */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { type Layer, mergeOver } from './layer.ts'
import { configurationSchema, type Declared, isSecretAt } from './schema.ts'
import { quoted, scalar } from './yaml-scalar.ts'

const header = `# The configuration of Muster. These are the defaults, written when there was none: change what you like, it is taken over
# at once where that is safe. "muster config" shows what is in force and where each value comes from.`

/** `layers`: values that are the defaults here, such as those of a Pod. */
export function defaultText(operators: readonly Declared[] = [], layers: readonly Layer[] = []): string {
  const { schema } = configurationSchema(operators)
  const { operators: sections, ...own } = schema.properties!
  const over = layers.reduce<JsonObject>((all, { value }) => (isJsonObject(value) ? mergeOver(all, value) : all), {})
  const parts = Object.entries(own).map(([name, member]) => {
    const here = Object.hasOwn(over, name) ? { ...member, default: over[name]! } : member
    return lines(name, here, [], schema).join('\n')
  })
  return `${[header, ...parts, operatorText(operators, sections!, schema)].join('\n\n')}\n`
}

/** The section of an operator: whether it is enabled, and the settings that it declares. The rest can be added. */
function operatorText(
  operators: readonly Declared[],
  { description, properties }: JSONSchemaProps,
  schema: JSONSchemaProps,
): string {
  if (operators.length === 0) return [comment(description, ''), 'operators: {}'].join('\n')
  const sections = operators.flatMap(({ name }) => {
    const { enabled, config } = properties![name]!.properties!
    const path = ['operators', name]
    const members = [...lines('enabled', enabled!, path, schema), ...lines('config', config!, path, schema)]
    return [`  ${quoted(name)}:`, ...members]
  })
  return [comment(description, ''), 'operators:', ...sections].join('\n')
}

/** The lines of one member of the section at `above`. */
function lines(
  name: string,
  schema: JSONSchemaProps,
  above: readonly string[],
  root: JSONSchemaProps,
): readonly string[] {
  const indent = '  '.repeat(above.length)
  const path = [...above, name]
  const said = schema.description === undefined ? [] : [comment(schema.description, indent)]
  const { properties = {}, default: value, required } = schema
  if (isSecretAt(root, path) || value === undefined) return [...said, `${indent}# ${quoted(name)}:`]
  if (Object.keys(properties).length === 0 || !isJsonObject(value)) {
    return [...said, `${indent}${quoted(name)}: ${scalar(value)}`]
  }
  const defaults = value
  const members = Object.entries(properties).flatMap(([below, its]) => {
    const own = Object.hasOwn(defaults, below) ? { ...its, default: defaults[below]! } : its
    return lines(below, own, path, root)
  })
  // A map with only comments would be null; and one that lacks a required value is reported when it is read.
  const isBare = required === undefined && members.every((line) => line.trimStart().startsWith('#'))
  return isBare
    ? [...said, `${indent}${quoted(name)}: {}`, ...members]
    : [...said, `${indent}${quoted(name)}:`, ...members]
}

function comment(text: string | undefined, indent: string): string {
  return (text ?? '')
    .split('\n')
    .map((line) => `${indent}# ${line}`)
    .join('\n')
}
