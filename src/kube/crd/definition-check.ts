/** Validation of CustomResourceDefinitions, with the messages and the order of the real server. */
import {
  type Cause,
  duplicateValue,
  forbiddenValue,
  invalidValue,
  requiredValue,
  tooManyValues,
  unsupportedValue,
  invalidShown,
} from '../validation/cause.ts'
import { formatFieldPath, resolveFieldPath } from '../structural/field-path.ts'
import { compileNode, type SchemaNode } from '../structural/node.ts'
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
  CustomResourceSubresourceScale,
  CustomResourceValidation,
  JSONSchemaProps,
  SelectableField,
} from '../types/apiextensions/v1.ts'
import { dns1035Label, dnsSubdomain } from '../validation/name-validation.ts'
import { approvalCauses } from './approval.ts'
import { isCertificateBundle } from './certificate-bundle.ts'
import { conversionCauses } from './conversion-check.ts'
import { defaultCauses } from './default-check.ts'
import { embeddedChecks } from '../structural/embedded-checks.ts'
import { formatSchema, formatVersions, internalForm, type InternalSpec, usedFields } from './internal-form.ts'
import { crdSchemaCauses } from './schema-check.ts'
import { structuralCauses } from './structurality.ts'

/** Every validation error of a definition, or of an update of `live`. */
export function definitionCauses(
  crd: CustomResourceDefinition,
  live?: CustomResourceDefinition,
  isEstablished = false,
): readonly Cause[] {
  const { spec, status = {} } = crd
  return [
    ...(live ? [] : nameCauses(crd)),
    ...specCauses(crd),
    ...(isEstablished ? bundleCauses(crd) : []),
    ...(live ? fixedCauses(crd, live, isEstablished) : []),
    ...acceptedNamesCauses(crd),
    ...storedVersionCauses(status.storedVersions, spec.versions ?? []),
    ...approvalCauses(crd, live),
    ...(spec.preserveUnknownFields && !live?.spec.preserveUnknownFields
      ? [
          invalidValue(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
          ),
        ]
      : []),
  ]
}

export function acceptedNamesCauses({ status }: CustomResourceDefinition): readonly Cause[] {
  return namesCauses(status?.acceptedNames, 'status.acceptedNames')
}

/** The general form of the name is validated for all kinds alike. */
function nameCauses({ metadata, spec }: CustomResourceDefinition): readonly Cause[] {
  const expected = `${spec.names?.plural ?? ''}.${spec.group ?? ''}`
  return (['generateName', 'name'] as const).flatMap((member) => {
    const name = metadata[member] ?? ''
    if (name === '' || name === expected) return []
    return [invalidValue(`metadata.${member}`, name, 'must be spec.names.plural+"."+spec.group')]
  })
}

/** Names and scope are part of the storage key, and therefore immutable. */
function fixedCauses(
  { spec }: CustomResourceDefinition,
  { spec: before }: CustomResourceDefinition,
  isEstablished: boolean,
): readonly Cause[] {
  const fixed: readonly (readonly [string, string, string])[] = [
    ...(isEstablished
      ? ([
          ['spec.scope', spec.scope, before.scope],
          ['spec.names.kind', spec.names.kind, before.names.kind],
        ] as const)
      : []),
    ['spec.group', spec.group, before.group],
    ['spec.names.plural', spec.names.plural, before.names.plural],
  ]
  return fixed
    .filter(([, value, old]) => value !== old)
    .map(([field, value]) => invalidValue(field, value, 'field is immutable'))
}

/** Until a definition is established, an invalid CA bundle only delays it. */
function bundleCauses({ spec }: CustomResourceDefinition): readonly Cause[] {
  const bundle = spec.conversion?.strategy === 'Webhook' ? spec.conversion.webhook?.clientConfig?.caBundle : undefined
  if (!bundle || isCertificateBundle(bundle)) return []
  const why = 'unable to load root certificates: unable to parse bytes as PEM block'
  return [invalidValue('spec.conversion.webhookClientConfig.caBundle', bundle, why)]
}

