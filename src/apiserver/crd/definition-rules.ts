/** The rules of the kind CustomResourceDefinition: defaults, initial status, validation, warnings. */
import type { Cause } from '../../kube/validation/cause.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { isKnownFormat } from '../../kube/structural/format.ts'
import type { CustomResourceDefinition, JSONSchemaProps } from '../../kube/types/apiextensions/v1.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'
import { crdOf, isEstablished } from './controller.ts'
import { acceptedNamesCauses, definitionCauses } from '../../kube/crd/definition-check.ts'
import { itemsOf } from '../../kube/crd/structurality.ts'

export const crdTable = 'customresourcedefinitions.apiextensions.k8s.io'

type Spec = CustomResourceDefinition['spec']

export const definitionRules: KindRules = {
  defaults: (object) => {
    // In Go `spec` is a struct: it is present even if the client did not send it.
    const spec = withoutNulls((object['spec'] ?? {}) as Json) as unknown as Spec
    return { ...withTexts(object), spec: withDefaults(spec) }
  },
  prepareCreate: (object) => ({
    ...object,
    status: { acceptedNames: { plural: '', kind: '' }, conditions: null, storedVersions: storedVersions(object, []) },
  }),
  prepareUpdate: (object, live) => {
    const status = crdOf(live).status ?? {}
    return { ...object, status: { ...status, storedVersions: storedVersions(object, status.storedVersions ?? []) } }
  },
  validateCreate: (object) => definitionCauses(crdOf(object)),
  validateUpdate: (object, live) => definitionCauses(crdOf(object), crdOf(live), isEstablished(crdOf(live))),
  validateStatus: (object): readonly Cause[] => acceptedNamesCauses(crdOf(object)),
  warnings: (object, live) => {
    const known = new Set(live ? schemaWarnings(crdOf(live)) : [])
    return schemaWarnings(crdOf(object)).filter((warning) => !known.has(warning))
  },
}

/** Members of a schema whose value may be null and is kept. */
const values = new Set(['default', 'example', 'enum'])

/** Go decodes null to an empty struct, map or list: such members are removed. */
function withoutNulls(value: Json): Json {
  if (isJsonArray(value)) return value.map(withoutNulls)
  if (!isJsonObject(value)) return value
  const members = Object.entries(value).filter(([name, member]) => member !== null || values.has(name))
  return Object.fromEntries(
    members.map(([name, member]) => [name, values.has(name) ? member! : withoutNulls(member ?? null)]),
  )
}

/** Labels and annotations are maps of strings; null is decoded to the empty string. */
function withTexts({ metadata, ...rest }: UntypedObject): UntypedObject {
  const texts = (member: Readonly<Record<string, string | null>>): Record<string, string> =>
    Object.fromEntries(Object.entries(member).map(([name, text]) => [name, text ?? '']))
  const { labels, annotations } = metadata
  return {
    ...rest,
    metadata: {
      ...metadata,
      ...(labels && { labels: texts(labels) }),
      ...(annotations && { annotations: texts(annotations) }),
    },
  }
}

function withDefaults(spec: Spec): Spec {
  const { names } = spec
  const service = spec.conversion?.webhook?.clientConfig?.service
  return {
    ...spec,
    ...(names && {
      names: {
        ...names,
        ...(!names.singular && names.kind && { singular: names.kind.toLowerCase() }),
        ...(!names.listKind && names.kind && { listKind: `${names.kind}List` }),
      },
    }),
    conversion: spec.conversion
      ? service && service.port === undefined
        ? withPort(spec.conversion, 443)
        : spec.conversion
      : { strategy: 'None' },
  }
}

function withPort(conversion: NonNullable<Spec['conversion']>, port: number): NonNullable<Spec['conversion']> {
  const webhook = conversion.webhook!
  const client = webhook.clientConfig!
  return { ...conversion, webhook: { ...webhook, clientConfig: { ...client, service: { ...client.service!, port } } } }
}

/** The versions in which objects are, or may still be, stored. */
function storedVersions(object: UntypedObject, before: readonly string[]): Json {
  const stored = crdOf(object).spec?.versions?.find(({ storage }) => storage)?.name
  if (stored === undefined) return before.length > 0 ? before : null
  return before.includes(stored) ? before : [...before, stored]
}

/** Warnings about a schema that is valid but may not do what its author expects. */
function schemaWarnings({ spec }: CustomResourceDefinition): readonly string[] {
  const formats: string[] = []
  const sets = new Set<string>()
  const visit = (schema: JSONSchemaProps): void => {
    const { format, type = '' } = schema
    if (format && !isFormatOf(format, type)) formats.push(`unrecognized format "${format}"`)
    const items = itemsOf(schema)
    if (schema['x-kubernetes-list-type'] === 'set' && (items?.type === 'object' || items?.type === 'array')) {
      sets.add(
        `x-kubernetes-list-type: set for items of type "${items.type}" is not supported by server-side apply or CEL validation rules`,
      )
    }
    for (const one of innerSchemas(schema)) visit(one)
  }
  for (const { schema } of spec?.versions ?? []) if (schema?.openAPIV3Schema) visit(schema.openAPIV3Schema)
  return [...new Set(formats), ...[...sets].toSorted()]
}

function isFormatOf(format: string, type: string): boolean {
  if (type === 'integer') return format === 'int32' || format === 'int64'
  if (type === 'number') return format === 'float' || format === 'double'
  return (type === '' || type === 'string') && isKnownFormat(format)
}

function innerSchemas(schema: JSONSchemaProps): readonly JSONSchemaProps[] {
  const { allOf = [], anyOf = [], oneOf = [], not, properties = {}, additionalProperties } = schema
  const items = itemsOf(schema)
  return [
    ...(items ? [items] : []),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...(not ? [not] : []),
    ...Object.values(properties),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
}
