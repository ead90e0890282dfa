/**
 * A CRD in the internal version of the real server. There, fields that are equal in all versions stand above them,
 * which is why messages speak of `spec.validation` where a client has written `spec.versions[0].schema`; and where a
 * message shows a value, it shows Go's field names.
 */
import { formatGoJson } from '../go/go-text.ts'
import { equalJson, type Json, type JsonObject } from '../json.ts'
import type {
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  JSONSchemaProps,
  ValidationRule,
} from '../types/apiextensions/v1.ts'

type PerVersion = Pick<
  CustomResourceDefinitionVersion,
  'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'
>

export interface InternalSpec extends PerVersion {
  readonly versions: readonly CustomResourceDefinitionVersion[]
}

const perVersion = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const

/** The fields that all versions have in common, and the versions without those fields. */
export function internalForm(spec: Partial<CustomResourceDefinitionSpec>): InternalSpec {
  // An empty list is stored as null.
  const versions = spec.versions ?? []
  const [first] = versions
  if (!first) return { versions }
  const shared = perVersion.filter((name) =>
    versions.every((version) => equalJson(version[name] as Json | undefined, first[name] as Json | undefined)),
  )
  const common = Object.fromEntries(shared.map((name) => [name, first[name]])) as PerVersion
  const rest = versions.map((version) => {
    const own = Object.entries(version).filter(([name]) => !shared.includes(name as (typeof perVersion)[number]))
    return Object.fromEntries(own) as unknown as CustomResourceDefinitionVersion
  })
  return { ...common, versions: rest }
}

/** A struct as Go prints it: all fields, in the order of the struct. */
function struct(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([name, text]) => `"${name}":${text}`).join(',')}}`
}

function json(value: unknown): string {
  return value === undefined ? 'null' : formatGoJson(value as Json)
}

function list(values: readonly unknown[] | undefined, show: (value: never) => string): string {
  return values && values.length > 0 ? `[${values.map((value) => show(value as never)).join(',')}]` : 'null'
}

function map(values: object | undefined, show: (value: never) => string): string {
  const entries = Object.entries(values ?? {})
  if (entries.length === 0) return 'null'
  const members = entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${json(name)}:${show(value as never)}`)
  return `{${members.join(',')}}`
}

export function formatVersions(versions: readonly CustomResourceDefinitionVersion[]): string {
  return versions.length === 0 ? '[]' : list(versions, formatVersion)
}

function formatVersion(version: CustomResourceDefinitionVersion): string {
  const { subresources } = version
  return struct([
    ['Name', json(version.name ?? '')],
    ['Served', json(version.served ?? false)],
    ['Storage', json(version.storage ?? false)],
    ['Deprecated', json(version.deprecated ?? false)],
    ['DeprecationWarning', json(version.deprecationWarning)],
    ['Schema', version.schema ? struct([['OpenAPIV3Schema', optionalSchema(version.schema.openAPIV3Schema)]]) : 'null'],
    [
      'Subresources',
      subresources
        ? struct([
            ['Status', subresources.status ? '{}' : 'null'],
            ['Scale', scaleForm(subresources.scale)],
          ])
        : 'null',
    ],
    [
      'AdditionalPrinterColumns',
      list(
        version.additionalPrinterColumns,
        (column: NonNullable<CustomResourceDefinitionVersion['additionalPrinterColumns']>[number]) =>
          struct([
            ['Name', json(column.name)],
            ['Type', json(column.type)],
            ['Format', json(column.format ?? '')],
            ['Description', json(column.description ?? '')],
            ['Priority', json(column.priority ?? 0)],
            ['JSONPath', json(column.jsonPath)],
          ]),
      ),
    ],
    [
      'SelectableFields',
      list(version.selectableFields, ({ jsonPath }: { readonly jsonPath: string }) =>
        struct([['JSONPath', json(jsonPath)]]),
      ),
    ],
  ])
}

function scaleForm(scale: NonNullable<CustomResourceDefinitionVersion['subresources']>['scale']): string {
  if (!scale) return 'null'
  return struct([
    ['SpecReplicasPath', json(scale.specReplicasPath)],
    ['StatusReplicasPath', json(scale.statusReplicasPath)],
    ['LabelSelectorPath', json(scale.labelSelectorPath)],
  ])
}

function optionalSchema(schema: JSONSchemaProps | undefined): string {
  return schema ? formatSchema(schema) : 'null'
}