function specCauses({ spec }: CustomResourceDefinition): readonly Cause[] {
  const internal = internalForm(spec)
  const { versions } = internal
  const hasOwnEndpoints = versions.some((one) => one.subresources)
  return [
    ...groupCauses(spec.group ?? ''),
    ...scopeCauses(spec.scope ?? ''),
    ...missingSchemaCauses(internal),
    ...versions.flatMap((version, index) =>
      versionCauses(version, { internal, hasOwnEndpoints }, `spec.versions[${index}]`),
    ),
    ...versionListCauses(versions),
    ...requiredNameCauses(spec.names),
    ...namesCauses(spec.names, 'spec.names'),
    ...validationCauses(internal.schema, hasAnyStatus(internal), 'spec.validation'),
    ...subresourceCauses(internal.subresources, 'spec.subresources'),
    ...(internal.additionalPrinterColumns ?? []).flatMap((column, index) =>
      columnCauses(column, `spec.additionalPrinterColumns[${index}]`),
    ),
    ...commonSelectableCauses(internal),
    ...(spec.preserveUnknownFields && spec.conversion && spec.conversion.strategy !== 'None'
      ? [
          invalidValue(
            'spec.conversion.strategy',
            spec.conversion.strategy,
            'must be None if spec.preserveUnknownFields is true',
          ),
        ]
      : []),
    ...conversionCauses(spec.conversion, 'spec.conversion'),
  ]
}

function groupCauses(group: string): readonly Cause[] {
  if (group === '') return [requiredValue('spec.group')]
  const problems = dnsSubdomain(group)
  if (problems.length > 0) return [invalidValue('spec.group', group, problems.join(','))]
  return group.includes('.') ? [] : [invalidValue('spec.group', group, 'should be a domain with at least one dot')]
}

function scopeCauses(scope: string): readonly Cause[] {
  if (scope === '') return [requiredValue('spec.scope')]
  const scopes = ['Cluster', 'Namespaced']
  return scopes.includes(scope) ? [] : [unsupportedValue('spec.scope', scope, scopes)]
}

function missingSchemaCauses({ schema, versions }: InternalSpec): readonly Cause[] {
  if (schema?.openAPIV3Schema) return []
  return versions.flatMap((version, index) =>
    version.schema?.openAPIV3Schema ? [] : [requiredValue(`spec.versions[${index}].schema.openAPIV3Schema`)],
  )
}

function hasAnyStatus({ subresources, versions }: InternalSpec): boolean {
  return subresources?.status !== undefined || versions.some((version) => version.subresources?.status !== undefined)
}

function versionCauses(
  version: Partial<CustomResourceDefinitionVersion>,
  { internal, hasOwnEndpoints }: { readonly internal: InternalSpec; readonly hasOwnEndpoints: boolean },
  path: string,
): readonly Cause[] {
  const { name = '', schema, subresources, additionalPrinterColumns = [], selectableFields = [] } = version
  const problems = dns1035Label(name)
  const endpoints = hasOwnEndpoints ? subresources : internal.subresources
  return [
    ...(problems.length > 0 ? [invalidValue(`${path}.name`, name, problems.join(','))] : []),
    ...deprecationCauses(version, `${path}.deprecationWarning`),
    ...validationCauses(schema, endpoints?.status !== undefined, `${path}.schema`),
    ...subresourceCauses(subresources, `${path}.subresources`),
    ...additionalPrinterColumns.flatMap((column, index) =>
      columnCauses(column, `${path}.additionalPrinterColumns[${index}]`),
    ),
    ...(selectableFields.length === 0
      ? []
      : schema?.openAPIV3Schema
        ? selectableCauses(selectableFields, schema.openAPIV3Schema, `${path}.selectableFields`)
        : [
            invalidValue(
              `${path}.selectableFields`,
              '',
              'may only be set when `version.schema.openAPIV3Schema` is not included',
            ),
          ]),
  ]
}

function deprecationCauses(
  { deprecated, deprecationWarning: text }: Partial<CustomResourceDefinitionVersion>,
  path: string,
): readonly Cause[] {
  if (text === undefined) return []
  const refuse = (detail: string): Cause => invalidValue(path, text, detail)
  if (!deprecated) return [refuse('can only be set for deprecated versions')]
  const strange = text.search(/(?! )[\p{C}\p{Z}]/u)
  return [
    ...(Buffer.byteLength(text) > 256 ? [refuse('must be <= 256 characters long')] : []),
    ...(text === '' ? [refuse('must not be an empty string')] : []),
    ...(strange < 0
      ? []
      : [
          refuse(
            `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(text.slice(0, strange))}`,
          ),
        ]),
  ]
}

function versionListCauses(versions: readonly CustomResourceDefinitionVersion[]): readonly Cause[] {
  const names = versions.map(({ name }) => name)
  const refuse = (detail: string): Cause => invalidShown('spec.versions', formatVersions(versions), detail)
  const [first = ''] = names
  const problems = versions.length > 0 ? dns1035Label(first) : []
  return [
    ...(new Set(names).size < names.length ? [refuse('must contain unique version names')] : []),
    ...(versions.filter(({ storage }) => storage).length === 1
      ? []
      : [refuse('must have exactly one version marked as storage version')]),
    ...(first !== '' && problems.length > 0 ? [invalidValue('spec.version', first, problems.join(','))] : []),
  ]
}

