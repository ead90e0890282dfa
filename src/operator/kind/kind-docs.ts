/** The reference page of a kind as Markdown, from its definition: fields, defaults, validation. */
import { operatorErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import type { Kind } from './kind.ts'
import { sampleOf } from './kind-sample.ts'

export function describeKind(kind: Kind): string {
  const crd = kind.crd()
  const { names, group, scope, versions } = crd.spec
  const pages = versions.map(({ name, schema, deprecationWarning, storage }) => {
    const root = schema?.openAPIV3Schema ?? {}
    const rules = rulesOf(root)
    return [
      `## ${group}/${name}${storage ? '' : ' (served, not stored)'}`,
      ...(deprecationWarning === undefined ? [] : [`**Deprecated**: ${deprecationWarning}`]),
      ...(root.description === undefined ? [] : [root.description]),
      fieldTable('spec', root.properties?.['spec']),
      fieldTable('status', root.properties?.['status']),
      ...(rules.length > 0 ? ['### Rules', rules.map((rule) => `- ${rule}`).join('\n')] : []),
    ].join('\n\n')
  })
  const short = names.shortNames?.length ? `, short ${names.shortNames.join(', ')}` : ''
  return [
    `# ${names.kind}`,
    `${scope === 'Cluster' ? 'Lives in no namespace' : 'Lives in a namespace'}. \`kubectl get ${names.plural}\`${short}.`,
    ...pages,
    ...exampleOf(kind),
    '',
  ].join('\n\n')
}

/** None if the schema needs a hand-written sample. */
function exampleOf(kind: Kind): readonly string[] {
  try {
    return ['## Example', `\`\`\`yaml\n${writeYaml(sampleOf(kind) as unknown as Json).trimEnd()}\n\`\`\``]
  } catch (error) {
    if (isMusterError(error, operatorErrors.NoSample)) return []
    throw error
  }
}

function fieldTable(name: string, schema: JSONSchemaProps | undefined): string {
  const rows = schema ? rowsOf(schema, '') : []
  if (rows.length === 0) return `### ${name}\n\nNo fields.`
  return [`### ${name}`, '', '| field | type | given | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function rowsOf(schema: JSONSchemaProps, above: string): readonly string[] {
  const required = new Set(schema.required)
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${above}${name}`
    const items = field.items as JSONSchemaProps | undefined
    const values = isJsonObject(field.additionalProperties)
      ? (field.additionalProperties as JSONSchemaProps)
      : undefined
    const below = items
      ? rowsOf(items, `${path}[].`)
      : values
        ? rowsOf(values, `${path}.*.`)
        : rowsOf(field, `${path}.`)
    const own = `| \`${path}\` | ${typeOf(field)} | ${givenOf(field, required.has(name))} | ${meaningOf(field)} |`
    return [own].concat(below)
  })
}

function typeOf(schema: JSONSchemaProps): string {
  if (schema['x-kubernetes-int-or-string']) return schema.pattern === undefined ? 'number or text' : 'amount'
  if (schema.enum) return schema.enum.map((word) => `\`${word as string}\``).join(', ')
  const items = schema.items as JSONSchemaProps | undefined
  if (schema.type === 'array') return `list of ${items ? typeOf(items) : 'anything'}`
  if (schema.type === 'object') {
    const values = isJsonObject(schema.additionalProperties)
      ? (schema.additionalProperties as JSONSchemaProps)
      : undefined
    return values ? `map of ${typeOf(values)}` : 'object'
  }
  return words[schema.type ?? ''] ?? 'anything'
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'yes or no',
}

function givenOf({ default: value }: JSONSchemaProps, isRequired: boolean): string {
  if (value !== undefined) return `default \`${JSON.stringify(value)}\``
  return isRequired ? 'required' : 'optional'
}

function meaningOf(schema: JSONSchemaProps): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, format } = schema
  const bounds = [
    range(minimum, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    // The pattern of quantities is noise for readers.
    pattern === undefined || schema['x-kubernetes-int-or-string'] ? '' : `matches \`${pattern}\``,
    format === undefined || format === 'int64' ? '' : `a ${format}`,
    ...rulesOf(schema),
  ]
  const text = [schema.description ?? '', bounds.filter(Boolean).join('; ')].filter(Boolean).join(' ')
  return text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' ')
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return ''
  if (most === undefined) return `at least ${least}${unit}`
  return least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`
}

function rulesOf(schema: JSONSchemaProps): readonly string[] {
  const rules = schema['x-kubernetes-validations'] ?? []
  return rules.map(({ rule, message }) => (message === undefined ? `\`${rule}\`` : `${message} (\`${rule}\`)`))
}
