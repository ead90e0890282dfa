/**
 * The published schema of a custom resource: that of its CRD, with the standard metadata. OpenAPI v2 has neither
 * nullable values nor alternatives, and its clients reject fields that are not listed, so there the schema is reduced.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { isJsonArray, ownMember } from '../../../kube/json-member.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { metaSchemas, schemaName } from './names.ts'
import type { OpenApiSource } from './source.ts'

const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'

export function customSchema(served: ServedResource, source: OpenApiSource): JsonObject {
  const { properties, ...schema } = mapSchema(ownSchema(served), published)
  const { apiVersion, kind } = typeMeta(source)
  return {
    ...schema,
    properties: {
      ...(properties as JsonObject | undefined),
      apiVersion,
      kind,
      metadata: metadataProperty('ObjectMeta'),
    },
    ...marks(served, served.kind),
  }
}

/** The same for OpenAPI v2. */
export function customSchemaV2(served: ServedResource, source: OpenApiSource): JsonObject {
  const own = ownSchema(served)
  // No properties: if any were listed, kubectl would reject all others.
  if (own['x-kubernetes-preserve-unknown-fields'] === true) return { type: 'object', ...marks(served, served.kind) }
  const { properties, ...schema } = mapSchema(mapSchema(own, reduced), embedded)
  const { apiVersion, kind } = typeMeta(source)
  return {
    ...schema,
    properties: {
      ...(properties as JsonObject | undefined),
      apiVersion,
      kind,
      metadata: metadataProperty('ObjectMeta'),
    },
    ...marks(served, served.kind),
  }
}

export function customListSchema(served: ServedResource, source: OpenApiSource): JsonObject {
  const { apiVersion, kind } = typeMeta(source)
  const items = {
    description: `List of ${served.plural}. More info: ${conventions}`,
    type: 'array',
    items: { $ref: `#/components/schemas/${schemaName(served)}` },
  }
  return {
    description: `${served.listKind} is a list of ${served.kind}`,
    type: 'object',
    required: ['items'],
    properties: { apiVersion, items, kind, metadata: metadataProperty('ListMeta') },
    ...marks(served, served.listKind),
  }
}

function ownSchema({ schema }: ServedResource): JsonObject {
  return (schema ?? { type: 'object' }) as unknown as JsonObject
}

function marks({ group, version, selectable }: ServedResource, kind: string): JsonObject {
  return {
    'x-kubernetes-group-version-kind': [{ group, kind, version }],
    ...(selectable.length > 0 && {
      'x-kubernetes-selectable-fields': selectable.map((fieldPath) => ({ fieldPath })),
    }),
  }
}

/** `apiVersion` and `kind` with their usual descriptions. */
function typeMeta({ schemas }: OpenApiSource): { readonly apiVersion: Json; readonly kind: Json } {
  const { apiVersion = {}, kind = {} } = (schemas[`${metaSchemas}.Status`]?.['properties'] ?? {}) as JsonObject
  return { apiVersion, kind }
}

function metadataProperty(kind: 'ObjectMeta' | 'ListMeta'): JsonObject {
  const isList = kind === 'ListMeta'
  return {
    description: isList
      ? `Standard list metadata. More info: ${conventions}#types-kinds`
      : `Standard object's metadata. More info: ${conventions}#metadata`,
    allOf: [{ $ref: `#/components/schemas/${metaSchemas}.${kind}` }],
  }
}

/** Maps a schema and its sub-schemas, innermost first; `change` also gets the original schema. */
function mapSchema(schema: JsonObject, change: (schema: JsonObject, before: JsonObject) => JsonObject): JsonObject {
  const { properties, items, additionalProperties } = schema
  const inner = (value: Json): Json => (isJsonObject(value) ? mapSchema(value, change) : value)
  const mapped = {
    ...schema,
    ...(isJsonObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, inner(member!)])),
    }),
    ...(items !== undefined && { items: inner(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: inner(additionalProperties) }),
  }
  return change(mapped, schema)
}

function published(schema: JsonObject): JsonObject {
  const { default: preset, ...rest } = embedded(schema)
  return {
    ...rest,
    ...(preset !== undefined && preset !== null && { default: preset }),
    ...(schema['x-kubernetes-int-or-string'] === true &&
      schema['anyOf'] === undefined &&
      schema['allOf'] === undefined && { anyOf: [{ type: 'integer' }, { type: 'string' }] }),
  }
}

/** An embedded resource has its own apiVersion, kind and metadata. */
function embedded(schema: JsonObject): JsonObject {
  if (schema['x-kubernetes-embedded-resource'] !== true || isReduced(schema)) return schema
  const required = isJsonArray(schema['required']) ? schema['required'] : []
  const text = (what: string, anchor: string): JsonObject => ({
    description: `${what} More info: ${conventions}#${anchor}`,
    type: 'string',
  })
  return {
    ...schema,
    required: [...new Set([...required, 'kind', 'apiVersion'])],
    properties: {
      ...(schema['properties'] as JsonObject | undefined),
      apiVersion: text('apiVersion defines the versioned schema of this representation of an object.', 'resources'),
      kind: text('kind is a string value representing the type of this object. In CamelCase.', 'types-kinds'),
      metadata: metadataProperty('ObjectMeta'),
    },
  }
}

function isReduced(schema: JsonObject): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true && schema['type'] === undefined
}

/** Drops what OpenAPI v2 cannot express. */
function reduced(schema: JsonObject, before: JsonObject): JsonObject {
  const { allOf: _a, oneOf: _o, anyOf: _n, not: _not, default: _default, nullable, ...rest } = schema
  const { type, items, properties, required, ...marked } = rest
  const keepsUnknown = rest['x-kubernetes-preserve-unknown-fields'] === true
  const isOpen = nullable === true || keepsUnknown
  // v2 has no null, so nullable fields must not be required.
  const members = (before['properties'] ?? {}) as JsonObject
  const needed = isJsonArray(required)
    ? required.filter((name) => typeof name === 'string' && !isNullable(ownMember(members, name)))
    : []
  const hasType =
    type !== undefined &&
    nullable !== true &&
    !(keepsUnknown && type === 'object') &&
    !(type === 'array' && (isOpen || items === undefined))
  return {
    ...marked,
    ...(hasType && { type }),
    ...(items !== undefined && !isOpen && { items }),
    ...(properties !== undefined && !isOpen && { properties }),
    ...(required !== undefined &&
      !isNullable(before['additionalProperties']) && { required: isOpen ? required : needed }),
  }
}

function isNullable(schema: Json | undefined): boolean {
  return isJsonObject(schema) && schema['nullable'] === true
}
