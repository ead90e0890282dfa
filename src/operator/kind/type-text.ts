/** The TypeScript types of another project's kind, generated from its CRD. */
import { kubeErrors } from '../../kube/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { CustomResourceDefinition, JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'

const header = '/** Made by `muster generate types` from a CustomResourceDefinition. Do not edit: make it again. */'

/** One file: a type for each served version, named after the kind and the version. */
export function typesOfCrd({ spec, metadata }: CustomResourceDefinition): string {
  const { group, names, scope } = spec
  for (const word of [names.kind, ...spec.versions.map(({ name }) => name)]) {
    // These become identifiers, and the CRD is not trusted.
    if (!/^[A-Za-z][A-Za-z0-9]*$/.test(word)) {
      throw new MusterError(
        kubeErrors.InvalidObject,
        `a CustomResourceDefinition with the kind or version ${quoted(word)} makes no types.`,
      )
    }
  }
  const served = spec.versions.filter((version) => version.served)
  const texts = served.map(({ name, schema }) => {
    const root = schema?.openAPIV3Schema ?? {}
    const members = Object.entries(root.properties ?? {}).filter(([member]) => !common.has(member))
    const required = new Set(root.required)
    const own = members.map(([member, value]) => memberText(member, value, required.has(member), '  ')).join('')
    const type = `${names.kind}${served.length > 1 ? capitalised(name) : ''}`
    return `${documentation(root.description ?? `${names.kind} of ${group}/${name}.`, '')}export interface ${type} extends KubeObject {
  readonly apiVersion: ${quoted(`${group}/${name}`)}
  readonly kind: ${quoted(names.kind)}
${own}}

export const ${lowerFirst(type)}Resource: TypedResource<${type}> = {
  group: ${quoted(group)},
  version: ${quoted(name)},
  kind: ${quoted(names.kind)},
  plural: ${quoted(names.plural)},
  namespaced: ${scope === 'Namespaced'},
}
`
  })
  const source = `// ${(metadata?.name ?? names.plural).replaceAll(/\s/g, ' ')}`
  return `${header}\n${source}\nimport type { KubeObject } from '@muster-dev/muster/kube'\nimport type { TypedResource } from '@muster-dev/muster/operator'\n\n${texts.join('\n')}`
}

/** Members of every object. */
const common = new Set(['apiVersion', 'kind', 'metadata'])

function memberText(name: string, schema: JSONSchemaProps, isRequired: boolean, indent: string): string {
  // A field with a default is present when it is read.
  const isThere = isRequired || schema.default !== undefined
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
  const nullable = schema.nullable ? ' | null' : ''
  const comment = schema.description === undefined ? '' : documentation(schema.description, indent)
  return `${comment}${indent}readonly ${key}${isThere ? '' : '?'}: ${typeText(schema, indent)}${nullable}\n`
}

function typeText(schema: JSONSchemaProps, indent: string): string {
  if (schema['x-kubernetes-int-or-string']) return 'number | string'
  if (schema.enum)
    return schema.enum.map((value) => (typeof value === 'string' ? quoted(value) : JSON.stringify(value))).join(' | ')
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'array': {
      const item = Array.isArray(schema.items) ? undefined : (schema.items as JSONSchemaProps | undefined)
      const text = typeText(item ?? {}, indent)
      return `readonly ${/[ |]/.test(text) && !text.startsWith('{') ? `(${text})` : text}[]`
    }
    case 'object':
      return objectText(schema, indent)
    default:
      return 'unknown'
  }
}

function objectText(schema: JSONSchemaProps, indent: string): string {
  const { properties, additionalProperties } = schema
  if (properties) {
    const required = new Set(schema.required)
    const inner = `${indent}  `
    const members = Object.entries(properties).map(([name, value]) =>
      memberText(name, value, required.has(name), inner),
    )
    const rest = schema['x-kubernetes-preserve-unknown-fields'] ? `${inner}readonly [member: string]: unknown\n` : ''
    return `{\n${members.join('')}${rest}${indent}}`
  }
  const value = typeof additionalProperties === 'object' ? typeText(additionalProperties, indent) : 'unknown'
  return `Readonly<Record<string, ${value}>>`
}

function documentation(text: string, indent: string): string {
  // A `*/` in a description must not end our comment.
  const lines = text
    .replaceAll('*/', '*\\/')
    .split('\n')
    .map((line) => line.trimEnd())
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === '' ? '' : ` ${line}`}\n`).join('')}${indent} */\n`
}

/** A string literal in the style of our formatter. */
function quoted(text: string): string {
  const json = JSON.stringify(text)
  return text.includes("'") ? json : `'${json.slice(1, -1).replaceAll(String.raw`\"`, '"')}'`
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