function requiredNameCauses(names: Partial<CustomResourceDefinitionNames> = {}): readonly Cause[] {
  return (['plural', 'singular', 'kind', 'listKind'] as const)
    .filter((name) => !names[name])
    .map((name) => requiredValue(`spec.names.${name}`))
}

function namesCauses(names: Partial<CustomResourceDefinitionNames> = {}, path: string): readonly Cause[] {
  const { plural = '', singular = '', kind = '', listKind = '', shortNames = [], categories = [] } = names
  const label = (value: string, field: string): readonly Cause[] => {
    const problems = dns1035Label(value)
    return problems.length === 0 ? [] : [invalidValue(`${path}.${field}`, value, problems.join(','))]
  }
  const mixed = (value: string, field: string): readonly Cause[] => {
    const problems = value === '' ? [] : dns1035Label(value.toLowerCase())
    if (problems.length === 0) return []
    const why = `may have mixed case, but should otherwise match: ${problems.join(',')}`
    return [invalidValue(`${path}.${field}`, value, why)]
  }
  return [
    ...(plural === '' ? [] : label(plural, 'plural')),
    ...(singular === '' ? [] : label(singular, 'singular')),
    ...mixed(kind, 'kind'),
    ...mixed(listKind, 'listKind'),
    ...shortNames.flatMap((name, index) => label(name, `shortNames[${index}]`)),
    ...(kind !== '' && kind === listKind
      ? [invalidValue(`${path}.listKind`, listKind, 'kind and listKind may not be the same')]
      : []),
    ...categories.flatMap((name, index) => label(name, `categories[${index}]`)),
  ]
}

const rootFields = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
]

function validationCauses(
  validation: CustomResourceValidation | undefined,
  hasStatus: boolean,
  parent: string,
): readonly Cause[] {
  const schema = validation?.openAPIV3Schema
  if (!schema) return []
  const path = `${parent}.openAPIV3Schema`
  const causes = [
    ...(hasStatus ? rootCauses(schema, path) : []),
    ...(schema.nullable ? [forbiddenValue(`${path}.nullable`, 'nullable cannot be true at the root')] : []),
  ]
  const unreadable = unreadableKeyword(schema)
  const shape = unreadable === undefined ? skeletonCauses(schema, path) : []
  const hasRules = unreadable === undefined && shape.length === 0
  for (const cause of [...shape, ...crdSchemaCauses(schema, path, hasRules)]) causes.push(cause)
  // Usually another error reports the same problem in clearer words already.
  return causes.length === 0 && unreadable !== undefined ? [invalidValue(path, '', unreadable)] : causes
}

function skeletonCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  const structural = structuralCauses(schema, path)
  return structural.length > 0 ? structural : defaultCauses(compileNode(schema), path, embeddedChecks)
}

/**
 * The root schema: `/status` validates `status` alone, so with it the root may hold no keyword that would not be
 * evaluated then.
 */
function rootCauses(schema: JSONSchemaProps, path: string): readonly Cause[] {
  for (const field of usedFields(schema)) {
    if (field === 'Type' && schema.type !== 'object') {
      const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
      return [invalidValue(`${path}.type`, schema.type ?? '', why)]
    }
    if (!rootFields.includes(field)) {
      const why = `only [${rootFields.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`
      return [invalidShown(path, formatSchema(schema), why)]
    }
  }
  return []
}