/** A field that is a schema, a list or a boolean; Go has a struct with one field for each. */
function schemaOr(value: unknown, other: 'JSONSchemas' | 'Property' | 'Allows'): string {
  if (value === undefined) return 'null'
  if (other === 'Allows') {
    return struct([
      ['Allows', String(value !== false)],
      ['Schema', typeof value === 'object' ? formatSchema(value as JSONSchemaProps) : 'null'],
    ])
  }
  const isList = Array.isArray(value)
  return struct([
    ['Schema', isList ? 'null' : formatSchema(value as JSONSchemaProps)],
    [other, isList ? (other === 'Property' ? json(value) : list(value, formatSchema)) : 'null'],
  ])
}

export function formatSchema(schema: JSONSchemaProps): string {
  const text = (value: string | undefined): string => json(value ?? '')
  const flag = (value: boolean | undefined): string => json(value ?? false)
  return struct([
    ['ID', text(schema.id)],
    ['Schema', text(schema.$schema)],
    ['Ref', json(schema.$ref)],
    ['Description', text(schema.description)],
    ['Type', text(schema.type)],
    ['Nullable', flag(schema.nullable)],
    ['Format', text(schema.format)],
    ['Title', text(schema.title)],
    ['Default', json(schema.default)],
    ['Maximum', json(schema.maximum)],
    ['ExclusiveMaximum', flag(schema.exclusiveMaximum)],
    ['Minimum', json(schema.minimum)],
    ['ExclusiveMinimum', flag(schema.exclusiveMinimum)],
    ['MaxLength', json(schema.maxLength)],
    ['MinLength', json(schema.minLength)],
    ['Pattern', text(schema.pattern)],
    ['MaxItems', json(schema.maxItems)],
    ['MinItems', json(schema.minItems)],
    ['UniqueItems', flag(schema.uniqueItems)],
    ['MultipleOf', json(schema.multipleOf)],
    ['Enum', list(schema.enum, json)],
    ['MaxProperties', json(schema.maxProperties)],
    ['MinProperties', json(schema.minProperties)],
    ['Required', list(schema.required, json)],
    ['Items', schemaOr(schema.items, 'JSONSchemas')],
    ['AllOf', list(schema.allOf, formatSchema)],
    ['OneOf', list(schema.oneOf, formatSchema)],
    ['AnyOf', list(schema.anyOf, formatSchema)],
    ['Not', optionalSchema(schema.not)],
    ['Properties', map(schema.properties, formatSchema)],
    ['AdditionalProperties', schemaOr(schema.additionalProperties, 'Allows')],
    ['PatternProperties', map(schema.patternProperties, formatSchema)],
    ['Dependencies', map(schema.dependencies, (value) => schemaOr(value, 'Property'))],
    ['AdditionalItems', schemaOr(schema.additionalItems, 'Allows')],
    ['Definitions', map(schema.definitions, formatSchema)],
    [
      'ExternalDocs',
      schema.externalDocs
        ? struct([
            ['Description', text(schema.externalDocs.description)],
            ['URL', text(schema.externalDocs.url)],
          ])
        : 'null',
    ],
    ['Example', json(schema.example)],
    ['XPreserveUnknownFields', json(schema['x-kubernetes-preserve-unknown-fields'])],
    ['XEmbeddedResource', flag(schema['x-kubernetes-embedded-resource'])],
    ['XIntOrString', flag(schema['x-kubernetes-int-or-string'])],
    ['XListMapKeys', list(schema['x-kubernetes-list-map-keys'], json)],
    ['XListType', json(schema['x-kubernetes-list-type'])],
    ['XMapType', json(schema['x-kubernetes-map-type'])],
    ['XValidations', list(schema['x-kubernetes-validations'], formatRule)],
  ])
}

export function formatRule(rule: ValidationRule): string {
  return struct([
    ['Rule', json(rule.rule ?? '')],
    ['Message', json(rule.message ?? '')],
    ['MessageExpression', json(rule.messageExpression ?? '')],
    ['Reason', json(rule.reason)],
    ['FieldPath', json(rule.fieldPath ?? '')],
    ['OptionalOldSelf', json(rule.optionalOldSelf)],
  ])
}

/** Go's names of the fields that a schema uses, in the order of Go's struct. */
export function usedFields(schema: JSONSchemaProps): readonly string[] {
  const printed = JSON.parse(formatSchema(schema)) as JsonObject
  return Object.entries(printed)
    .filter(([, value]) => value !== null && value !== '' && value !== false)
    .map(([name]) => name)
}
