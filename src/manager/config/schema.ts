/**
 * The schema of a whole configuration: that of the manager, with a section for each operator that is known, in which its
 * own settings are as it declares them. Everything derives from it: what is refused, what is filled in, which flags there
 * are, what `muster config --schema` prints, and what is never shown.
 */
import { embeddedChecks } from '../../kube/validation/embedded-checks.ts'
import { isJsonObject } from '../../kube/json.ts'
import { type StructuralSchema, structuralSchema } from '../../kube/structural/structural.ts'
import type { JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import { objectSchema } from '../../operator/field.ts'
import type { Operator } from '../../operator/operator.ts'
import { settingsSchema } from './settings.ts'

/** What is declared by an operator and decides on its section. */
export type Declared = Pick<Operator, 'name' | 'config'>

export interface ConfigurationSchema {
  readonly schema: JSONSchemaProps
  /** For a whole configuration. */
  readonly whole: StructuralSchema
  /** For a part of one: what is left out here may stand elsewhere. */
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

/** Without what only a whole can be asked for. */
function partOf(schema: JSONSchemaProps): JSONSchemaProps {
  const { required: _, 'x-kubernetes-validations': __, properties, additionalProperties, items, ...rest } = schema
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, partOf(below)])),
    }),
    ...(isJsonObject(additionalProperties) && { additionalProperties: partOf(additionalProperties) }),
    // Lists are given as a whole, items and all.
    ...(items && { items }),
  }
}

/** The schema of a path; undefined where anything may stand, or nothing. */
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

/** How secrets are called, at the end of a name: `secretName` only says where one is. */
const secretName = /(?:password|passwd|passphrase|token|secret|api_?key|private_?key|credential)s?$/i

/**
 * Whether the value of a path must not be shown: one that its operator marks with `format: "password"`, or that is called
 * like one. The manager's own settings hold none; they say where secrets are. What programs get as environment may be some.
 */
export function isSecretAt(schema: JSONSchemaProps, path: readonly string[]): boolean {
  return path.some((name, at) => {
    if (schemaAt(schema, path.slice(0, at + 1))?.format === 'password') return true
    return isDeclared(path) && at > 2 && secretName.test(name)
  })
}

/** Whether there may be such a value at a path, or below it. */
export function mayHoldSecrets(schema: JSONSchemaProps, path: readonly string[]): boolean {
  const isAny = isDeclared(path) || isOfProgram(path)
  return isSecretAt(schema, path) || (isAny && holdsSecrets(schemaAt(schema, path)))
}

/** Of what an operator declares itself. */
function isDeclared([first, , third]: readonly string[]): boolean {
  return first === 'operators' && third === 'config'
}

/** Of the environment of a program, or what is to hold one. */
function isOfProgram([first, , third]: readonly string[]): boolean {
  return first === 'operators' && third === 'program'
}

/** What nobody has declared may be anything. */
function holdsSecrets(schema: JSONSchemaProps | undefined): boolean {
  if (!schema || schema['x-kubernetes-preserve-unknown-fields']) return true
  const { format, properties = {}, additionalProperties, items } = schema
  if (format === 'password') return true
  if (isJsonObject(additionalProperties) && holdsSecrets(additionalProperties)) return true
  if (isJsonObject(items) && holdsSecrets(items)) return true
  return Object.entries(properties).some(([name, below]) => secretName.test(name) || holdsSecrets(below))
}
