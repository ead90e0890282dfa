/**
 * The schema of a whole configuration: that of the manager, with a section for each known operator, whose `config` is
 * as the operator declares it. Validation, defaults, flags, `muster config --schema` and masking of secrets all derive
 * from it.
 */
import { embeddedChecks } from '../../kube/structural/embedded-checks.ts'
import { isJsonObject } from '../../kube/json.ts'
import { type StructuralSchema, structuralSchema } from '../../kube/structural/structural.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { objectSchema } from '../../operator/kind/field.ts'
import type { Operator } from '../../operator/operator.ts'
import { settingsSchema } from './settings.ts'

/** The declarations of an operator that determine its section. */
export type Declared = Pick<Operator, 'name' | 'config'>

export interface ConfigurationSchema {
  readonly schema: JSONSchemaProps
  /** For a complete configuration. */
  readonly whole: StructuralSchema
  /** For one layer: missing values may be in another one. */
  readonly part: StructuralSchema
}

let last: { readonly operators: readonly Declared[]; readonly made: ConfigurationSchema } | undefined

export function configurationSchema(operators: readonly Declared[]): ConfigurationSchema {
  const isSame = last?.operators.length === operators.length && last.operators.every((one, at) => one === operators[at])
  if (!last || !isSame) last = { operators: [...operators], made: make(operators) }
  return last.made
}

function make(operators: readonly Declared[]): ConfigurationSchema {
  const schema = schemaWith(operators)
  return {
    schema,
    whole: structuralSchema(schema, { embedded: embeddedChecks }),
    part: structuralSchema(partOf(schema), { embedded: embeddedChecks }),
  }
}

function schemaWith(operators: readonly Declared[]): JSONSchemaProps {
  const all = settingsSchema.properties!['operators']!
  const section = all.additionalProperties as JSONSchemaProps
  const properties = Object.fromEntries(
    operators.map(({ name, config }) => {
      const own = { ...section.properties!['config']!, ...objectSchema(config?.fields ?? {}) }
      const { 'x-kubernetes-preserve-unknown-fields': _, ...declared } = own
      return [name, { ...section, properties: { ...section.properties, config: declared } }]
    }),
  )
  return { ...settingsSchema, properties: { ...settingsSchema.properties, operators: { ...all, properties } } }
}

/** Without requirements that only a complete configuration can meet. */
function partOf(schema: JSONSchemaProps): JSONSchemaProps {
  const { required: _, 'x-kubernetes-validations': __, properties, additionalProperties, items, ...rest } = schema
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, partOf(below)])),
    }),
    ...(isJsonObject(additionalProperties) && { additionalProperties: partOf(additionalProperties) }),
    // Lists are given as a whole, with their items.
    ...(items && { items }),
  }
}

/** The schema of a path; undefined where any value, or none, is allowed. */
export function schemaAt(schema: JSONSchemaProps, path: readonly string[]): JSONSchemaProps | undefined {
  let found: JSONSchemaProps | undefined = schema
  for (const step of path) found = found && memberOf(found, step)
  return found
}

export function memberOf(schema: JSONSchemaProps, name: string): JSONSchemaProps | undefined {
  const { properties = {}, additionalProperties, items } = schema
  if (Object.hasOwn(properties, name)) return properties[name]
  if (isJsonObject(items) && /^\d+$/.test(name)) return items
  return isJsonObject(additionalProperties) ? additionalProperties : undefined
}

/** Names of secret values, by suffix: `secretName` only names a Secret. */
const secretName = /(?:password|passwd|passphrase|token|secret|api_?key|private_?key|credential)s?$/i

/**
 * Whether the value of a path must not be shown: its operator declares `format: "password"` or could not be loaded to
 * declare anything, or its name looks like a secret. The manager's own settings contain no secrets, only references; the environment of programs may contain some.
 */
export function isSecretAt(schema: JSONSchemaProps, path: readonly string[]): boolean {
  if (isDeclared(path) && path.length > 3 && isUndeclared(schemaAt(schema, path.slice(0, 3)))) return true
  return path.some((name, at) => {
    if (schemaAt(schema, path.slice(0, at + 1))?.format === 'password') return true
    return isDeclared(path) && at > 2 && secretName.test(name)
  })
}

/** Whether a secret value may be at or below a path. */
export function mayHoldSecrets(schema: JSONSchemaProps, path: readonly string[]): boolean {
  const isAny = isDeclared(path) || isOfProgram(path)
  return isSecretAt(schema, path) || (isAny && holdsSecrets(schemaAt(schema, path)))
}

/** Part of an operator's own `config`. */
function isDeclared([first, , third]: readonly string[]): boolean {
  return first === 'operators' && third === 'config'
}

/** Part of a program's environment, or a parent of it. */
function isOfProgram([first, , third]: readonly string[]): boolean {
  return first === 'operators' && third === 'program'
}

/** An undeclared value may contain anything. */
function isUndeclared(schema: JSONSchemaProps | undefined): schema is undefined {
  return !schema || Boolean(schema['x-kubernetes-preserve-unknown-fields'])
}

function holdsSecrets(schema: JSONSchemaProps | undefined): boolean {
  if (isUndeclared(schema)) return true
  const { format, properties = {}, additionalProperties, items } = schema
  if (format === 'password') return true
  if (isJsonObject(additionalProperties) && holdsSecrets(additionalProperties)) return true
  if (isJsonObject(items) && holdsSecrets(items)) return true
  return Object.entries(properties).some(([name, below]) => secretName.test(name) || holdsSecrets(below))
}