/** The first keyword that a structural schema cannot contain at all. */
function unreadableKeyword(schema: JSONSchemaProps): string | undefined {
  const used: readonly (readonly [string, unknown])[] = [
    ['id', schema.id],
    ['schema', schema.$schema],
    ['$ref', schema.$ref],
    ['patternProperties', Object.keys(schema.patternProperties ?? {}).length],
    ['dependencies', Object.keys(schema.dependencies ?? {}).length],
    ['additionalItems', schema.additionalItems !== undefined],
    ['definitions', Object.keys(schema.definitions ?? {}).length],
  ]
  const found = used.find(([, value]) => value)
  if (found) return `OpenAPIV3Schema '${found[0]}' is not supported`
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  }
  if (Array.isArray(schema.items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  const { not, allOf = [], anyOf = [], oneOf = [], properties = {}, additionalProperties, items } = schema
  const below = [
    ...(not ? [not] : []),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...(items ? [items as JSONSchemaProps] : []),
    ...Object.values(properties),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
  for (const one of below) {
    const problem = unreadableKeyword(one)
    if (problem !== undefined) return problem
  }
  return undefined
}

function subresourceCauses(subresources: CustomResourceSubresources | undefined, path: string): readonly Cause[] {
  return subresources?.scale ? scaleCauses(subresources.scale, path) : []
}

function scaleCauses(scale: Partial<CustomResourceSubresourceScale>, path: string): readonly Cause[] {
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale
  const under = (value: string, field: string, roots: readonly string[], words: string): readonly Cause[] => {
    const at = `${path}.scale.${field}`
    const problem = jsonPathProblem(value)
    if (problem !== undefined) return [invalidValue(at, value, problem)]
    if (roots.some((root) => value.startsWith(root))) return []
    return [invalidValue(at, value, `should be a json path under ${words}`)]
  }
  const needed = (value: string, field: string, root: string): readonly Cause[] =>
    value === '' ? [requiredValue(`${path}.scale.${field}`)] : under(value, field, [`${root}.`], root)
  return [
    ...needed(specReplicasPath, 'specReplicasPath', '.spec'),
    ...needed(statusReplicasPath, 'statusReplicasPath', '.status'),
    ...(labelSelectorPath === ''
      ? []
      : under(labelSelectorPath, 'labelSelectorPath', ['.spec.', '.status.'], 'either .spec or .status')),
  ]
}

function jsonPathProblem(path: string): string | undefined {
  return path.startsWith('.') ? undefined : 'must be a simple json path starting with .'
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function columnCauses(column: CustomResourceColumnDefinition, path: string): readonly Cause[] {
  const { name, type, format, jsonPath } = column
  const oneOf = (values: readonly string[]): string => `must be one of ${values.join(',')}`
  const problem = jsonPath ? jsonPathProblem(jsonPath) : undefined
  return [
    ...(name ? [] : [requiredValue(`${path}.name`)]),
    ...(type
      ? columnTypes.includes(type)
        ? []
        : [invalidValue(`${path}.type`, type, oneOf(columnTypes))]
      : [requiredValue(`${path}.type`, oneOf(columnTypes))]),
    ...(format && !columnFormats.includes(format)
      ? [invalidValue(`${path}.format`, format, oneOf(columnFormats))]
      : []),
    ...(jsonPath ? [] : [requiredValue(`${path}.JSONPath`)]),
    ...(problem === undefined ? [] : [invalidValue(`${path}.JSONPath`, jsonPath, problem)]),
  ]
}

function commonSelectableCauses({ schema, selectableFields = [] }: InternalSpec): readonly Cause[] {
  if (selectableFields.length === 0) return []
  if (schema?.openAPIV3Schema)
    return selectableCauses(selectableFields, schema.openAPIV3Schema, 'spec.selectableFields')
  return [invalidValue('spec.selectableFields', '', 'may only be set when validations.schema is included')]
}

const maxSelectable = 8

function selectableCauses(fields: readonly SelectableField[], schema: JSONSchemaProps, path: string): readonly Cause[] {
  const root = compileNode(schema)
  const seen = new Set<string>()
  const causes = fields.flatMap(({ jsonPath }, index) =>
    selectableFieldCauses(jsonPath, root, `${path}[${index}].jsonPath`, seen),
  )
  return seen.size > maxSelectable ? [...causes, tooManyValues(path, seen.size, maxSelectable)] : causes
}

function selectableFieldCauses(jsonPath: string, root: SchemaNode, path: string, seen: Set<string>): readonly Cause[] {
  if (!jsonPath) return [requiredValue(path)]
  const found = resolveFieldPath(jsonPath, root, { allowBrackets: false })
  if (found.problem !== undefined) return [invalidValue(path, jsonPath, `is an invalid path: ${found.problem}`)]
  const text = formatFieldPath(found.path)
  const isRepeated = seen.has(text)
  seen.add(text)
  const isScalar = ['string', 'boolean', 'integer'].includes(found.node?.schema.type ?? '')
  const why =
    'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
  return [
    ...(found.path[0]?.name === 'metadata'
      ? [invalidValue(path, jsonPath, 'must not point to fields in metadata')]
      : []),
    ...(isScalar ? [] : [invalidValue(path, jsonPath, why)]),
    ...(isRepeated ? [duplicateValue(path, jsonPath)] : []),
  ]
}

function storedVersionCauses(
  stored: readonly string[] | undefined,
  versions: readonly CustomResourceDefinitionVersion[],
): readonly Cause[] {
  const path = 'status.storedVersions'
  if (!stored || stored.length === 0) {
    return [invalidValue(path, stored ?? null, 'must have at least one stored version')]
  }
  const names = new Set(versions.map(({ name }) => name))
  const kept = new Set(stored)
  return [
    ...versions
      .filter(({ storage, name }) => storage && !kept.has(name))
      .map(({ name }) => invalidValue(path, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((version, index) =>
      names.has(version)
        ? []
        : [
            invalidValue(
              `${path}[${index}]`,
              version,
              `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
            ),
          ],
    ),
  ]
}
