/**
 * OpenAPI v2: all groups in one document, for older clients. It is derived from the v3 documents, without defaults and
 * alternatives.
 *
 * Common parameters are listed once in `parameters`, as in kube-apiserver, but with plainer names.
 */
import { isJsonObject, type JsonObject } from '../../../kube/json.ts'
import { isJsonArray } from '../../../kube/json-member.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { customSchemaV2 } from './custom-schema.ts'
import { bearerToken, type Document, documentOf, type Schemas, sorted, withVersions } from './document.ts'
import { schemaName } from './names.ts'
import {
  type Content,
  infoOf,
  type OpenApiSource,
  type OpenApiOperation,
  type Parameter,
  type PathItem,
} from './source.ts'

/** `keys` are the documents that are not about resources, `versions` are the resources of each group and version. */
export function documentV2(
  keys: readonly string[],
  versions: readonly (readonly ServedResource[])[],
  source: OpenApiSource,
): JsonObject {
  const general = keys.map((key) => source.documents[key]).filter((document) => document !== undefined)
  const documents = [
    ...(general as unknown as readonly Document[]),
    ...versions.map((resources) => documentOf(resources, source)),
  ]
  const shared = new Map(
    Object.entries(source.parameters).map(([key, parameter]) => [
      JSON.stringify(parameter),
      { name: key.replaceAll('/', '-'), parameter },
    ]),
  )
  const schemas: Schemas = Object.assign({}, ...documents.map(({ components }) => components?.schemas ?? {})) as Schemas
  const custom = versions.flat().filter((served) => served.custom)
  const definitions = {
    ...mapValues(withVersions(schemas, source.versions), plain),
    ...Object.fromEntries(custom.map((served) => [schemaName(served), plain(customSchemaV2(served, source))])),
  }
  const paths = Object.assign({}, ...documents.map(({ paths: own }) => own)) as Document['paths']
  return {
    swagger: '2.0',
    info: infoOf(source.version),
    paths: sorted(mapValues(paths, (item) => pathItem(item, shared))),
    definitions: sorted(definitions),
    parameters: sorted(Object.fromEntries([...shared.values()].map(({ name, parameter }) => [name, flat(parameter)]))),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  }
}

type Shared = ReadonlyMap<string, { readonly name: string; readonly parameter: Parameter }>

function pathItem({ parameters, ...operations }: PathItem, shared: Shared): JsonObject {
  return {
    ...mapValues(operations as Readonly<Record<string, OpenApiOperation>>, (operation) =>
      operationV2(operation, shared),
    ),
    ...(parameters && { parameters: parameters.map((parameter) => parameterV2(parameter, shared)) }),
  }
}

function operationV2(operation: OpenApiOperation, shared: Shared): JsonObject {
  const { description, tags, operationId, parameters = [], requestBody, responses, ...marks } = operation
  const content = responses['200']?.content ?? {}
  const action = marks['x-kubernetes-action']
  const isBuiltIn = action === 'connect' || 'application/vnd.kubernetes.protobuf' in content
  const types = Object.keys(content)
  const all = [
    ...(requestBody ? [bodyParameter(requestBody)] : []),
    ...parameters.map((parameter) => parameterV2(parameter, shared)),
  ]
  return {
    description,
    consumes:
      action === 'patch' && requestBody ? Object.keys(requestBody.content) : action && isBuiltIn ? ['*/*'] : types,
    produces: types,
    schemes: ['https'],
    ...(tags && { tags }),
    operationId,
    ...(all.length > 0 && { parameters: all }),
    responses: mapValues(responses, ({ description: word, content: answered }) => {
      const schema = answered && schemaIn(answered)
      return { description: word, ...(schema && { schema }) }
    }),
    ...(marks as JsonObject),
  }
}

function bodyParameter({ content, required }: NonNullable<OpenApiOperation['requestBody']>): JsonObject {
  return { name: 'body', in: 'body', ...(required && { required }), schema: schemaIn(content) ?? {} }
}

function schemaIn(content: Content): JsonObject | undefined {
  const [first] = Object.values(content)
  return first && plain(first.schema)
}

function parameterV2(parameter: Parameter, shared: Shared): JsonObject {
  const known = shared.get(JSON.stringify(parameter))
  return known ? { $ref: `#/parameters/${known.name}` } : flat(parameter)
}

function flat({ schema, ...parameter }: Parameter): JsonObject {
  return { ...schema, ...parameter }
}

/** A v3 schema reduced to v2. */
function plain(schema: JsonObject): JsonObject {
  const { default: _default, allOf, oneOf, ...rest } = schema
  const members = mapValues(rest, (value, key) => {
    if (key === 'properties' && isJsonObject(value)) return mapValues(value, (member) => plain(member as JsonObject))
    if ((key === 'items' || key === 'additionalProperties') && isJsonObject(value)) return plain(value)
    if (key === '$ref' && typeof value === 'string') return value.replace('#/components/schemas/', '#/definitions/')
    return value
  })
  const [reference] = isJsonArray(allOf) ? allOf : []
  // In v3 a quantity is a string or a number; v2 has no alternatives, so it is a string.
  return {
    ...members,
    ...(isJsonObject(reference) && plain(reference)),
    ...(oneOf !== undefined && rest['type'] === undefined && { type: 'string' }),
  }
}

function mapValues<T, U>(
  members: Readonly<Record<string, T>>,
  change: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(members).map(([key, value]) => [key, change(value, key)]))
}
